import { describe, expect, it } from 'vitest';
import { API_FACTS } from './api-facts.generated.ts';
import { checkFormat, checkPropertyString } from './check.ts';
import type { PropertyFormat } from './types.ts';

function formatOf(param: string): PropertyFormat {
  const format = API_FACTS['POST /nodes/{node}/qemu']?.params[param]?.format;
  if (typeof format !== 'object') throw new Error(`${param} has no format of its own.`);
  return format;
}

function parse(param: string, text: string): Record<string, string> | string {
  const parsed = checkPropertyString(formatOf(param), text, param.replace('[n]', '0'), {});
  return parsed.ok ? Object.fromEntries(parsed.values) : parsed.message;
}

describe('a property string', () => {
  it('assigns a bare value to the default key, whatever its position', () => {
    expect(parse('scsi[n]', 'ssd=1,local:8')).toEqual({ ssd: '1', file: 'local:8' });
  });

  it('reads the three spellings of a network model alike', () => {
    const expected = { model: 'virtio', macaddr: 'BC:24:11:00:00:01' };
    expect(parse('net[n]', 'virtio=BC:24:11:00:00:01')).toEqual(expected);
    expect(parse('net[n]', 'model=virtio,macaddr=BC:24:11:00:00:01')).toEqual(expected);
    expect(parse('net[n]', 'virtio')).toEqual({ model: 'virtio' });
  });

  it('turns the words for booleans into 1 and 0, and aliases into their targets', () => {
    expect(parse('scsi[n]', 'volume=local:8,ssd=ON,backup=no')).toEqual({ file: 'local:8', ssd: '1', backup: '0' });
    expect(parse('scsi[n]', 'local:8,ssd=maybe')).toBe(
      "format error\nscsi0.ssd: type check ('boolean') failed - got 'maybe'\n",
    );
  });

  it('ignores empty parts', () => {
    expect(parse('memory', ',512,, ,')).toEqual({ current: '512' });
  });

  it.each([
    ['scsi[n]', 'local:8,ssd=1,ssd=0', 'duplicate key in comma-separated list property: ssd\n'],
    ['scsi[n]', 'local:8,local:9', 'duplicate key in comma-separated list property: file\n'],
    ['scsi[n]', 'local:8,file=local:9', 'duplicate key in comma-separated list property: file\n'],
    ['scsi[n]', 'file=local:8,volume=local:9', "key 'file' is already defined (via alias)\n"],
    ['net[n]', 'model=virtio,e1000=BC:24:11:00:00:01', "key alias 'model' is already defined\n"],
    ['net[n]', 'macaddr=BC:24:11:00:00:01,e1000=BC:24:11:00:00:01', "key 'macaddr' is already defined (via alias)\n"],
    ['scsi[n]', 'local:8,ssd=', 'missing key in comma-separated list property\n'],
    ['scsi[n]', '=local:8', 'missing key in comma-separated list property\n'],
    ['numa[n]', '0-1', 'value without key, but schema does not define a default key\n'],
    ['numa[n]', 'memory=512', 'format error\nnuma0.cpus: property is missing and it is not optional\n'],
  ])('refuses %s: %s', (param, text, message) => {
    expect(parse(param, text)).toBe(message);
  });

  it('lets a bare value replace a false one, as the server does', () => {
    expect(parse('agent', 'enabled=0,1')).toEqual({ enabled: '1' });
    expect(parse('agent', 'enabled=1,1')).toBe('duplicate key in comma-separated list property: enabled\n');
  });

  it('names a required key with its full path', () => {
    expect(checkFormat('pve-qm-ipconfig', 'gw=10.0.0.1', 'ipconfig0', {})).toBe(
      "format error\nipconfig0.ip: missing property required by 'ipconfig0.gw'\n",
    );
  });

  it('calls the last validator of a named format', () => {
    const context = { customCpuModels: new Set(['fast']) };
    expect(checkFormat('pve-vm-cpu-conf', 'custom-fast,hidden=1', 'cpu', context)).toBeUndefined();
    expect(checkFormat('pve-vm-cpu-conf', 'custom-slow', 'cpu', context)).toBe("Custom cputype 'slow' not found\n");
  });
});
