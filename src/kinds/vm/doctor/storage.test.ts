import { describe, expect, it } from 'vitest';
import type { Address } from '../../../base/address.ts';
import { loadStack, resolveStack } from '../../../spec/index.ts';
import type { StorageRow } from '../../cluster.ts';
import { checkImages } from '../../image/doctor.ts';
import type { DownloadAnswer, ImageSite } from '../../image/observed.ts';
import { checkStorages } from './storage.ts';
import { GIB, observedWith, patient, stackFrom, storageRow, vmOf, WEB } from './testing/patient.ts';

const TWO = WEB.replace('  web:', '  web:\n    count: 2')
  .replace('vmid: 401', 'vmids: 401-410')
  .replace(/ {4}nics.*\n/, '')
  .replace('name: web', 'name: web-$' + '{number}');
const grown = (size: string, text = WEB) => stackFrom(`${text}    disks: { scsi0: { size: ${size} } }\n`);
const rows = (part: Partial<StorageRow>) =>
  observedWith({ storages: new Map([['pve1', { ok: true, value: [storageRow(part)] }]]) });

describe('the storage check', () => {
  it('compares the free space with the sum of all disks', () => {
    const observed = rows({ availableBytes: 50 * GIB });
    expect(checkStorages(patient({ observed, stack: grown('40GiB') }))).toMatchObject([{ verdict: 'good' }]);
    expect(checkStorages(patient({ observed, stack: grown('40GiB', TWO) }))).toMatchObject([
      { verdict: 'bad', words: 'tank has 50 GiB free; the plan needs 80 GiB.' },
    ]);
  });

  it('counts a shared storage once for all nodes, and names the node of a local one', () => {
    const [first, second] = ['pve1', 'pve2'].map((node) => WEB.replace('pve1', node));
    const spread = `${first}    disks: { scsi1: { size: 60GiB, storage: tank } }\n${second?.replace('web:', 'app:').replace('name: web', 'name: app').replace('401', '402').replace('0.11', '0.12')}    disks: { scsi1: { size: 60GiB, storage: tank } }\n`;
    const wordsOf = (part: Partial<StorageRow>) => {
      const storages = new Map(
        ['pve1', 'pve2'].map((node) => [node, { ok: true, value: [storageRow(part)] } as const]),
      );
      return checkStorages(patient({ observed: observedWith({ storages }), stack: stackFrom(spread) })).map(
        ({ verdict, words }) => [verdict, words],
      );
    };
    expect(wordsOf({ shared: true })).toEqual([['bad', 'tank has 100 GiB free; the plan needs 128 GiB.']]);
    expect(wordsOf({})).toEqual([
      ['good', 'tank of pve1 has 100 GiB free; the plan needs 64 GiB.'],
      ['good', 'tank of pve2 has 100 GiB free; the plan needs 60 GiB.'],
    ]);
    expect(wordsOf({ shared: true, active: false }).map(([verdict]) => verdict)).toEqual(['bad', 'bad']);
  });

  it('only warns about a thin pool', () => {
    const observed = rows({ availableBytes: GIB, type: 'lvmthin' });
    expect(checkStorages(patient({ observed, stack: grown('40GiB') }))).toMatchObject([
      { verdict: 'warning', words: expect.stringContaining('thin-provisioned') },
    ]);
  });

  it('counts only the growth of existing disks', () => {
    const vm = vmOf(401, { scsi0: 'tank:vm-401-disk-0,size=30G' });
    const observed = { ...rows({}), vms: new Map([['vm.web' as Address, { kind: 'present', vm } as const]]) };
    expect(checkStorages(patient({ observed, stack: grown('40GiB') }))[0]?.words).toContain('needs 10 GiB');
    expect(checkStorages(patient({ observed, stack: grown('30GiB') }))[0]?.words).toContain('creates no disks');
  });

  it.each([
    [{ active: false }, 'not active', 'pvesm status'],
    [{ enabled: false }, 'disabled', 'pvesm set tank --disable 0'],
  ])('rejects a storage that is not available (%j)', (part, words, remedy) => {
    expect(checkStorages(patient({ observed: rows(part) }))).toMatchObject([
      { verdict: 'bad', words: expect.stringContaining(words), remedy: expect.stringContaining(remedy) },
    ]);
  });

  it('never accepts a storage that reports no space, is hidden, or cannot be read', () => {
    expect(checkStorages(patient({ observed: rows({ availableBytes: undefined }) }))[0]?.verdict).toBe('warning');
    expect(checkStorages(patient({ observed: rows({ storage: 'other' }) }))).toMatchObject([
      { verdict: 'unknown', words: expect.stringContaining('Datastore.AllocateSpace on /storage/tank') },
    ]);
    const observed = observedWith({ storages: new Map([['pve1', { ok: false, needs: 'Datastore.Audit' }]]) });
    expect(checkStorages(patient({ observed }))).toMatchObject([{ verdict: 'unknown' }]);
  });
});

const URL = 'https://images.example.com/debian-12.qcow2';
const SUM = 'a'.repeat(64);
const ADDRESS = 'image.debian["pve1"]' as Address;

function site(fields: string, part: Partial<ImageSite> = {}): ImageSite {
  const text = `version: 1\nstack: lab\nimages:\n  debian: { content: import, storage: local, nodes: [pve1], ${fields} }\n`;
  const image = resolveStack(loadStack(text, 'stack.yaml')).stack?.images[0];
  if (!image) throw new Error('the stack of the test is wrong');
  const row = storageRow({ storage: 'local', content: new Set(['import']) });
  return { image, node: 'pve1', row, isRead: true, isShared: false, file: { ok: true, value: undefined }, ...part };
}

function say(images: readonly ImageSite[], answer?: DownloadAnswer) {
  const downloads = new Map(answer ? [[ADDRESS, answer]] : []);
  const result = { ok: false, problems: [] } as const;
  const findings = checkImages({ observed: observedWith({ images }), downloads, result });
  return findings.map(({ verdict, words, remedy }) => ({ verdict, words, ...(remedy !== undefined && { remedy }) }));
}

describe('the image check', () => {
  it('accepts an image that its node can download, with its size', () => {
    expect(say([site(`url: "${URL}", sha256: ${SUM}`)], { kind: 'there', sizeBytes: 3 * 1024 ** 2 })).toEqual([
      { verdict: 'good', words: `pve1 reaches ${URL}, 3 MiB.` },
    ]);
  });

  it('reports a failed download with the message of the node and two remedies', () => {
    const [finding] = say([site(`url: "${URL}", sha256: ${SUM}`)], { kind: 'failed', words: '"404 Not Found".' });
    expect(finding).toEqual({
      verdict: 'bad',
      words: `pve1 cannot download ${URL}: "404 Not Found".`,
      remedy: `Correct the url, or download it on this machine: via: upload. To find the cause, on pve1: curl -fIL '${URL}'`,
    });
  });

  it('rejects an image that is larger than the free space', () => {
    const [finding] = say([site(`url: "${URL}", sha256: ${SUM}`)], { kind: 'there', sizeBytes: 900 * 1024 ** 3 });
    expect(finding?.verdict).toBe('bad');
    expect(finding?.words).toBe(`${ADDRESS} is 900 GiB; local on pve1 has 100 GiB free.`);
  });

  it('reports a URL that the token may not query as not checked', () => {
    const [finding] = say([site(`url: "${URL}", sha256: ${SUM}`)], {
      kind: 'hidden',
      needs: 'Sys.AccessNetwork on /nodes/pve1',
    });
    expect(finding).toEqual({
      verdict: 'unknown',
      words: `Whether pve1 reaches ${URL}: not checked, the token needs Sys.AccessNetwork on /nodes/pve1.`,
    });
  });

  it('warns about an image without a checksum, also if it exists', () => {
    const there = site(`url: "${URL}"`, { file: { ok: true, value: { sizeBytes: 1, ctime: 1 } } });
    expect(say([there])).toEqual([
      { verdict: 'good', words: `${ADDRESS} is on local.` },
      {
        verdict: 'warning',
        words: `${ADDRESS} has no checksum, so the downloaded file is not verified.`,
        remedy: 'Set sha256: …. The publisher usually lists it at https://images.example.com/',
      },
    ]);
  });

  it('accepts an upload without asking the node', () => {
    expect(say([site(`url: "${URL}", via: upload, sha256: ${SUM}`), site('path: ./debian-12.qcow2')])).toEqual([
      { verdict: 'good', words: `${ADDRESS} is downloaded to this machine and uploaded: ${URL}` },
      {
        verdict: 'good',
        words: `${ADDRESS} is uploaded from this machine: ./debian-12.qcow2. The plan checks whether the file exists.`,
      },
    ]);
  });

  it('skips an image that the plan reports', () => {
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
