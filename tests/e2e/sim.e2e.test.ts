/** `proxwright sim` as installed: a process, a port, real TLS. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { announcedVariables, ensureBuilt, type RunningCommand, runCommand, startCommand } from './built-command.ts';

const running: RunningCommand[] = [];
let folder = '';

beforeAll(() => {
  ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), 'proxwright-e2e-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

afterEach(() => {
  for (const command of running.splice(0)) command.process.kill('SIGKILL');
});

interface Announced {
  readonly command: RunningCommand;
  readonly endpoint: string;
  readonly token: string;
  readonly fingerprint: string;
}

async function startSim(...args: string[]): Promise<Announced> {
  const command = startCommand(['sim', '--listen', '127.0.0.1:0', ...args]);
  running.push(command);
  const lines = await command.firstLines(3);
  const variables = announcedVariables(lines);
  const variable = (name: string) => variables[name] ?? '';
  return {
    command,
    endpoint: variable('PROXMOX_VE_ENDPOINT'),
    token: variable('PROXMOX_VE_API_TOKEN'),
    fingerprint: variable('PROXMOX_VE_FINGERPRINT'),
  };
}

interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly body: string;
}

/** Trusts the announced fingerprint and nothing else. */
function ask(sim: Announced, path: string, token = sim.token): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      `${sim.endpoint}/api2/json${path}`,
      { rejectUnauthorized: false, agent: false, headers: { authorization: `PVEAPIToken=${token}` } },
      (response) => {
        const presented = (response.socket as TLSSocket).getPeerCertificate().fingerprint256;
        if (presented !== sim.fingerprint) return reject(new Error(`fingerprint ${presented}`));
        let body = '';
        response.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, reason: response.statusMessage ?? '', body }),
        );
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

function writeWorld(text: string): string {
  const path = join(folder, `world-${text.length}.yaml`);
  writeFileSync(path, text);
  return path;
}

describe('proxwright sim', () => {
  it('serves the default world to the token it prints, and ends cleanly on SIGTERM', async () => {
    const sim = await startSim();
    expect(sim.endpoint).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(sim.token).toBe('root@pam!admin=00000000-0000-4000-8000-000000000001');
    const version = await ask(sim, '/version');
    expect(version).toMatchObject({ status: 200, reason: 'OK' });
    const nodes = JSON.parse((await ask(sim, '/nodes')).body).data as { node: string; ssl_fingerprint: string }[];
    expect(nodes.find((node) => node.node === 'pve1')?.ssl_fingerprint).toBe(sim.fingerprint);
    sim.command.process.kill('SIGTERM');
    const end = await sim.command.finished;
    expect(end).toMatchObject({ code: 0, signal: null });
    expect(end.stdout.split('\n')).toHaveLength(4);
    expect(end.stderr).toContain('Stop it with Ctrl-C');
    expect(end.stderr).not.toContain('00000000-0000-4000-8000');
  });

  it('refuses a wrong secret', async () => {
    const sim = await startSim('--speed', '50');
    const answer = await ask(sim, '/version', 'root@pam!admin=wrong');
    expect(answer).toMatchObject({ status: 401, reason: 'Authentication failed!', body: '' });
  });

  it('says that its clock runs away from yours, but only at another speed', async () => {
    const drift = 'The clock of the simulated servers runs 50 times as fast as yours';
    for (const [options, isSaid] of [
      [['--speed', '50'], true],
      [[], false],
    ] as const) {
      const sim = await startSim(...options);
      await ask(sim, '/version');
      sim.command.process.kill('SIGTERM');
      expect((await sim.command.finished).stderr.includes(drift)).toBe(isSaid);
    }
  });

  it('stops on SIGINT too', async () => {
    const sim = await startSim();
    sim.command.process.kill('SIGINT');
    expect(await sim.command.finished).toMatchObject({ code: 0 });
  });

  it('ends at once on a second signal, whatever is still being answered', async () => {
    const sim = await startSim('--speed', '0.001');
    const refused = ask(sim, '/version', 'root@pam!admin=wrong').catch(() => 'cut'); // late by 3 s, at this speed 50 min
    await ask(sim, '/version');
    sim.command.process.kill('SIGTERM');
    sim.command.process.kill('SIGINT');
    expect(await sim.command.finished).toMatchObject({ code: 130 });
    expect(await refused).toBe('cut');
  });

  it('leaves the port free when it is killed', async () => {
    const first = await startSim();
    first.command.process.kill('SIGKILL');
    await first.command.finished;
    const again = startCommand(['sim', '--listen', new URL(first.endpoint).host]);
    running.push(again);
    const [endpoint] = await again.firstLines(3);
    expect(endpoint).toBe(`export PROXMOX_VE_ENDPOINT='${first.endpoint}'`);
  });

  it('logs requests at debug level, without credentials', async () => {
    const sim = await startSim('--log-level', 'debug');
    await ask(sim, '/cluster/resources?type=vm');
    sim.command.process.kill('SIGTERM');
    const { stderr } = await sim.command.finished;
    expect(stderr).toContain('DEBUG   GET /api2/json/cluster/resources → 200');
    expect(stderr).not.toContain(sim.token.split('=')[1]);
  });

  it('speaks JSON when asked', async () => {
    const command = startCommand(['sim', '--listen', '127.0.0.1:0', '--json']);
    running.push(command);
    const [line = ''] = await command.firstLines(1);
    expect(Object.keys(JSON.parse(line))).toEqual([
      'PROXMOX_VE_ENDPOINT',
      'PROXMOX_VE_API_TOKEN',
      'PROXMOX_VE_FINGERPRINT',
    ]);
    command.process.kill('SIGTERM');
    const { stderr, code } = await command.finished;
    expect(code).toBe(0);
    for (const message of stderr.trim().split('\n')) expect(JSON.parse(message)).toHaveProperty('level');
  });

  it('serves a world from a file and makes a token where there is none', async () => {
    const sim = await startSim('--world', writeWorld('nodes: {solo: {cpus: 4}}\n'));
    expect(sim.token).toMatch(/^root@pam!sim=[0-9a-f-]{36}$/);
    expect(JSON.parse((await ask(sim, '/nodes')).body).data).toMatchObject([{ node: 'solo', maxcpu: 4 }]);
  });

  it('makes things go wrong by rule', async () => {
    const sim = await startSim('--faults', 'refuse=503:version@1,cut-before:nodes@1');
    expect(await ask(sim, '/version')).toMatchObject({ status: 503, reason: 'simulated refusal' });
    expect(await ask(sim, '/version')).toMatchObject({ status: 200 });
    await expect(ask(sim, '/nodes')).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('says what is wrong and ends with 1', async () => {
    const inUse = new URL((await startSim()).endpoint).host;
    const badWorld = writeWorld('nodes:\n  solo: {cpu: 4}\n');
    const cases: [args: string[], complaints: string[]][] = [
      [
        ['--listen', inUse],
        [`at --listen ${inUse}`, 'is in use'],
      ],
      [['--listen', 'nowhere'], ['"nowhere" is not an address with a port']],
      [
        ['--world', 'missing.yaml'],
        ['UNREADABLE_FILE', 'the file does not exist'],
      ],
      [
        ['--world', badWorld],
        [`${badWorld}:2:10`, '"cpu" is not a field of nodes.solo', 'Did you mean "cpus"?'],
      ],
      [
        ['--faults', 'cut-aftre'],
        ['BAD_VALUE', 'Did you mean "cut-after"?'],
      ],
      [['--speed', 'fast'], ['"fast" is not a number']],
      [['--log-level', 'loud'], ['"loud" is not a log level']],
      [
        ['--lisen', 'x'],
        ["unknown option '--lisen'", '(Did you mean --listen?)', '--help'],
      ],
    ];
    for (const [args, complaints] of cases) {
      const end = await runCommand(['sim', ...args]);
      expect(end).toMatchObject({ code: 1, stdout: '' });
      for (const complaint of complaints) expect(end.stderr).toContain(complaint);
      expect(end.stderr).not.toMatch(/^\s+at .*\.js:\d+/m);
    }
  });
});

describe('proxwright', () => {
  it('prints its version and its help', async () => {
    expect(await runCommand(['--version'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    expect((await runCommand(['--help'])).stdout).toContain('sim');
  });

  it('knows no other commands', async () => {
    expect(await runCommand(['simm'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('(Did you mean sim?)'),
    });
  });
});
