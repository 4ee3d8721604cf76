import { describe, expect, it } from 'vitest';
import { emptyDraft, writtenConfig } from './config-file.ts';
import { type ConfigDraft, parseConfig, renderConfig } from './config-text.ts';

function written(sections: Partial<ConfigDraft>) {
  return writtenConfig({ ...emptyDraft(), ...sections });
}

const current = (values: Record<string, string>) => written({ current: new Map(Object.entries(values)) }).current;

describe('the text of a configuration', () => {
  it('has the description on top, the keys sorted, then pending, cloud-init and snapshot sections', () => {
    const draft: ConfigDraft = {
      current: new Map([
        ['name', 'web'],
        ['description', 'a: 100%'],
        ['ide2', 'local:100/vm-100-cloudinit.qcow2,media=cdrom'],
      ]),
      pending: new Map([['cores', '2']]),
      pendingDeletes: new Map([
        ['scsi1', true],
        ['net0', false],
      ]),
      snapshots: new Map([['one', new Map([['name', 'old']])]]),
      cloudInit: new Map([['name', 'old']]),
    };
    expect(renderConfig(draft)).toBe(
      [
        '#a%3A 100%25',
        'ide2: local:100/vm-100-cloudinit.qcow2,media=cdrom',
        'name: web',
        '',
        '[PENDING]',
        'cores: 2',
        'delete: net0,!scsi1',
        '',
        '[special:cloudinit]',
        'name: old',
        '',
        '[one]',
        'name: old',
        '',
      ].join('\n'),
    );
    const { digest, ...read } = parseConfig(renderConfig(draft));
    expect(digest).toMatch(/^[0-9a-f]{40}$/);
    expect(read).toEqual(draft);
  });

  it('turns an empty value into a blank, and trims the others', () => {
    expect(current({ boot: '', ciuser: '  admin  ' })).toEqual(
      new Map([
        ['boot', ' '],
        ['ciuser', 'admin'],
      ]),
    );
  });

  it.each([
    ['line 1\n\nline 3\n\n', 'line 1\n\nline 3'],
    ['  \t\n x \r\n', '  \t\n x'],
    ['Zeile mit Ümlaut: 50%', 'Zeile mit Ümlaut: 50%'],
    ['\n\n', undefined],
    ['0', undefined],
    ['', undefined],
  ])('keeps the description %j as %j', (given, kept) => {
    expect(current({ description: given }).get('description')).toBe(kept);
  });

  it('keeps an emptied description as pending', () => {
    const { pending } = written({ pending: new Map([['description', '']]) });
    expect(pending.get('description')).toBe('');
  });

  it('drops values that their format refuses on reading, so an empty list of SSH keys changes only the digest', () => {
    const before = written({});
    const after = written({ pending: new Map([['sshkeys', '']]) });
    expect(after.pending.size).toBe(0);
    expect(after.digest).not.toBe(before.digest);
  });

  it('refuses to write what it could not read', () => {
    expect(() => current({ cores: 'two' })).toThrow("unable to parse value of 'cores' - type check ('integer') failed");
    expect(() => current({ frobnicate: '1' })).toThrow("unable to parse value of 'frobnicate' - unknown setting");
    expect(() => current({ ciuser: 'a\nb' })).toThrow(
      "unable to parse value of 'ciuser' - property contains a line feed",
    );
  });

  it('writes booleans as 0 and 1 and removes quotes from plain texts', () => {
    expect(current({ onboot: 'yes', kvm: 'OFF', ciuser: '"a b"' })).toEqual(
      new Map([
        ['ciuser', 'a b'],
        ['kvm', '0'],
        ['onboot', '1'],
      ]),
    );
  });

  it('turns the old smp into sockets, unless sockets are given', () => {
    expect(current({ smp: '4', cores: '2' })).toEqual(new Map([['sockets', '4']]));
    expect(current({ smp: '4', cores: '2', sockets: '1' })).toEqual(
      new Map([
        ['cores', '2'],
        ['sockets', '1'],
      ]),
    );
  });

  it('removes the unused entry of a volume that is attached, or will be', () => {
    const volid = 'local:100/vm-100-disk-0.raw';
    expect(current({ unused0: volid, scsi0: `${volid},size=1G` }).has('unused0')).toBe(false);
    const pending = new Map([['scsi0', `${volid},size=1G`]]);
    expect(written({ current: new Map([['unused3', volid]]), pending }).current.has('unused3')).toBe(false);
  });

  it('writes the cloud-init section only if there is such a drive', () => {
    expect(written({ cloudInit: new Map([['ciuser', 'a']]) }).cloudInit).toBeUndefined();
  });
});
