/** The simulator for third-party clients: `proxwright sim` in a separate process, with the recorded world. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { createPve, fingerprintTrust, type Pve, parseEndpoint, parseToken } from '../../src/pve/index.ts';
import type { Report } from './report.ts';

export const NODE = 'pve1';
const COMMAND = fileURLToPath(new URL('../../bin/proxwright.js', import.meta.url));

export interface StrangersServer {
  readonly endpoint: string;
  readonly token: string;
  readonly certificateFile: string;
  /** Names of everything a client could have made or destroyed, for a comparison of before and after. */
  inventory(): Promise<string[]>;
  close(): Promise<void>;
}

export interface Stranger {
  readonly server: StrangersServer;
  /** Its own, empty. */
  readonly directory: string;
  readonly report: Report;
}

export async function startSimulator(options: {
  readonly directory: string;
  readonly speed: string;
  readonly verbose: boolean;
}): Promise<StrangersServer> {
  const args = ['sim', '--listen', '127.0.0.1:0', '--world', 'recorded', '--speed', options.speed, '--json'];
  const logLevel = options.verbose ? 'debug' : 'error';
  const child = spawn(process.execPath, [COMMAND, ...args, '--log-level', logLevel], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const announced = await announcement(child);
  const certificateFile = join(options.directory, 'server.pem');
  await writeFile(
    certificateFile,
    await certificateOf(announced.PROXMOX_VE_ENDPOINT, announced.PROXMOX_VE_FINGERPRINT),
  );
  const pve = createPve({
    connection: {
      endpoint: parseEndpoint(announced.PROXMOX_VE_ENDPOINT),
      trust: fingerprintTrust(announced.PROXMOX_VE_FINGERPRINT),
    },
    credentials: parseToken(announced.PROXMOX_VE_API_TOKEN),
  });
  return {
    endpoint: announced.PROXMOX_VE_ENDPOINT,
    token: announced.PROXMOX_VE_API_TOKEN,
    certificateFile,
    inventory: () => inventoryOf(pve),
    close: async () => {
      await pve.close();
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

interface Announcement {
  readonly PROXMOX_VE_ENDPOINT: string;
  readonly PROXMOX_VE_API_TOKEN: string;
  readonly PROXMOX_VE_FINGERPRINT: string;
}

/** The first line of its output, which it prints once it listens. */
async function announcement(child: ChildProcess): Promise<Announcement> {
  if (!child.stdout) throw new Error('the simulator has no output');
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as Announcement;
  throw new Error('the simulator ended before it listened');
}

/** Some clients can only be given a certificate: the one that the server shows, if it is the one it announced. */
function certificateOf(endpoint: string, fingerprint: string): Promise<string> {
  const { hostname, port } = new URL(endpoint);
  return new Promise((resolve, reject) => {
    // Nothing is sent on this connection, and what it shows is compared with the fingerprint right here.
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      const certificate = socket.getPeerX509Certificate();
      socket.destroy();
      if (certificate?.fingerprint256 === fingerprint) resolve(certificate.toString());
      else reject(new Error(`the server shows ${certificate?.fingerprint256} and announced ${fingerprint}`));
    });
    socket.on('error', reject);
  });
}

async function inventoryOf(pve: Pve): Promise<string[]> {
  const node = pve.node(NODE);
  const vms = await node.vms.list();
  const storages = await node.storages.list();
  const volumes = await Promise.all(storages.map(({ storage }) => node.storage(storage).content.list()));
  const pools = await pve.pools.list();
  const acl = await pve.access.acl();
  const roles = await pve.access.roles();
  return [
    ...vms.map(({ vmid }) => `vm ${vmid}`),
    ...volumes.flat().map(({ volid }) => `volume ${volid}`),
    ...pools.map(({ poolid }) => `pool ${poolid}`),
    ...acl.map(({ path, ugid, roleid }) => `acl ${path} ${ugid} ${roleid}`),
    ...roles.map(({ roleid }) => `role ${roleid}`),
  ].sort();
}
