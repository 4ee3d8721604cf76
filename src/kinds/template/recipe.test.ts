import { describe, expect, it } from 'vitest';
import { Secret } from '../../base/secret.ts';
import { resolvedStack, secretsOf } from '../../engine/testing/cluster.ts';
import { fingerprint, slowDigest } from '../fingerprint.ts';
import { outdatedTemplates, recipeOf } from './recipe.ts';

const TEXT = `
version: 1
stack: lab
images:
  talos: { url: "https://images.example/talos.iso", content: iso, storage: local }
  other: { url: "https://images.example/other.iso", content: iso, storage: local, nodes: [pve1] }
templates:
  base:
    vmid: 9000
    node: pve1
    memory: 2GiB
    disks: { scsi0: { storage: tank, size: 8GiB }, ide2: { image: talos } }
    cloud_init: { storage: local, slot: ide0, user_data: { text: "told" } }
    boot: [scsi0, ide2]
    install: { timeout: 20m }
`;

function recipe(text = TEXT): string {
  const stack = resolvedStack(text);
  const [template] = stack.templates;
  return template ? recipeOf(template, stack, secretsOf(stack)) : '';
}

describe('the recipe of a template', () => {
  it('is a short fingerprint, always the same', () => {
    expect(recipe()).toMatch(/^[0-9a-f]{16}$/);
    expect(recipe()).toBe(recipe());
  });

  it.each([
    ['a field', 'memory: 2GiB', 'memory: 3GiB'],
    ['where its image comes from', 'example/talos.iso', 'example/v2/talos.iso'],
    [
      'the checksum of its image',
      'content: iso, storage: local }',
      `content: iso, storage: local, sha256: ${'a'.repeat(64)} }`,
    ],
    ['its user-data', 'text: "told"', 'text: "told otherwise"'],
    ['the storage of its disk', 'storage: tank', 'storage: local-lvm'],
  ])('changes with %s', (_, from, to) => {
    expect(TEXT).toContain(from);
    expect(recipe(TEXT.replace(from, to))).not.toBe(recipe());
  });

  it('does not help to guess a secret: a quick digest of the guess does not lead to it', () => {
    const stack = resolvedStack(TEXT);
    const [template] = stack.templates;
    if (!template) throw new Error('the stack of the test has a template');
    const path = 'cloud_init.user_data';
    const secrets = (digest: (text: string) => string) => [[path, digest('guessed')]];
    const value = { value: new Secret('guessed'), digest: '' };
    const told = new Map([[template.vm.address, new Map([[path, value]])]]);
    const { name: _name, node: _node, vmid: _vmid, ...fields } = template.vm.fields;
    const { from, install, madeFrom } = template;
    // The first is the one that the template uses.
    const images = stack.images
      .slice(0, 1)
      .map(({ fields: { url, path, sha256, sha512 } }) => ({ url, path, sha256, sha512 }));
    const by = (digest: (text: string) => string) =>
      fingerprint({ fields, from, installs: install !== undefined, madeFrom, images, told: secrets(digest) }).slice(
        0,
        16,
      );
    expect(recipeOf(template, stack, told)).not.toBe(by(fingerprint));
    // Computed like the real recipe, except for the digest of the secret.
    expect(recipeOf(template, stack, told)).toBe(
      by((text) => slowDigest('proxwright recipe', text, 24).toString('hex')),
    );
  });

  it('changes with the content of a custom file, and with whether it installs itself', () => {
    const stack = resolvedStack(TEXT);
    const [template] = stack.templates;
    if (!template) throw new Error('the stack of the test has a template');
    const told = (text: string) =>
      new Map([[template.vm.address, new Map([['cloud_init.user_data', { value: new Secret(text), digest: '' }]])]]);
    const { install: _, ...resting } = template;
    const recipes = [
      recipeOf(template, stack, told('one')),
      recipeOf(template, stack, told('two')),
      recipeOf(resting, stack, told('one')),
    ];
    expect(new Set(recipes).size).toBe(3);
  });

  it.each([
    ['its id', 'vmid: 9000', 'vmid: 9500'],
    ['its node', 'node: pve1\n', 'node: pve2\n'],
    ['its name', '  base:', '  renamed:'],
    ['how long its installation may take', 'timeout: 20m', 'timeout: 40m'],
    ['an image that it does not use', 'example/other.iso', 'example/another.iso'],
    ['the name of its stack', 'stack: lab', 'stack: other'],
    ['the order of its fields', '    vmid: 9000\n    node: pve1\n', '    node: pve1\n    vmid: 9000\n'],
  ])('does not change with %s', (_, from, to) => {
    expect(TEXT).toContain(from);
    expect(recipe(TEXT.replace(from, to))).toBe(recipe());
  });
});

describe('outdated templates', () => {
  const stack = resolvedStack(TEXT);
  const outdated = (known: string | undefined) =>
    outdatedTemplates(
      stack,
      () => (known === undefined ? undefined : { template: { recipe: known } }),
      secretsOf(stack),
    );

  it('are those that were built from another recipe', () => {
    expect(outdated('another')).toEqual(['template.base']);
    expect(outdated(recipe())).toEqual([]);
    expect(outdated(undefined)).toEqual([]);
  });
});
