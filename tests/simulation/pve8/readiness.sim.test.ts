/** Waiting for guests on releases where one privilege covers every guest agent call. */
import { describe, expect, it } from 'vitest';
import type { VmFieldsInput } from '../../../src/kinds/vm/fields/index.ts';
import { bench } from '../readiness-bench.ts';

const FIELDS: Partial<VmFieldsInput> = { guest: 'cloud-init', ready: { exec: [['true']] } };

describe.each(['8.0', '8.4'])('on Proxmox VE %s', (version) => {
  it('asks a guest everything with VM.Monitor', async () => {
    const { clock, start, wait } = bench({
      version,
      privileges: ['VM.Audit', 'VM.Monitor', 'VM.PowerMgmt'],
      config: { ide2: 'tank:vm-401-cloudinit,media=cdrom', ipconfig0: 'ip=dhcp' },
    });
    const readiness = await clock.run(async () => {
      await start();
      return wait({ ...FIELDS, ready: { exec: [['true']], cloud_init: true } });
    });
    expect(readiness.addresses.net0).toHaveLength(1);
  });

  it('names the missing privilege, though the answer has no text in its body', async () => {
    const { clock, start, wait } = bench({ version, privileges: ['VM.Audit', 'VM.PowerMgmt'] });
    const failing = clock.run(async () => {
      await start();
      return wait(FIELDS);
    });
    await expect(failing).rejects.toMatchObject({
      code: 'PRIVILEGE_MISSING',
      diagnostic: {
        detail: expect.stringContaining('(/vms/401, VM.Monitor)'),
        hint: { text: expect.stringContaining('/vms/401') },
      },
    });
  });

  it('distinguishes a silent agent from a missing privilege', async () => {
    const { clock, start, wait } = bench({ version, guest: 'silent-agent' });
    const failing = clock.run(async () => {
      await start();
      return wait(FIELDS);
    });
    await expect(failing).rejects.toMatchObject({ code: 'AGENT_SILENT' });
  });
});
