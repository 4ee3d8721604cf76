/** Images: present and right, present and wrong, not recorded; downloads and uploads that fail, and what a later apply does. */
import { describe, expect, it } from 'vitest';
import { madeUpChecksums, WELL_KNOWN_URLS } from '../../../src/simulator/index.ts';
import type { Volume } from '../../../src/simulator/world/world.ts';
import { codesOf, failuresOf } from '../engine/support/invariants.ts';
import { type RunEnd, resolved, Scene, type SceneOptions, type Snapshot } from '../engine/support/scene.ts';
import { complaintsAfter, complaintsAfterDestroy, strangersPicture } from './support/invariants.ts';
import { SOURCES, sentStack } from './support/sent-image.ts';
import { cloudStack } from './support/stacks.ts';
import { clusterWorld, hostWorld } from './support/worlds.ts';

const SHA256 = madeUpChecksums(WELL_KNOWN_URLS.ubuntuNoble).sha256 ?? '';
const checked = (sum: string) => cloudStack({ image: `, sha256: "${sum}"` });
const PLAIN = cloudStack();
const CHECKED = checked(SHA256);
const OTHER_SUM = '0'.repeat(64);
const NAME = 'import/noble.qcow2';

function begin(options: SceneOptions = {}): { scene: Scene; before: string } {
  const scene = new Scene({ world: hostWorld, ...options });
  return { scene, before: strangersPicture(scene.world) };
}

const kept = new Map<string, Promise<Snapshot>>();

async function standingAfter(text: string): Promise<{ scene: Scene; before: string }> {
  const known = kept.get(text) ?? standing(text);
  kept.set(text, known);
  return begin({ from: await known });
}

async function standing(text: string): Promise<Snapshot> {
  const { scene } = begin();
  expect(failuresOf(await scene.apply(text))).toEqual([]);
  await scene.clock.advance(120_000);
  return scene.snapshot();
}

const filesOf = (scene: Scene) => scene.world.storages.get('local')?.volumes.get('vmhost') ?? new Map<string, Volume>();
const kindsOf = (end: RunEnd) =>
  end.kind === 'ended' ? end.plan.changes.filter(({ kind }) => kind !== 'none').map(({ kind }) => kind) : [];
const warningsOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.warnings.map(({ code }) => code) : []);

/** Another client has put the file there before us. */
async function found(text: string): Promise<{ scene: Scene; before: string }> {
  const { scene, before } = await standingAfter(PLAIN);
  expect(await complaintsAfterDestroy(scene, PLAIN, before, [])).toEqual([]);
  const image = (await kept.get(PLAIN))?.world.storages.get('local')?.volumes.get('vmhost')?.get(NAME);
  if (!image) throw new Error(`there is no ${NAME} to begin ${text} with`);
  filesOf(scene).set(NAME, structuredClone(image));
  return { scene, before };
}

describe('an image that this stack transferred', () => {
  it('is left alone while it is unchanged', async () => {
    const { scene, before } = await standingAfter(CHECKED);
    expect(await complaintsAfter(scene, CHECKED, before)).toEqual([]);
    expect(scene.tasks('download')).toEqual(['OK']);
  });

  it('is refused, and kept, if another client changed it, until you replace it', async () => {
    const { scene, before } = await standingAfter(CHECKED);
    const image = filesOf(scene).get(NAME);
    if (image) image.ctime += 5_000;
    const refused = await scene.apply(CHECKED);
    expect(codesOf(refused)).toEqual(['CONFIG_CHANGED']);
    expect(failuresOf(refused)[0]).toContain('--replace image.noble');
    expect(scene.writes()).toEqual([]);
    expect(failuresOf(await scene.apply(CHECKED, { replace: ['image.noble'] }))).toEqual([]);
    expect(await complaintsAfter(scene, CHECKED, before)).toEqual([]);
  });

  it('is refused if the file declares another one, and transferred again on request, which also rebuilds the template', async () => {
    const { scene, before } = await standingAfter(PLAIN);
    const other = cloudStack({ url: WELL_KNOWN_URLS.debian12 });
    expect(codesOf(await scene.apply(other))).toEqual(['CONFIG_CHANGED']);
    const end = await scene.apply(other, { replace: ['image.noble'] });
    expect(failuresOf(end)).toEqual([]);
    expect(kindsOf(end)).toEqual(['replace', 'supersede']);
    expect(await complaintsAfter(scene, other, before, { retired: 1 })).toEqual([]);
  });

  it('is compared by Proxmox, not downloaded again, if its checksum is added to the file', async () => {
    const { scene, before } = await standingAfter(PLAIN);
    const end = await scene.plan(CHECKED);
    expect(kindsOf(end)).toContain('update');
    expect(await complaintsAfter(scene, CHECKED, before, { retired: 1 })).toEqual([]);
    const wrong = await standingAfter(PLAIN);
    expect(codesOf(await wrong.scene.apply(checked(OTHER_SUM)))).toEqual(['FILE_DIFFERS']);
    expect(filesOf(wrong.scene).has(NAME)).toBe(true);
  });

  it('is transferred again if another client deleted it', async () => {
    const { scene, before } = await standingAfter(PLAIN);
    filesOf(scene).delete(NAME);
    expect(await complaintsAfter(scene, PLAIN, before)).toEqual([]);
    expect(scene.tasks('download')).toHaveLength(2);
  });

  it('is downloaded again on request', async () => {
    const { scene, before } = await standingAfter(PLAIN);
    const end = await scene.apply(PLAIN, { replace: ['image.noble'] });
    expect(kindsOf(end)).toEqual(['replace']);
    expect(failuresOf(end)).toEqual([]);
    expect(scene.tasks('download')).toEqual(['OK', 'OK']);
    expect(await complaintsAfter(scene, PLAIN, before)).toEqual([]);
  });

  it('stays where its source is gone when it is to be replaced', async () => {
    const { scene, before } = await standingAfter(PLAIN);
    const source = scene.world.downloads.get(WELL_KNOWN_URLS.ubuntuNoble);
    scene.world.downloads.delete(WELL_KNOWN_URLS.ubuntuNoble);
    const end = await scene.apply(PLAIN, { replace: ['image.noble'] });
    expect(codesOf(end)).toEqual(['DOWNLOAD_FAILED']);
    expect(filesOf(scene).has(NAME)).toBe(true);
    if (source) scene.world.downloads.set(WELL_KNOWN_URLS.ubuntuNoble, source);
    expect(await complaintsAfter(scene, PLAIN, before)).toEqual([]);
  });
});

describe('an image that was there before', () => {
  it('is compared if a checksum is given, used, and kept when everything is destroyed', async () => {
    const { scene, before } = await found(CHECKED);
    const end = await scene.apply(CHECKED);
    expect(failuresOf(end)).toEqual([]);
    expect(scene.tasks('download')).toHaveLength(2);
    expect(await complaintsAfter(scene, CHECKED, before)).toEqual([]);
    expect(await complaintsAfterDestroy(scene, CHECKED, before, [`vmhost/local:${NAME}`])).toEqual([]);
    expect(filesOf(scene).has(NAME)).toBe(true);
  });

  it('is refused where its checksum is another one, and replaced only on request', async () => {
    const { scene, before } = await found(CHECKED);
    const image = filesOf(scene).get(NAME);
    if (image) filesOf(scene).set(NAME, { ...image, checksums: { sha256: OTHER_SUM } });
    const end = await scene.apply(CHECKED);
    expect(codesOf(end)).toEqual(['FILE_DIFFERS']);
    expect(failuresOf(end).join()).toContain('--replace');
    expect(filesOf(scene).has(NAME)).toBe(true);
    expect(failuresOf(await scene.apply(CHECKED, { replace: ['image.noble'] }))).toEqual([]);
    expect(await complaintsAfter(scene, CHECKED, before)).toEqual([]);
  });

  it('is used with a warning if no checksum is declared, and is never deleted', async () => {
    const { scene, before } = await found(PLAIN);
    const end = await scene.apply(PLAIN);
    expect(failuresOf(end)).toEqual([]);
    expect(warningsOf(end)).toEqual(['NOT_CHECKED']);
    expect(await complaintsAfter(scene, PLAIN, before)).toEqual([]);
    expect(await complaintsAfterDestroy(scene, PLAIN, before, [`vmhost/local:${NAME}`])).toEqual([]);
    expect(filesOf(scene).has(NAME)).toBe(true);
  });
});

describe('a download that fails', () => {
  const { gone, cut, refused } = WELL_KNOWN_URLS;
  it.each([gone, cut, refused])(
    'is reported before anything begins, and a later apply with a better one succeeds: %s',
    async (url) => {
      const { scene, before } = begin();
      const end = await scene.apply(cloudStack({ url }));
      expect(codesOf(end)).toEqual(['DOWNLOAD_FAILED']);
      expect(failuresOf(end).filter((each) => each.includes('skipped'))).toHaveLength(3);
      expect(scene.tasks('qmcreate')).toEqual([]);
      expect((await scene.state()).files).toEqual({});
      expect(await complaintsAfter(scene, PLAIN, before)).toEqual([]);
    },
  );

  it('is reported in each case, and a later apply succeeds', async () => {
    for (const how of ['unresolvable', 'refused', 'status', 'cut', 'content'] as const) {
      const { scene, before } = begin({ faults: [{ kind: 'download-fail', how, at: 1 }] });
      const end = await scene.apply(CHECKED);
      expect(codesOf(end), how).toHaveLength(1);
      expect(codesOf(end)[0], how).toMatch(/^(DOWNLOAD_FAILED|CHECKSUM_MISMATCH)$/);
      expect(await complaintsAfter(scene, CHECKED, before), how).toEqual([]);
    }
  });

  it('succeeds if it resumes after an interruption', async () => {
    const { scene, before } = begin({ faults: [{ kind: 'download-fail', how: 'cut-once', at: 1 }] });
    expect(failuresOf(await scene.apply(CHECKED))).toEqual([]);
    expect(await complaintsAfter(scene, CHECKED, before)).toEqual([]);
  });

  it('continues on the server if it takes longer than allowed, and the next apply waits for it', async () => {
    const text = PLAIN.replace('timeouts: {', 'timeouts: { image: 1m,');
    const { scene, before } = begin({ faults: [{ kind: 'download-stall', at: 1, for_ms: 300_000 }] });
    const end = await scene.apply(text);
    expect(codesOf(end)).toEqual(['TASK_TIMEOUT']);
    expect(scene.tasks('download')).toEqual(['runs']);
    await scene.clock.advance(400_000);
    expect(await complaintsAfter(scene, text, before)).toEqual([]);
    expect(scene.tasks('download')).toEqual(['OK']);
  });
});

describe('an image that is sent from here', () => {
  const SENT = sentStack();
  const sources = SOURCES;

  it('is sent once, and found right afterwards', async () => {
    const { scene, before } = begin({ sources });
    expect(failuresOf(await scene.apply(SENT))).toEqual([]);
    expect(await complaintsAfter(scene, SENT, before)).toEqual([]);
    expect(scene.tasks('imgcopy')).toEqual(['OK']);
    expect(await complaintsAfterDestroy(scene, SENT, before)).toEqual([]);
  });

  it.each([
    { kind: 'upload-cut', at: 1 },
    { kind: 'upload-stall', at: 1 },
    { kind: 'task-fail', at: 1, match: { task: 'imgcopy' } },
  ] as const)('is there after the next apply, whatever the first one met: $kind', async (rule) => {
    const { scene, before } = begin({ sources, faults: [rule] });
    await scene.apply(SENT);
    expect(scene.faults.strikes).toHaveLength(1);
    expect(await complaintsAfter(scene, SENT, before)).toEqual([]);
  });
});

it('transfers an image that no VM uses to the nodes that it names', async () => {
  const text = `
version: 1
stack: lab
images:
  debian: { url: "${WELL_KNOWN_URLS.debian12}", content: import, storage: local, nodes: [vmhost] }
`;
  const { scene, before } = begin();
  expect(resolved(text).images[0]?.nodes).toEqual(['vmhost']);
  expect(await complaintsAfter(scene, text, before)).toEqual([]);
  expect(await complaintsAfterDestroy(scene, text, before)).toEqual([]);
});

it('knows an image on shared storage when the node that transferred it is offline', async () => {
  const text = `
version: 1
stack: lab
images:
  debian: { url: "${WELL_KNOWN_URLS.debian12}", content: import, storage: nfs, nodes: [pve1, pve2] }
`;
  const scene = new Scene({ world: clusterWorld });
  expect(failuresOf(await scene.apply(text))).toEqual([]);
  const end = await scene.plan(text.replace('[pve1, pve2]', '[pve2, pve1]'));
  expect(kindsOf(end)).toEqual([]);
  expect(warningsOf(end)).toEqual([]);
});
