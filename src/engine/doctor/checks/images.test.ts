import { describe, expect, it } from 'vitest';
import type { Address } from '../../../base/address.ts';
import type { ImageSite } from '../../../kinds/observed.ts';
import { loadStack, resolveStack } from '../../../spec/index.ts';
import type { DownloadSight } from '../examination.ts';
import { observedWith, storageRow } from '../testing/patient.ts';
import { checkImages } from './storage.ts';

const URL = 'https://images.example.com/debian-12.qcow2';
const SUM = 'a'.repeat(64);
const ADDRESS = 'image.debian["pve1"]' as Address;

function site(fields: string, part: Partial<ImageSite> = {}): ImageSite {
  const text = `version: 1\nstack: lab\nimages:\n  debian: { content: import, storage: local, nodes: [pve1], ${fields} }\n`;
  const image = resolveStack(loadStack(text, 'stack.yaml')).stack?.images[0];
  if (!image) throw new Error('the stack of the test is wrong');
  const row = storageRow({ storage: 'local', content: new Set(['import']) });
  return { image, node: 'pve1', row, isRead: true, isShared: false, found: { ok: true, value: undefined }, ...part };
}

function say(images: readonly ImageSite[], answer?: DownloadSight) {
  const downloads = new Map(answer ? [[ADDRESS, answer]] : []);
  const result = { ok: false, problems: [] } as const;
  const findings = checkImages({ observed: observedWith({ images }), downloads, result });
  return findings.map(({ verdict, words, remedy }) => ({ verdict, words, ...(remedy !== undefined && { remedy }) }));
}

describe('an image', () => {
  it('that its node reaches is well, and its size is said', () => {
    expect(say([site(`url: "${URL}", sha256: ${SUM}`)], { kind: 'there', sizeBytes: 3 * 1024 ** 2 })).toEqual([
      { verdict: 'good', words: `pve1 reaches ${URL}, 3 MiB.` },
    ]);
  });

  it('that its node does not get comes with the node’s own words and two ways out', () => {
    const [finding] = say([site(`url: "${URL}", sha256: ${SUM}`)], { kind: 'failed', words: '"404 Not Found".' });
    expect(finding).toEqual({
      verdict: 'bad',
      words: `pve1 does not get ${URL}: "404 Not Found".`,
      remedy: `Correct the url, or let this machine fetch it: via: upload. To see why, on pve1: curl -fIL '${URL}'`,
    });
  });

  it('that is larger than its storage’s room is refused beforehand', () => {
    const [finding] = say([site(`url: "${URL}", sha256: ${SUM}`)], { kind: 'there', sizeBytes: 900 * 1024 ** 3 });
    expect(finding?.verdict).toBe('bad');
    expect(finding?.words).toBe(`${ADDRESS} has 900 GiB; local on pve1 has 100 GiB free.`);
  });

  it('whose way the token may not ask about is not checked', () => {
    const [finding] = say([site(`url: "${URL}", sha256: ${SUM}`)], {
      kind: 'hidden',
      needs: 'Sys.AccessNetwork on /nodes/pve1',
    });
    expect(finding).toEqual({
      verdict: 'unknown',
      words: `Whether pve1 reaches ${URL}: not checked, the token needs Sys.AccessNetwork on /nodes/pve1.`,
    });
  });

  it('without a checksum is worth a warning, also where it is there', () => {
    const there = site(`url: "${URL}"`, { found: { ok: true, value: { sizeBytes: 1, ctime: 1 } } });
    expect(say([there])).toEqual([
      { verdict: 'good', words: `${ADDRESS} is in local.` },
      {
        verdict: 'warning',
        words: `${ADDRESS} has no checksum, so whatever arrives is taken for it.`,
        remedy: 'Write sha256: …. Its publisher lists it beside https://images.example.com/',
      },
    ]);
  });

  it('that goes through this machine needs no way out of the node', () => {
    expect(say([site(`url: "${URL}", via: upload, sha256: ${SUM}`), site('path: ./debian-12.qcow2')])).toEqual([
      { verdict: 'good', words: `${ADDRESS} is fetched here and sent: ${URL}` },
      { verdict: 'good', words: `${ADDRESS} is sent from here: ./debian-12.qcow2. Whether it is there, plan tells.` },
    ]);
  });

  it('that the plan has spoken of already is passed over', () => {
    const problem = {
      severity: 'error',
      code: 'BAD_VALUE',
      summary: '',
      detail: '',
      where: { address: 'image.debian' },
    };
    const result = { ok: false, problems: [problem] } as const;
    const observed = observedWith({ images: [site(`url: "${URL}"`)] });
    expect(checkImages({ observed, downloads: new Map(), result: result as never })).toEqual([]);
  });
});
