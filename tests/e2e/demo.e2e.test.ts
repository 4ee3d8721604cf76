/** The first thing a newcomer sees, as a process of its own. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, startCommand } from './built-command.ts';

const temporary = mkdtempSync(join(tmpdir(), 'proxwright-demo-test-'));
const demo = (...args: string[]) => startCommand(['demo', ...args], { TMPDIR: temporary });

beforeAll(() => ensureBuilt());
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

describe('the demo', () => {
  it('plans, applies, is killed, resumes, verifies, plans again and shows outputs; leaves nothing behind', async () => {
    const { code, stdout, stderr } = await demo('--speed', '30').finished;
    expect(code, stderr).toBe(0);
    const chapters = [...stdout.matchAll(/^── \d {2}proxwright (\w+)/gm)].map(([, name]) => name);
    expect(chapters).toEqual(['doctor', 'plan', 'apply', 'apply', 'verify', 'plan', 'output']);
    expect(stdout).toContain('kill -9, with 2 VMs cloned and Proxmox copying the disk of vm.rancher-manager[3]');
    expect(stderr).toMatch(/vm\.rancher-manager\[3\]: the step "clone" of the earlier run succeeded/);
    expect(stdout).toContain('Proxmox ran 5 clones for 5 VMs: the second apply repeated nothing.');
    expect(stdout).toContain('5 to create, 0 to change, 0 to delete.');
    expect(stdout).toMatch(/memory +2GiB → 8GiB/);
    expect(stdout).toMatch(/cpu\.cores +2 → 4/);
    const names = ['rancher-manager-1', 'rancher-manager-2', 'rancher-manager-3', 'nprd-apps-1', 'nprd-apps-2'];
    const addresses = ['10.20.0.11', '10.20.0.12', '10.20.0.13', '10.20.0.21', '10.20.0.22'];
    const verified = stdout.split('\n').filter((line) => line.startsWith('  ✔  '));
    expect(verified.map((line) => line.trim().split(/ {2,}/))).toEqual(
      names.map((name, index) => [
        '✔',
        name,
        String(401 + index),
        '8192',
        '4',
        '100 GiB',
        'vmbr1',
        '20',
        `${addresses[index]}/24`,
        name,
      ]),
    );
    expect(stdout).toContain('memory 8192 instead of 2048, cores 4 instead of 2');
    expect(stdout).toContain('\n  No changes.\n');
    expect(stdout).toMatch(/nprd-apps-2 +405 +pve1 +apps +complete +net0 10\.20\.0\.22/);
    // Without a terminal there is neither colour nor motion.
    expect(`${stdout}${stderr}`).not.toContain('\u001b');
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('prints one JSON object a line with --json', async () => {
    const { code, stdout } = await demo('--speed', '50', '--json').finished;
    expect(code).toBe(0);
    const objects = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; ok?: boolean });
    expect(objects.at(-1)).toEqual({ schema: 1, type: 'result', ok: true });
    expect(new Set(objects.map(({ type }) => type))).toEqual(
      new Set(['doctor', 'plan', 'progress', 'killed', 'verification', 'outputs', 'result']),
    );
  });

  it('stops at Ctrl-C with 130, and still leaves nothing behind', async () => {
    const running = demo('--speed', '5');
    await running.said('clone');
    running.process.kill('SIGINT');
    expect(await running.finished).toMatchObject({ code: 130 });
    expect(readdirSync(temporary)).toEqual([]);
  });
});
