/** Rules that are switched off, on again, and added while the simulator runs. */
import { describe, expect, it } from 'vitest';
import { TestClient } from '../testing/client.ts';
import { BARE_WORLD } from '../world/bare-world.ts';
import { ruleFaults } from './plan.ts';
import { parseShortForm } from './short-form.ts';

function clientWith(text: string) {
  const faults = ruleFaults(parseShortForm(text));
  return { client: new TestClient(BARE_WORLD, faults), faults };
}

const NEW = { vmid: '100', name: 'web' };
const made = async (client: TestClient, vmid: number) =>
  (await client.task('POST', '/nodes/vmhost/qemu', { ...NEW, vmid: String(vmid) })).exitStatus;

describe('a switched fault', () => {
  it('does not strike while it is off, and counts from 1 when it is on again', async () => {
    const { client, faults } = clientWith('task-fail=0:qmcreate@1');
    const [fault] = faults.switches;
    expect(await made(client, 100)).toBe('simulated failure');
    expect(await made(client, 101)).toBe('OK');
    fault?.turn(false);
    expect(await made(client, 102)).toBe('OK');
    fault?.turn(true);
    expect(await made(client, 103)).toBe('simulated failure');
    expect(fault).toMatchObject({ isOn: true, strikes: 2 });
    expect(faults.strikes.map(({ kind }) => kind)).toEqual(['task-fail', 'task-fail']);
  });

  it('does not restart its count when it is already on', async () => {
    const { client, faults } = clientWith('task-fail=0:qmcreate@1');
    expect(await made(client, 100)).toBe('simulated failure');
    faults.switches[0]?.turn(true);
    expect(await made(client, 101)).toBe('OK');
  });

  it('can be added while the simulator runs, for requests and for downloads too', async () => {
    const { client, faults } = clientWith('');
    expect(await made(client, 100)).toBe('OK');
    for (const rule of parseShortForm('refuse=503:GET version,download-fail=refused')) faults.add(rule);
    await expect(client.ask('GET', '/version')).rejects.toThrow(/simulated refusal/);
    const url = 'https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-generic-amd64.qcow2';
    const download = { content: 'import', filename: 'debian.qcow2', url };
    const { exitStatus } = await client.task('POST', '/nodes/vmhost/storage/local/download-url', download);
    expect(exitStatus).toContain('Connection refused');
    faults.switches[0]?.turn(false);
    expect(await client.ask('GET', '/version')).toMatchObject({ release: expect.any(String) });
    expect(faults.rules.map(({ kind }) => kind)).toEqual(['refuse', 'download-fail']);
  });
});
