/** The VMs of every example, adopted as if their file were lost: the new file is about as long as the old one, and its plan is empty. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { EXAMPLES } from '../../src/cli/examples.ts';
import { isEmpty } from '../../src/kinds/change.ts';
import type { Adoption } from '../../src/kinds/vm/adopt/adopt.ts';
import { Newcomer } from '../simulation/adopt/support/newcomer.ts';
import { linesOf } from '../simulation/adopt/support/random-stack.ts';
import { StackScene } from '../simulation/support/stack-scene.ts';
import { EXAMPLES_FOLDER, type ExampleScene, openExample } from './support/example-scene.ts';
import { optionsIn } from './support/readme.ts';

let scene: ExampleScene | undefined;
afterEach(() => scene?.close());

/** The example, with VMs that name no stack. */
async function withoutOwner(name: string): Promise<ExampleScene> {
  const folder = join(EXAMPLES_FOLDER, name);
  const written = readFileSync(join(folder, 'stack.yaml'), 'utf8');
  const unowned = /^defaults:/m.test(written)
    ? written.replace(/^defaults:.*$/m, (line) => `${line}\n  ownership: off`)
    : written.replace(/^vms:/m, 'defaults: { ownership: off }\n$&');
  const { varFile } = optionsIn(readFileSync(join(folder, 'README.md'), 'utf8'));
  return openExample(name, EXAMPLES[name]?.world ?? 'default', {
    withFiles: { 'stack.yaml': unowned },
    varFile,
  });
}

describe.each(Object.keys(EXAMPLES))('the VMs of %s', (name) => {
  it('come back as a file of at most 1.3 times the lines, with an empty plan', async () => {
    const example = await withoutOwner(name);
    scene = example;
    const written = readFileSync(join(example.opened.directory, 'stack.yaml'), 'utf8');
    await example.run(async () => {
      await example.apply();
      const count = example.opened.stack.vms.length;
      const lab = new StackScene([], undefined, example);
      const newcomer = new Newcomer(lab);
      const { unfit } = (await newcomer.adopt()) as Adoption;
      expect([...unfit]).toEqual([]);
      expect(newcomer.stack.vms).toHaveLength(count);
      expect(isEmpty(await lab.plan(newcomer.stack))).toBe(true);
      expect(linesOf(newcomer.text ?? '') / linesOf(written)).toBeLessThanOrEqual(1.3);
    });
  });
});
