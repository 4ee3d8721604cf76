/** The example stacks: the same in the package and in the repository, valid, and true to their word on the simulator. */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EXAMPLES } from '../src/cli/examples/index.ts';
import { isEmpty } from '../src/engine/plan-types.ts';
import { loadStack, resolveStack } from '../src/spec/index.ts';
import { StackScene } from './simulation/support/stack-scene.ts';

const FOLDER = fileURLToPath(new URL('../examples/', import.meta.url));

describe('the example stacks', () => {
  it('are the files in examples/', async () => {
    expect((await readdir(FOLDER)).filter((name) => name.endsWith('.yaml')).sort()).toEqual(
      Object.keys(EXAMPLES)
        .map((name) => `${name}.yaml`)
        .sort(),
    );
  });

  it.each(Object.entries(EXAMPLES))(
    '%s is valid without a remark, and applies to an empty second plan',
    async (name, text) => {
      expect(await readFile(`${FOLDER}${name}.yaml`, 'utf8')).toBe(text);
      const { stack, diagnostics } = resolveStack(loadStack(text, `${name}.yaml`));
      expect(diagnostics).toEqual([]);
      if (!stack) throw new Error('not resolved');
      expect(stack.name).toBe(name);
      expect(text.split('\n').filter((line) => line.length > 120)).toEqual([]);
      const scene = new StackScene();
      await scene.run(async () => {
        await scene.apply(stack);
        expect(isEmpty(await scene.plan(stack))).toBe(true);
      });
    },
  );
});
