/** The commands themselves, in this process: a simulated server behind HTTPS, a clone of a repository, a terminal in memory. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { ProxwrightError } from '../../../src/base/errors.ts';
import { KnownSecrets } from '../../../src/base/secret.ts';
import { AlreadyShown, type CommandDeps, type ExitCode } from '../../../src/cli/command.ts';
import { createTerminal } from '../../../src/cli/terminal.ts';
import { testDeps } from '../../../src/cli/testing/deps.ts';
import { createPve, type Pve, parseToken } from '../../../src/pve/index.ts';
import {
  buildWorld,
  createSimulator,
  type FaultRuleInput,
  ruleFaults,
  scaledClock,
  seededRandom,
  serveSimulator,
  type WorldFile,
} from '../../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../../src/simulator/world/default-world.ts';

export const TOKEN_SECRET = '00000000-0000-4000-8000-000000000001';
/** May look at everything and change nothing. */
export const READER = `reader@pve!ro=${TOKEN_SECRET}`;
const ADMIN = `root@pam!admin=${TOKEN_SECRET}`;

export interface Ended {
  readonly code: ExitCode;
  readonly out: string;
  readonly said: string;
}

export type Command = (deps: CommandDeps) => Promise<ExitCode>;

export interface Bench {
  readonly directory: string;
  /** For changes made outside Proxwright. */
  readonly outside: Pve;
  run(command: Command, part?: Partial<CommandDeps>): Promise<Ended>;
  write(name: string, text: string): void;
  read(name: string): string;
  has(name: string): boolean;
  /** The same cluster from another directory, which holds what this one does. */
  copy(): Bench;
  close(): Promise<void>;
}

export async function openBench(
  stack: string,
  rules: readonly FaultRuleInput[] = [],
  environment: Readonly<Record<string, string>> = {},
  base: WorldFile = DEFAULT_WORLD,
): Promise<Bench> {
  const faults = ruleFaults(rules, seededRandom('faults'));
  const clock = scaledClock(systemClock, 50);
  const readers = { 'reader@pve': { tokens: { ro: { secret: TOKEN_SECRET, privsep: false } } } };
  const world = buildWorld(
    {
      ...base,
      users: { ...base.users, ...readers },
      acl: [...(base.acl ?? []), { path: '/', role: 'PVEAuditor', user: 'reader@pve' }],
    },
    { now: systemClock.now(), file: 'evidence' },
  );
  const simulator = createSimulator({ world, clock, random: seededRandom('evidence'), faults });
  const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
  const outside = createPve({ transport: simulator.transport(), credentials: parseToken(ADMIN) });
  const directories: string[] = [];
  const inDirectory = (directory: string): Bench => {
    directories.push(directory);
    return {
      directory,
      outside,
      run: (command, part) =>
        runIn(directory, command, {
          ...part,
          environment: {
            PROXMOX_VE_ENDPOINT: server.endpoint,
            PROXMOX_VE_FINGERPRINT: server.fingerprint,
            PROXMOX_VE_API_TOKEN: ADMIN,
            ...environment,
            ...part?.environment,
          },
        }),
      write: (name, text) => writeFileSync(join(directory, name), text),
      read: (name) => readFileSync(join(directory, name), 'utf8'),
      has: (name) => existsSync(join(directory, name)),
      copy: () => {
        const target = mkdtempSync(join(tmpdir(), 'proxwright-evidence-'));
        cpSync(directory, target, { recursive: true });
        return inDirectory(target);
      },
      close: async () => {
        for (const each of directories) rmSync(each, { recursive: true, force: true });
        await server.close();
      },
    };
  };
  const bench = inDirectory(mkdtempSync(join(tmpdir(), 'proxwright-evidence-')));
  bench.write('stack.yaml', stack);
  return bench;
}

async function runIn(directory: string, command: Command, part: Partial<CommandDeps>): Promise<Ended> {
  const out: string[] = [];
  const said: string[] = [];
  const stdout = { write: (text: string) => out.push(text) };
  const stderr = { write: (text: string) => said.push(text) };
  const secrets = new KnownSecrets();
  const json = part.json ?? false;
  const terminal = createTerminal({ stdout, stderr, clock: systemClock, secrets, level: 'debug', json });
  const { deps } = testDeps({ clock: systemClock, directory, stdout, stderr, secrets, terminal, ...part });
  const code = await command(deps).catch((error: unknown): ExitCode => {
    if (error instanceof ProxwrightError) terminal.diagnostic(error.diagnostic);
    else if (!(error instanceof AlreadyShown)) throw error;
    return 1;
  });
  return { code, out: out.join('').trimEnd(), said: said.join('') };
}
