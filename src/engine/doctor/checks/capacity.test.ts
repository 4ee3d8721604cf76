import { describe, expect, it } from 'vitest';
import { GIB, nodeStatus, patient, runningVm, stackFrom, WEB } from '../testing/patient.ts';
import { checkCapacity } from './capacity.ts';

const running = (memoryGib: number, cpus: number) => runningVm(700, memoryGib * GIB, cpus);
const on = (status: ReturnType<typeof nodeStatus>, ...vms: ReturnType<typeof running>[]) =>
  patient({ nodes: new Map([['pve1', { status, vms }]]) });

describe('memory and cores', () => {
  it('suffice for what runs and what is planned', () => {
    expect(checkCapacity(on(nodeStatus(16 * GIB, 8), running(4, 2)))).toMatchObject([
      { verdict: 'good', words: 'pve1: 4 GiB run, 2 GiB are planned, of 16 GiB memory; 2 + 2 of 8 cores.' },
    ]);
  });

  it('that are promised more than once are worth a warning', () => {
    expect(checkCapacity(on(nodeStatus(5 * GIB, 8), running(4, 2)))).toMatchObject([
      { verdict: 'warning', words: expect.stringContaining('Memory is promised') },
    ]);
    expect(checkCapacity(on(nodeStatus(16 * GIB, 3), running(4, 2)))).toMatchObject([
      { verdict: 'warning', words: expect.stringContaining('Cores are shared') },
    ]);
  });

  it('of the template count where the file says nothing', () => {
    const stack = stackFrom(WEB.replace('    memory: 2GiB\n', ''));
    expect(checkCapacity({ ...patient(), stack })[0]?.words).toContain('1 GiB are planned');
  });

  it('are not asked for by a VM that stays off', () => {
    const stack = stackFrom(`${WEB}    power: stopped\n`);
    expect(checkCapacity({ ...patient(), stack })[0]?.words).toContain('0 B are planned');
  });

  it('of more cores than the node has are refused by Proxmox, so by us', () => {
    expect(checkCapacity(on(nodeStatus(16 * GIB, 1)))).toMatchObject([
      { verdict: 'bad', where: { line: 11 } },
      { verdict: 'warning' },
    ]);
  });

  it('are not taken as fine where they may not be read', () => {
    const nodes = new Map([['pve1', { status: { ok: false, needs: 'Sys.Audit on /nodes/pve1' }, vms: [] } as const]]);
    expect(checkCapacity(patient({ nodes }))).toMatchObject([
      { verdict: 'unknown', words: 'Memory and cores of pve1: not checked, the token needs Sys.Audit on /nodes/pve1.' },
    ]);
  });
});
