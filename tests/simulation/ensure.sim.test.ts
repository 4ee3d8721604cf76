/** `image ensure`, `template ensure` and `destroy --all`, as somebody types them on an empty host. */
import { afterEach, expect, it } from 'vitest';
import { runDestroy } from '../../src/cli/commands/destroy.ts';
import { runEnsure } from '../../src/cli/commands/ensure.ts';
import { runPlan } from '../../src/cli/commands/plan.ts';
import { runStateList, runStateShow } from '../../src/cli/commands/state.ts';
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

it('brings the image alone, then the template, and afterwards has nothing to do', async () => {
  const on = await bare();
  const image = await on.run((host) => runEnsure('image', [], YES, host));
  expect(image).toMatchObject({ code: 0, said: expect.stringContaining('Applied: 1 image in') });
  expect(await files(on)).toEqual(['local:import/debian-12-generic-amd64.qcow2']);
  expect(await on.outside.node('vmhost').vms.list()).toEqual([]);
  const listed = await on.run((host) => runStateList({}, host));
  expect(listed.out).toContain('image.debian["vmhost"]  local:import/debian-12-generic-amd64.qcow2');
  const shown = await on.run((host) => runStateShow('image.debian["vmhost"]', {}, host));
  expect(shown.out).toContain(debian12);

  const template = await on.run((host) => runEnsure('template', ['debian-12'], YES, host));
  expect(template).toMatchObject({ code: 0, said: expect.stringContaining('Applied: 1 template in') });
  expect((await on.outside.node('vmhost').vm(9000).config.get()).values.get('template')).toBe('1');

  for (const kind of ['image', 'template'] as const) {
    const again = await on.run((host) => runEnsure(kind, [], YES, host));
    expect(again).toMatchObject({ code: 0, out: 'No changes.' });
  }
});

it('brings along what a template is made from', async () => {
  const on = await bare();
  const { code, said } = await on.run((host) => runEnsure('template', [], YES, host));
  expect([code, said]).toEqual([0, expect.stringContaining('Applied: 1 template and 1 image in')]);
});

it('asks for --yes of the command that was typed', async () => {
  const on = await bare();
  const { code, said } = await on.run((host) => runEnsure('image', ['debian'], {}, host));
  expect(code).toBe(1);
  expect(said).toContain('Then: proxwright image ensure debian --yes');
});

it('knows its names, and says when there is nothing of the kind', async () => {
  const on = await bare();
  const { code, said } = await on.run((host) => runEnsure('image', ['debain'], YES, host));
  expect(code).toBe(1);
  expect(said).toContain('The stack declares no image "debain"; it declares debian.');
  expect(said).toContain('Did you mean "debian"?');
  on.write('stack.yaml', 'version: 1\nstack: bare\n');
  const none = await on.run((host) => runEnsure('template', [], YES, host));
  expect(none).toMatchObject({ code: 0, said: 'Nothing to do: the stack bare declares no template.' });
});

it('keeps both when the stack is destroyed, and says so, unless all is asked for', async () => {
  const on = await bare();
  await on.run((host) => runEnsure('template', [], YES, host));
  const kept = await on.run((host) => runDestroy(YES, host));
  expect(kept.said).toContain('Kept: 1 template and 1 image of this stack; --all takes them away as well.');
  expect(await files(on)).toHaveLength(1);
  const all = await on.run((host) => runDestroy({ ...YES, all: true }, host));
  expect(all).toMatchObject({ code: 0, said: expect.stringContaining('Destroyed: 1 template and 1 image in') });
  expect([await files(on), await on.outside.node('vmhost').vms.list()]).toEqual([[], []]);
});

it('refuses to begin where a file that is to be sent is not there, with its line', async () => {
  const on = await bare(STACK.replace(/url: "[^"]*"/, 'path: ./missing.qcow2').replace(/, sha256: [0-9a-f]+/, ''));
  for (const command of [runEnsure.bind(undefined, 'image', [], YES), runPlan.bind(undefined, {})]) {
    const { code, said } = await on.run((host) => command(host));
    expect(code).toBe(1);
    expect(said).toContain('The image ./missing.qcow2 is to be sent, and there is no such file that can be read here.');
    expect(said).toContain('stack.yaml:4:');
  }
  expect(on.has('incidents')).toBe(false);
  on.write('missing.qcow2', 'no longer');
  expect((await on.run((host) => runPlan({}, host))).code).toBe(0);
});
