/** How long a host waits for the provider's first line. It does so two to five times for one command. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createCertificate } from '../../src/provider/host/certificate.ts';
import { MAGIC_COOKIE } from '../../src/provider/host/handshake.ts';
import { bundleProvider } from '../provider/bundle.ts';
import type { Figure } from './engine.ts';

const STARTS = 41;
const MOST = 1.6;

export async function benchProviderStart(): Promise<readonly Figure[]> {
  const directory = await mkdtemp(join(tmpdir(), 'proxwright-start-'));
  try {
    const script = join(directory, 'terraform-provider-proxwright.cjs');
    await bundleProvider(script);
    return [await handshake(script)];
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Medians of starts in turn, so that both meet the same machine. Nothing of the caller's environment but the PATH: with
 * NODE_EXTRA_CA_CERTS every Node reads certificates for longer than it takes to start, and the ratio of two such times
 * looks better than it is.
 */
async function handshake(script: string): Promise<Figure> {
  const bare = { PATH: process.env.PATH };
  const environment = {
    ...bare,
    TF_PLUGIN_MAGIC_COOKIE: MAGIC_COOKIE,
    PLUGIN_PROTOCOL_VERSIONS: '6',
    PLUGIN_CLIENT_CERT: createCertificate(Date.now()).certificatePem,
  };
  const times = { bare: [] as number[], provider: [] as number[] };
  for (let turn = 0; turn < STARTS; turn++) {
    times.bare.push(await timeToEnd([process.execPath, '-e', '0'], bare));
    times.provider.push(await timeToLine([script], environment));
  }
  const [bareMs, providerMs] = [median(times.bare), median(times.provider)];
  const ratio = providerMs / bareMs;
  return {
    figure: 'time to handshake over bare node',
    measured: `${providerMs.toFixed(0)} ms = ${ratio.toFixed(2)} × ${bareMs.toFixed(0)} ms`,
    aim: `≤ ${MOST} × node -e 0`,
    isMet: ratio <= MOST,
  };
}

type Command = readonly [program: string, ...args: string[]];

function timeToEnd([program, ...args]: Command, environment: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(program, args, { env: environment, stdio: 'ignore' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => resolve(performance.now() - startedAt));
  });
}

/** The rest of the process is not waited for, but its end is: it would disturb the next. */
async function timeToLine([program, ...args]: Command, environment: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(program, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const elapsedMs = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.stdout?.once('data', () => resolve(performance.now() - startedAt));
    child.once('exit', (code) => reject(new Error(`the provider ended with ${code} before its handshake`)));
  });
  child.kill('SIGTERM');
  await ended;
  return elapsedMs;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
