import { describe, expect, it } from 'vitest';
import { checkNeighbours } from './neighbours.ts';
import { neighboursOf, observedWith, patient, vmOf } from './testing/patient.ts';

const around = (...vms: ReturnType<typeof vmOf>[]) => ({ observed: observedWith({ neighbours: neighboursOf(vms) }) });
const guest = (vmid: number, name: string) => ({ vmid, name, node: 'pve1', template: false, type: 'qemu' });

describe('the check of other VMs', () => {
  it('accepts other names and addresses', () => {
    expect(checkNeighbours(patient(around(vmOf(700, { ipconfig0: 'ip=10.0.0.12/24' }))))).toMatchObject([
      { verdict: 'good', words: expect.stringContaining('1 other VM') },
    ]);
  });

  it('rejects an address that another VM has, with its line', () => {
    const vm = vmOf(700, { name: 'db', ipconfig1: 'ip6=auto,ip=10.0.0.11/16' });
    expect(checkNeighbours(patient(around(vm)))).toMatchObject([
      {
        verdict: 'bad',
        words: '10.0.0.11 of vm.web is already the address of VM 700 (db) on pve1, according to its configuration.',
        where: { line: 12 },
      },
    ]);
  });

  it('warns about a name that another VM has, but not about VMs of the stack', () => {
    const observed = observedWith({ guests: new Map([[700, guest(700, 'web')]]) });
    expect(checkNeighbours(patient({ observed }))).toMatchObject([
      { verdict: 'warning', remedy: expect.stringContaining('proxwright import vm.web 700') },
    ]);
    const own = { vmid: 700 } as never; // no other field of a recorded VM is used
    const state = { ...patient().state, vms: { 'vm.web': own } };
    expect(checkNeighbours(patient({ observed, state }))).toMatchObject([{ verdict: 'good' }]);
    const another = { ...patient().state, vms: { 'vm.web': { vmid: 401 } as never } };
    expect(checkNeighbours(patient({ observed, state: another }))).toMatchObject([
      { verdict: 'warning', remedy: 'Give one of them another name.' },
    ]);
  });

  it('reports VMs that are hidden, unread or silent, and never counts them as free', () => {
    const quiet = { vmid: 701, name: 'quiet', node: 'pve1' };
    const neighbours = neighboursOf([vmOf(701, { name: 'quiet' })], {
      silent: [quiet],
      unread: [{ vmid: 702, name: 'far', node: 'pve2', why: 'is on a node that is offline' }],
      isComplete: false,
    });
    expect(checkNeighbours(patient({ observed: observedWith({ neighbours }) }))).toMatchObject([
      { verdict: 'good', words: expect.stringContaining('1 of them says nothing about addresses') },
      { verdict: 'unknown', words: 'Not compared: 702 (far) is on a node that is offline.' },
      { verdict: 'unknown', words: expect.stringContaining('VM.Audit on /vms') },
    ]);
  });
});
