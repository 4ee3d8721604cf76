/** A cluster behind HTTPS and directories with stack files in them: what a user of the command has. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPve, type Pve, parseToken } from '../../src/pve/index.ts';
import {
  createSimulator,
  defaultWorld,
  type FaultRuleInput,
  ruleFaults,
  scaledClock,
  seededRandom,
  serveSimulator,
  systemClock,
  type World,
} from '../../src/simulator/index.ts';
import { type Finished, type RunningCommand, startCommand } from './built-command.ts';

export const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';

export interface Cluster {
  readonly environment: NodeJS.ProcessEnv;
  readonly world: World;
  /** For changes made outside Proxwright. */
  readonly outside: Pve;
  readonly fingerprint: string;
  close(): Promise<void>;
}

export async function startCluster(speed: number, rules: readonly FaultRuleInput[] = []): Promise<Cluster> {
  const clock = scaledClock(systemClock, speed);
  const world = defaultWorld({ now: systemClock.now() });
  const faults = ruleFaults(rules, seededRandom('faults'));
  const simulator = createSimulator({ world, clock, random: seededRandom('e2e'), faults });
  const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
  const outside = createPve({ transport: simulator.transport(), credentials: parseToken(TOKEN) });
  return {
    world,
    outside,
    fingerprint: server.fingerprint,
    environment: {
      PROXMOX_VE_ENDPOINT: server.endpoint,
      PROXMOX_VE_API_TOKEN: TOKEN,
      PROXMOX_VE_FINGERPRINT: server.fingerprint,
    },
    close: () => server.close(),
  };
}

export interface Project {
  readonly directory: string;
  write(name: string, text: string): void;
  run(...args: string[]): Promise<Finished>;
  start(...args: string[]): RunningCommand;
  remove(): void;
}

export function makeProject(
  stackText: string,
  environment: NodeJS.ProcessEnv,
  directory = mkdtempSync(join(tmpdir(), 'proxwright-project-')),
): Project {
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
  write('stack.yaml', stackText);
  const start = (...args: string[]) => startCommand(args, environment, directory);
  return {
    directory,
    write,
    start,
    run: (...args) => start(...args).finished,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export interface StackOptions {
  readonly name: string;
  readonly firstId: number;
  readonly count?: number;
  readonly memory?: string;
  readonly power?: 'running' | 'stopped';
  readonly guest?: 'plain' | 'cloud-init';
  readonly more?: string;
}

export function stackText({
  name,
  firstId,
  count = 2,
  memory = '4GiB',
  power = 'stopped',
  guest = 'plain',
  more = '',
}: StackOptions) {
  return `version: 1
stack: ${name}
vms:
  web:
    count: ${count}
    name: ${name}-\${number}
    vmids: ${firstId}-${firstId + 8}
    node: pve1
    guest: ${guest}
    power: ${power}
    clone: { template: ubuntu-24.04, mode: full }
    cpu: { cores: 4 }
    memory: ${memory}
    disks: { scsi0: { size: 8GiB } }
    nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
    boot: [scsi0]
${more}`;
}
