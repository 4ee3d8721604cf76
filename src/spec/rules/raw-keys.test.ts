import { describe, expect, it } from 'vitest';
import { desiredConfig } from '../../kinds/vm/config/desired-config.ts';
import { configKeys, isModelledKey, wireRows } from '../../kinds/vm/fields/rows.ts';
import { resolveText, webStack } from '../testing/resolving.ts';

const MODELLED = [...configKeys()].filter(isModelledKey);
const FREE = [...configKeys()].filter((key) => !isModelledKey(key));

/** What the rules say about one raw key. */
function refusals(key: string): string[] {
  const { diagnostics } = resolveText(webStack(`extra: { ${key}: "1" }`));
  return diagnostics.map(({ severity, code }) => `${severity} ${code}`);
}

describe('a raw key', () => {
  it('is never accepted silently if a row is bound to its key', () => {
    expect(new Set(wireRows().map(({ family }) => family)).size).toBeGreaterThan(60);
    expect(MODELLED.filter((key) => !/^(error|warning) BAD_VALUE/.test(refusals(key).join()))).toEqual([]);
  });

  it('keeps working, with a warning, if it had no field in earlier versions', () => {
    const warned = MODELLED.filter((key) => refusals(key).join() === 'warning BAD_VALUE');
    expect([...new Set(warned.map((key) => key.replace(/\d$/, '')))].sort().join(' ')).toBe(
      'acpi affinity allow-ksm amd-sev args audio cicustom hookscript hugepages intel-tdx keephugepages keyboard kvm ' +
        'localtime migrate_downtime migrate_speed numa spice_enhancements tdf virtiofs watchdog',
    );
  });

  it('is accepted only if Proxmox stores it under this name and no field sets it', () => {
    expect(FREE.filter((key) => refusals(key).length === 0)).toEqual([
      'autostart',
      'freeze',
      'reboot',
      'shares',
      'arch',
      'bootdisk',
      'parallel0',
      'parallel1',
      'parallel2',
      'startdate',
      'vmstatestorage',
      'ivshmem',
    ]);
  });

  it('takes precedence over the field in a Terraform state that holds both', () => {
    const { stack } = resolveText(webStack('kvm: false'));
    const [vm] = stack?.vms ?? [];
    const entry = vm && desiredConfig({ ...vm.fields, extra: { kvm: 1 } }, {}).get('kvm');
    expect(entry).toMatchObject({ desired: { kind: 'value', text: '1' }, fields: [{ path: 'extra.kvm' }] });
  });
});
