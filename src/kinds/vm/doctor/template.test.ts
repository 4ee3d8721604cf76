import { describe, expect, it } from 'vitest';
import { checkTemplates } from './template.ts';
import { observedWith, patient, stackFrom, templateWith, WEB } from './testing/patient.ts';

const check = (change: Parameters<typeof templateWith>[0], more = '') =>
  checkTemplates(
    patient({
      observed: observedWith({ templates: new Map([['#9000', [templateWith(change)]]]) }),
      stack: stackFrom(`${WEB}${more}`),
    }),
  );

describe('the template check', () => {
  it('reports one line for a good template', () => {
    expect(check({})).toMatchObject([{ verdict: 'good', words: expect.stringContaining('Template 9000 (ubuntu)') }]);
  });

  it('rejects a template without a disk', () => {
    expect(check({ scsi0: undefined, boot: undefined })).toMatchObject([
      {
        verdict: 'bad',
        words: expect.stringContaining('has no disk'),
        remedy: expect.stringContaining('qm disk import 9000'),
      },
    ]);
  });

  it('shows how to attach a detached disk', () => {
    const [found] = check({ scsi0: undefined, unused0: 'tank:base-9000-disk-0', boot: undefined });
    expect(found).toMatchObject({ verdict: 'bad', words: expect.stringContaining('has a detached disk') });
    expect(found?.remedy).toBe('On pve1: qm set 9000 --scsi0 tank:base-9000-disk-0 --boot order=scsi0');
  });

  it('accepts a template without a disk for VMs with their own disks', () => {
    const disks = '    disks: { scsi0: { storage: tank, import_from: "tank:import/a.qcow2" } }\n    boot: [scsi0]\n';
    expect(check({ scsi0: undefined, boot: undefined }, disks)).toMatchObject([{ verdict: 'good' }]);
  });

  it.each([
    ['order=scsi0;net7', 'contains net7'],
    ['order=net0', 'does not boot from a disk'],
  ])('rejects the boot order %s', (boot, words) => {
    expect(check({ boot })).toMatchObject([{ verdict: 'bad', words: expect.stringContaining(words) }]);
    expect(check({ boot }, '    boot: [scsi0]\n')).toMatchObject([{ verdict: 'good' }]);
  });

  it('accepts the old boot format, and none at all', () => {
    expect(check({ boot: 'cdn' })).toMatchObject([{ verdict: 'good' }]);
    expect(check({ boot: undefined })).toMatchObject([{ verdict: 'good' }]);
  });

  it('rejects a volume that is missing from its storage', () => {
    const volumes = new Map([['pve1/tank/9000', { ok: true, value: new Set<string>() } as const]]);
    expect(checkTemplates(patient({ volumes }))).toMatchObject([
      { verdict: 'bad', words: expect.stringContaining('tank has no such volume') },
    ]);
  });

  it('reports volumes that cannot be listed as not checked', () => {
    const volumes = new Map([['pve1/tank/9000', { ok: false, needs: 'Datastore.Audit on /storage/tank' } as const]]);
    expect(checkTemplates(patient({ volumes }))).toMatchObject([{ verdict: 'good' }, { verdict: 'unknown' }]);
  });

  it('rejects a disabled agent, unless the file enables it or does not wait for it', () => {
    expect(check({ agent: '0' })).toMatchObject([
      { verdict: 'bad', remedy: expect.stringContaining('agent: { enabled: true }') },
    ]);
    expect(check({ agent: undefined }, '    agent: { enabled: true }\n')).toMatchObject([{ verdict: 'good' }]);
    expect(check({ agent: undefined }, '    ready: { agent: false }\n')).toMatchObject([{ verdict: 'good' }]);
  });

  it('rejects a missing cloud-init drive if the file has cloud-init settings', () => {
    expect(check({ ide2: undefined })).toMatchObject([
      { verdict: 'bad', remedy: expect.stringContaining('cloud_init: { storage: tank }') },
    ]);
    expect(check({ ide2: undefined }, '    cloud_init: { storage: tank }\n')).toMatchObject([{ verdict: 'good' }]);
  });

  it('reports a lock with its remedy', () => {
    expect(check({ lock: 'clone' })).toMatchObject([
      { verdict: 'bad', remedy: expect.stringContaining('qm unlock 9000') },
    ]);
  });

  it('leaves absent, ambiguous and unreadable templates to the plan', () => {
    const hidden = { ...templateWith(), vm: { ok: false, needs: 'VM.Audit on /vms/9000' } as const };
    for (const candidates of [[], [templateWith(), templateWith()], [hidden]]) {
      expect(
        checkTemplates(patient({ observed: observedWith({ templates: new Map([['#9000', candidates]]) }) })),
      ).toEqual([]);
    }
  });
});
