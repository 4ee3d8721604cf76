import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { stackJsonSchema } from './json-schema.ts';
import { EXAMPLE } from './testing/example.ts';

const schema = stackJsonSchema();
// zod reads JSON Schema back, as an independent check of what the schema accepts. Its parameter type is wider than
// ours.
const checker = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
const accepts = (document: unknown) => checker.safeParse(document).success;
const images = (fields: object) => ({ version: 1, stack: 's', images: { debian: fields } });
const templates = (fields: object) => ({ version: 1, stack: 's', templates: { base: fields } });
const web = (fields: object) => ({ version: 1, stack: 's', vms: { web: fields } });

describe('the JSON Schema of a stack file', () => {
  it('accepts the example', () => {
    expect(checker.safeParse(parse(EXAMPLE)).error).toBeUndefined();
  });

  it.each([
    ['a reference for a number', web({ cpu: { cores: `\${var.cores}` }, count: `\${var.n}` })],
    ['a reference for a boolean', web({ protection: `\${var.on}` })],
    ['a reference for a choice', web({ bios: `\${var.bios}` })],
    ['a reference for a list', web({ boot: `\${var.boot}`, each: `\${var.each}` })],
    ['a reference for a map', web({ nics: `\${var.nics}`, disks: { scsi0: `\${var.disk}` } })],
    ['a reference inside a name', web({ name: `\${stack}-\${number}` })],
    ['a part of a VM, because the rest may be a default', web({ clone: { mode: 'linked' } })],
    ['a range of addresses', web({ nics: { net0: { ipv4: { addresses: '10.0.0.1-10.0.0.9/24' } } } })],
    ['overrides by number', web({ overrides: { 2: { memory: '1GiB', formerly: 'vm.x' } } })],
    ['an image in a disk', web({ disks: { scsi0: { image: 'debian', storage: 'tank' } } })],
    ['an image in a default', { version: 1, stack: 's', defaults: { disks: { scsi0: { image: `\${var.i}` } } } }],
    ['an image', images({ url: 'https://x.org/a.raw.xz', via: 'upload', content: 'import', storage: 'local' })],
    [
      'an image by reference',
      images({ path: `\${var.path}`, content: `\${var.kind}`, storage: 'local', nodes: ['a'] }),
    ],
    ['a template', templates({ vmid: 9000, node: 'a', disks: { scsi0: { image: 'debian', storage: 'tank' } } })],
    ['a template on several nodes', templates({ nodes: ['a', 'b'], vmids: '9000-9001', from: { vm: 'golden' } })],
    ['a template that installs itself', templates({ node: 'a', install: { timeout: '1h' } })],
    [
      'a template by reference',
      templates({ nodes: `\${var.nodes}`, from: { vm: `\${var.vm}` }, install: `\${var.i}` }),
    ],
    ['null to undo a default', web({ clone: null, memory: null, nics: { net0: { vlan: null } } })],
    [
      'a reference in the rollout',
      { version: 1, stack: 's', rollout: { stagger: `\${var.pause}`, limits: { vms: `\${var.n}` } } },
    ],
  ])('accepts %s', (_, document) => {
    expect(accepts(document)).toBe(true);
  });

  it.each([
    ['an unknown section', { version: 1, stack: 's', vm: {} }],
    ['a missing version', { stack: 's' }],
    ['an unknown field', web({ memmory: '1GiB' })],
    ['an unknown field of an override', web({ overrides: { 2: { memmory: '1GiB' } } })],
    ['an image without content', images({ path: './a.qcow2', storage: 'local' })],
    ['an image without a source', images({ content: 'import', storage: 'local' })],
    ['an image with two sources', images({ url: 'https://x.org/a', path: 'a', content: 'import', storage: 'local' })],
    ['an unknown field of an image', images({ path: 'a', content: 'import', storage: 'local', node: 'a' })],
    ['an invalid image name', web({ disks: { scsi0: { image: 5 } } })],
    ['a field of a VM in a template', templates({ node: 'a', power: 'running' })],
    ['an unknown field of a template', templates({ node: 'a', instal: {} })],
    ['a bare number for the time of an installation', templates({ node: 'a', install: { timeout: 45 } })],
    ['an invalid template name', { version: 1, stack: 's', templates: { a_b: {} } }],
    ['an unknown default', { version: 1, stack: 's', defaults: { memmory: '1GiB' } }],
    ['a bare number for a size', web({ memory: 8 })],
    ['a bare number for a duration', { version: 1, stack: 's', rollout: { stagger: 30 } }],
    ['a value out of range', web({ nics: { net0: { vlan: 5000 } } })],
    ['a choice that does not exist', web({ bios: 'uefi' })],
    ['a secret in the file', { version: 1, stack: 's', connection: { token: 3 } }],
    ['a reference as the version', { version: `\${var.v}`, stack: 's' }],
  ])('refuses %s', (_, document) => {
    expect(accepts(document)).toBe(false);
  });

  it('carries the descriptions of the field table for the editor', () => {
    expect(schema).toMatchObject({
      definitions: { vm_memory: { description: 'RAM given to the guest.' } },
      properties: { rollout: expect.anything() },
    });
    expect(JSON.stringify(schema)).toContain('"examples":["100GiB"]');
    expect(JSON.stringify(schema)).not.toContain('9007199254740991');
  });
});
