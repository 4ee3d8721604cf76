/** `image ensure`, `template ensure` and `destroy --all` on an empty host. */
import { afterEach, expect, it } from 'vitest';
import { runDestroy } from '../../src/cli/commands/change/destroy.ts';
import { runEnsure } from '../../src/cli/commands/change/ensure.ts';
import { runPlan } from '../../src/cli/commands/change/plan.ts';
import { runStateList, runStateShow } from '../../src/cli/commands/state/state.ts';
import { madeUpChecksums, WELL_KNOWN_URLS } from '../../src/simulator/index.ts';
import { BARE_WORLD } from '../../src/simulator/world/bare-world.ts';
import { type Bench, openBench } from './support/command-bench.ts';

const { debian12 } = WELL_KNOWN_URLS;
const STACK = `version: 1
stack: bare
images:
  debian: { url: "${debian12}", content: import, storage: local, sha256: ${madeUpChecksums(debian12).sha256} }
templates:
  debian-12:
    node: vmhost
    vmid: 9000
    memory: 1GiB
    disks: { scsi0: { image: debian, storage: tank, size: 8GiB } }
    boot: [scsi0]
`;
const YES = { yes: true };

let bench: Bench | undefined;
afterEach(() => bench?.close());

const bare = async (stack = STACK) => {
  bench = await openBench(stack, [], {}, BARE_WORLD);
  return bench;
};
const files = async ({ outside }: Bench) =>
  (await outside.node('vmhost').storage('local').content.list()).map(({ volid }) => volid);

it('downloads the image, then builds the template, and then has nothing to do', async () => {
  const on = await bare();
  const image = await on.run((deps) => runEnsure('image', [], YES, deps));
  expect(image).toMatchObject({ code: 0, said: expect.stringContaining('Applied: 1 image in') });
  expect(await files(on)).toEqual(['local:import/debian-12-generic-amd64.qcow2']);
  expect(await on.outside.node('vmhost').vms.list()).toEqual([]);
  const listed = await on.run((deps) => runStateList({}, deps));
  expect(listed.out).toContain('image.debian["vmhost"]  local:import/debian-12-generic-amd64.qcow2');
  const shown = await on.run((deps) => runStateShow('image.debian["vmhost"]', {}, deps));
  expect(shown.out).toContain(debian12);

  const template = await on.run((deps) => runEnsure('template', ['debian-12'], YES, deps));
  expect(template).toMatchObject({ code: 0, said: expect.stringContaining('Applied: 1 template in') });
  expect((await on.outside.node('vmhost').vm(9000).config.get()).values.get('template')).toBe('1');

  for (const kind of ['image', 'template'] as const) {
    const again = await on.run((deps) => runEnsure(kind, [], YES, deps));
    expect(again).toMatchObject({ code: 0, out: 'No changes.' });
  }
});

it('downloads the image that a template needs', async () => {
  const on = await bare();
  const { code, said } = await on.run((deps) => runEnsure('template', [], YES, deps));
  expect([code, said]).toEqual([0, expect.stringContaining('Applied: 1 template and 1 image in')]);
});

it('names the typed command when it asks for --yes', async () => {
  const on = await bare();
  const { code, said } = await on.run((deps) => runEnsure('image', ['debian'], {}, deps));
  expect(code).toBe(1);
  expect(said).toContain('Then: proxwright image ensure debian --yes');
});

it('rejects unknown names, and does nothing if the stack declares none', async () => {
  const on = await bare();
  const { code, said } = await on.run((deps) => runEnsure('image', ['debain'], YES, deps));
  expect(code).toBe(1);
  expect(said).toContain('The stack declares no image "debain"; it declares debian.');
  expect(said).toContain('Did you mean "debian"?');
  on.write('stack.yaml', 'version: 1\nstack: bare\n');
  const none = await on.run((deps) => runEnsure('template', [], YES, deps));
  expect(none).toMatchObject({
    code: 0,
    said: expect.stringContaining('Nothing to do: the stack bare declares no template.'),
  });
});

it('keeps both when the stack is destroyed, and says so, unless --all is given', async () => {
  const on = await bare();
  await on.run((deps) => runEnsure('template', [], YES, deps));
  const kept = await on.run((deps) => runDestroy(YES, deps));
  expect(kept.said).toContain('Kept: 1 template and 1 image of this stack. To destroy them as well, add --all.');
  expect(await files(on)).toHaveLength(1);
  const all = await on.run((deps) => runDestroy({ ...YES, all: true }, deps));
  expect(all).toMatchObject({ code: 0, said: expect.stringContaining('Destroyed: 1 template and 1 image in') });
  expect([await files(on), await on.outside.node('vmhost').vms.list()]).toEqual([[], []]);
});

it('refuses to start if a file to upload is missing, and names its line', async () => {
  const on = await bare(STACK.replace(/url: "[^"]*"/, 'path: ./missing.qcow2').replace(/, sha256: [0-9a-f]+/, ''));
  for (const command of [runEnsure.bind(undefined, 'image', [], YES), runPlan.bind(undefined, {})]) {
    const { code, said } = await on.run((deps) => command(deps));
    expect(code).toBe(1);
    expect(said).toContain('The plan uploads the image ./missing.qcow2, but this machine has no such readable file.');
    expect(said).toContain('stack.yaml:4:');
  }
  expect(on.has('incidents')).toBe(false);
  on.write('missing.qcow2', 'no longer');
  expect((await on.run((deps) => runPlan({}, deps))).code).toBe(0);
});
