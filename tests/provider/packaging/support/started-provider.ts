/** Starts a packed provider as a host would, and asks it what it has: only then has everything in it been loaded. */
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createCertificate } from '../../../../src/provider/host/certificate.ts';
import { MAGIC_COOKIE } from '../../../../src/provider/host/handshake.ts';
import { Provider } from '../../../../src/provider/protocol/generated/tfplugin6.generated.ts';
import { HostClient } from '../../../../src/provider/testing/host-client.ts';

export interface Start {
  readonly command: readonly [program: string, ...args: string[]];
  /** All of it: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  /** Where the provider's `/` is. */
  readonly root?: string;
}

/** The names of its resources. */
export async function resourcesOf({ command, environment, root = '' }: Start): Promise<string[]> {
  const identity = createCertificate(Date.now());
  const [program, ...args] = command;
  const child = spawn(program, args, {
    env: {
      TF_PLUGIN_MAGIC_COOKIE: MAGIC_COOKIE,
      PLUGIN_PROTOCOL_VERSIONS: '6',
      PLUGIN_CLIENT_CERT: identity.certificatePem,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (chunk) => {
    complaints += String(chunk);
  });
  try {
    const line = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', resolve);
      child.once('error', reject);
      child.once('close', (code) => reject(new Error(`ended with ${code} before its handshake: ${complaints}`)));
    });
    const [, , , socketPath = '', , certificate = ''] = line.split('|');
    const serverCertificatePem = new X509Certificate(Buffer.from(certificate, 'base64')).toString();
    const host = await HostClient.connect(`${root}${socketPath}`, { ...identity, serverCertificatePem });
    const { resourceSchemas } = await host.call(Provider.method.getProviderSchema, {});
    return Object.keys(resourceSchemas);
  } finally {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'close');
  }
}
