import { describe, expect, it } from 'vitest';
import { observedOf } from '../observed.ts';
import { inheritedPaths, knownTemplates, originOf, referenceTo } from './origin.ts';
import { leavesOf } from './shared-values.ts';

const observed = (vmid: number, config: Readonly<Record<string, string>>, node = 'pve1') =>
  observedOf(
    node,
    vmid,
    Object.entries({ digest: 'x', ...config }).map(([key, value]) => ({
      key,
      value,
      pending: undefined,
      delete: undefined,
    })),
    false,
  );

const UBUNTU = { name: 'ubuntu', meta: 'creation-qemu=10.0.13,ctime=17', ostype: 'l26', agent: '1', memory: '2048' };
const FIELDS = { os_type: 'l26', agent: { enabled: true }, memory: '4GiB' };
const vm = (config: Readonly<Record<string, string>> = {}) => observed(101, { name: 'web', ...config });
const found = (origin: ReturnType<typeof originOf>) => origin && [origin.template.vmid, origin.isLinked];
const known = (...templates: Parameters<typeof knownTemplates>[0]) => knownTemplates(templates);

describe('the template of a VM', () => {
  const leaves = leavesOf(FIELDS);

  it('is the one whose disk a linked clone builds on', () => {
    const linked = vm({
      scsi0: 'local:9001/base-9001-disk-0.qcow2/101/vm-101-disk-0.qcow2,size=3G',
      meta: UBUNTU.meta,
    });
    const templates = known(observed(9000, UBUNTU), observed(9001, { name: 'other' }));
    expect(found(originOf(linked, leaves, templates))).toEqual([9001, true]);
  });

  it('is the one with the same creation time, on the node of the VM if several have it', () => {
    const copy = vm({ meta: 'creation-qemu=10.0.13,ctime=17' });
    const other = observed(9002, { ...UBUNTU, meta: 'creation-qemu=10.0.13,ctime=18' });
    const far = observed(9010, UBUNTU, 'pve2');
    expect(found(originOf(copy, leaves, known(other, far)))).toEqual([9010, false]);
    expect(found(originOf(copy, leaves, known(far, observed(9000, UBUNTU))))).toEqual([9000, false]);
    expect(originOf(vm(), leaves, known(far))).toBeUndefined();
    expect(originOf(copy, leaves, known(other))).toBeUndefined();
  });

  it('is the most similar one, if a template was cloned from another one', () => {
    const copy = vm({ meta: UBUNTU.meta });
    const minimal = observed(9001, { name: 'minimal', meta: UBUNTU.meta, ostype: 'l26' });
    const windows = observed(9002, { ...UBUNTU, name: 'windows', ostype: 'win11', bios: 'ovmf' });
    expect(found(originOf(copy, leaves, known(minimal, windows, observed(9000, UBUNTU))))).toEqual([9000, false]);
    expect(originOf(copy, leaves, known(observed(9000, UBUNTU), observed(9001, UBUNTU)))).toBeUndefined();
  });

  it('provides values that the file can omit, except those that every reader wants to see', () => {
    const [template] = known(observed(9000, UBUNTU));
    const same = leavesOf({ ...FIELDS, memory: '2GiB', nics: { net0: { bridge: 'vmbr0' } } });
    expect(template && [...inheritedPaths(same, template)]).toEqual(['os_type', 'agent.enabled']);
  });

  it('is named by its id if several templates have its name', () => {
    const templates = known(observed(9000, UBUNTU), observed(9001, UBUNTU), observed(9010, UBUNTU, 'pve2'));
    const names = templates.map((each) => referenceTo(each, templates, each.node));
    expect(names).toEqual([9000, 9001, 'ubuntu']);
  });
});
