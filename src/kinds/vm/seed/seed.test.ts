import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../base/secret.ts';
import { vmFieldsSchema } from '../fields/index.ts';
import { type SeedSource, seedBytes, seedOf } from './documents.ts';
import { seedFieldsOf } from './fields.ts';
import { readIso } from './testing/read-iso.ts';

const FIELDS = vmFieldsSchema.parse({
  name: 'web.lab',
  node: 'pve1',
  guest: 'cloud-init',
  cloud_init: { storage: 'local', user_data: { text: '#cloud-config\n# hunter2\n' }, password: { env: 'PW' } },
});

function source(): SeedSource {
  const fields = seedFieldsOf(FIELDS);
  if (!fields) throw new Error('these fields need no seed');
  const secrets = { user_data: new Secret('#cloud-config\n'), password: new Secret('$6$salt$hash') };
  return { fields, macs: {}, uuid: 'one', secrets };
}

describe('a seed', () => {
  it('is named after the VM and its contents', () => {
    const { digest, fileName } = seedOf(source());
    expect(fileName).toBe(`proxwright-web.lab-${digest.slice(0, 16)}.iso`);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(seedOf(source()).digest).toBe(digest);
  });

  it('has a name that is no plain digest of what is in it', () => {
    const { fileName, documents } = seedOf(source());
    const [, digits = ''] = /-([0-9a-f]{16})\.iso$/.exec(fileName) ?? [];
    const parts = Object.entries(documents).sort(([left], [right]) => (left < right ? -1 : 1));
    const hash = createHash('sha256');
    for (const part of ['one', ...parts.flat()]) hash.update(`${Buffer.byteLength(part)}:`).update(part);
    const former = `proxwright-web.lab-${hash.digest('hex').slice(0, 16)}.iso`;
    expect(former).not.toContain(digits);
    // A file that an earlier version uploaded under such a name is not uploaded again.
    expect(seedOf(source(), [undefined, `local:iso/${former}`]).fileName).toBe(former);
    expect(seedOf({ ...source(), uuid: 'two' }, [`local:iso/${former}`]).fileName).not.toBe(former);
  });

  it('of two VMs with the same settings are two files', () => {
    const own = {
      ...source(),
      secrets: { meta_data: new Secret('instance-id: mine\n'), user_data: new Secret('#!\n') },
    };
    expect(seedOf({ ...own, uuid: 'two' }).fileName).not.toBe(seedOf(own).fileName);
  });

  it('has the volume label that guests look for', () => {
    const { documents } = seedOf(source());
    const { label, files } = readIso(seedBytes(documents), 'joliet');
    expect(label).toBe('cidata');
    expect(Object.fromEntries(files.map(({ name, bytes }) => [name, bytes.toString()]))).toEqual(documents);
  });
});

describe('the part of a seed that plans contain', () => {
  it('is neither a file nor a reference to one', () => {
    const text = JSON.stringify(seedFieldsOf(FIELDS));
    expect(text).not.toMatch(/hunter2|PW/);
    expect(JSON.parse(text)).toEqual({
      name: 'web.lab',
      guest: 'cloud-init',
      nics: {},
      hasPassword: true,
      own: ['user_data'],
    });
  });

  it('is nothing if Proxmox’s own drive is used', () => {
    expect(seedFieldsOf({ ...FIELDS, cloud_init: { storage: 'local', user: 'me' } })).toBeUndefined();
  });
});
