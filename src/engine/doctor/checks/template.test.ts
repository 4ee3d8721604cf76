import { describe, expect, it } from 'vitest';
import { observedWith, patient, stackFrom, templateWith, WEB } from '../testing/patient.ts';
import { checkTemplates } from './template.ts';

const check = (change: Parameters<typeof templateWith>[0], more = '') =>
  checkTemplates(
    patient({
      observed: observedWith({ templates: new Map([['#9000', [templateWith(change)]]]) }),
      stack: stackFrom(`${WEB}${more}`),
    }),
  );

describe('a template', () => {
  it('in good health is one line', () => {
    expect(check({})).toMatchObject([{ verdict: 'good', words: expect.stringContaining('Template 9000 (ubuntu)') }]);
  });

  it('without a disk is found before it is cloned', () => {
    expect(check({ scsi0: undefined, boot: undefined })).toMatchObject([
      {
        verdict: 'bad',
        words: expect.stringContaining('has no disk'),
        remedy: expect.stringContaining('qm disk import 9000'),
      },
    ]);
  });

  it('whose disk is in no slot is told how to put it back', () => {
    const [found] = check({ scsi0: undefined, unused0: 'tank:base-9000-disk-0', boot: undefined });
    expect(found).toMatchObject({ verdict: 'bad', words: expect.stringContaining('has lost its disk') });
    expect(found?.remedy).toBe('On pve1: qm set 9000 --scsi0 tank:base-9000-disk-0 --boot order=scsi0');
  });

  it('without a disk is fine for VMs that bring their own', () => {
    const disks = '    disks: { scsi0: { storage: tank, import_from: "tank:import/a.qcow2" } }\n    boot: [scsi0]\n';
    expect(check({ scsi0: undefined, boot: undefined }, disks)).toMatchObject([{ verdict: 'good' }]);
  });

  it.each([
    ['order=scsi0;net7', 'names net7'],
    ['order=net0', 'does not boot from a disk'],
  ])('with the boot order %s is told', (boot, words) => {
    expect(check({ boot })).toMatchObject([{ verdict: 'bad', words: expect.stringContaining(words) }]);
    expect(check({ boot }, '    boot: [scsi0]\n')).toMatchObject([{ verdict: 'good' }]);
  });

  it('with the older boot order, or none, finds its disk by itself', () => {
    expect(check({ boot: 'cdn' })).toMatchObject([{ verdict: 'good' }]);
    expect(check({ boot: undefined })).toMatchObject([{ verdict: 'good' }]);
  });

  it('that names a volume which is not there is told', () => {
    const volumes = new Map([['pve1/tank/9000', { ok: true, value: new Set<string>() } as const]]);
    expect(checkTemplates(patient({ volumes }))).toMatchObject([
      { verdict: 'bad', words: expect.stringContaining('tank has no such volume') },
    ]);
  });

  it('whose volumes may not be listed is fine but for that', () => {
    const volumes = new Map([['pve1/tank/9000', { ok: false, needs: 'Datastore.Audit on /storage/tank' } as const]]);
    expect(checkTemplates(patient({ volumes }))).toMatchObject([{ verdict: 'good' }, { verdict: 'unknown' }]);
  });

  it('without an agent that is waited for is told, unless the file switches it on or does not wait', () => {
    expect(check({ agent: '0' })).toMatchObject([
      { verdict: 'bad', remedy: expect.stringContaining('agent: { enabled: true }') },
    ]);
    expect(check({ agent: undefined }, '    agent: { enabled: true }\n')).toMatchObject([{ verdict: 'good' }]);
    expect(check({ agent: undefined }, '    ready: { agent: false }\n')).toMatchObject([{ verdict: 'good' }]);
  });

  it('without a cloud-init drive cannot tell a guest its settings', () => {
    expect(check({ ide2: undefined })).toMatchObject([
      { verdict: 'bad', remedy: expect.stringContaining('cloud_init: { storage: tank }') },
    ]);
    expect(check({ ide2: undefined }, '    cloud_init: { storage: tank }\n')).toMatchObject([{ verdict: 'good' }]);
  });

  it('that is locked is told with the way out', () => {
    expect(check({ lock: 'clone' })).toMatchObject([
      { verdict: 'bad', remedy: expect.stringContaining('qm unlock 9000') },
    ]);
  });

  it('that is absent, ambiguous or unreadable is left to the plan', () => {
    const hidden = { ...templateWith(), vm: { ok: false, needs: 'VM.Audit on /vms/9000' } as const };
    for (const candidates of [[], [templateWith(), templateWith()], [hidden]]) {
      expect(
        checkTemplates(patient({ observed: observedWith({ templates: new Map([['#9000', candidates]]) }) })),
      ).toEqual([]);
    }
  });
});
