import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { LOCAL, NODE, resolvedStack, siteOf } from '../../engine/testing/cluster.ts';
import { emptyState } from '../recorded.ts';
import type { ImageSite } from './observed.ts';
import { planImages } from './plan.ts';
import type { FileRecord } from './record.ts';

const SHA256 = 'ab'.repeat(32);
const SHA512 = 'cd'.repeat(64);
const URL = 'https://images.example/noble.qcow2';
const VOLID = 'local:import/noble.qcow2';
const THERE = { ok: true, value: { sizeBytes: 10, ctime: 7 } } as const;

const stackOf = (image: string) =>
  resolvedStack(`
version: 1
stack: lab
images:
  noble: { ${image}, nodes: [${NODE}] }
`);
const fetched = (more = '') => stackOf(`url: "${URL}", content: import, storage: local${more}`);

interface Case {
  readonly stack?: ReturnType<typeof stackOf>;
  readonly site?: Partial<ImageSite>;
  readonly recorded?: Partial<FileRecord>;
  readonly replace?: readonly string[];
  readonly version?: string;
}

function planned({ stack = fetched(), site, recorded, replace, version = '9.2.11' }: Case) {
  const file: FileRecord = { address: 'image.noble', node: NODE, volid: VOLID, url: URL, sizeBytes: 10, ctime: 7 };
  const files = recorded ? { [`${NODE}/${VOLID}`]: { ...file, ...recorded } } : {};
  const state = { ...emptyState('lab'), files };
  return planImages({ sites: [siteOf(stack, site)], state, replace, version: { version } });
}

const kindOf = (given: Case) => planned(given).plans.map(({ change }) => change.kind)[0];
const actionsOf = (given: Case) => planned(given).plans.flatMap(({ steps }) => steps.map(({ action }) => action));
const codesOf = (found: readonly Diagnostic[]) => found.map(({ code }) => code);

describe('an image that does not exist yet', () => {
  it('is downloaded by Proxmox, with its checksums in lower case', () => {
    const { plans } = planned({ stack: fetched(`, sha256: ${SHA256.toUpperCase()}, sha512: ${SHA512}`) });
    expect(plans[0]?.change).toMatchObject({ kind: 'create', address: `image.noble["${NODE}"]`, name: VOLID });
    expect(plans[0]?.steps).toMatchObject([
      { action: 'image.fetch', input: { node: NODE, file: 'noble.qcow2', url: URL, sha256: SHA256, sha512: SHA512 } },
    ]);
  });

  it('has an address without a node on shared storage', () => {
    expect(planned({ site: { isShared: true } }).plans[0]?.change.address).toBe('image.noble');
  });

  it('is uploaded if it is a local file, or if Proxmox cannot reach it', () => {
    expect(actionsOf({ stack: stackOf('path: ./noble.qcow2, content: import, storage: local') })).toEqual([
      'image.send',
    ]);
    const far = planned({ stack: stackOf(`url: "${URL}.xz", content: import, storage: local, via: upload`) });
    expect(far.plans[0]?.steps[0]?.input).toMatchObject({
      origin: { kind: 'download', url: `${URL}.xz`, compression: 'xz' },
    });
  });

  it('is unpacked by the server if it can', () => {
    const stack = stackOf('url: "https://images.example/live.iso.gz", content: iso, storage: local');
    expect(planned({ stack }).plans[0]?.steps[0]).toMatchObject({
      action: 'image.fetch',
      input: { compression: 'gz' },
    });
  });
});

describe('an image that exists', () => {
  it('and matches its record is left alone', () => {
    expect(kindOf({ site: { file: THERE }, recorded: {} })).toBe('none');
    expect(actionsOf({ site: { file: THERE }, recorded: {} })).toEqual([]);
  });

  it('on shared storage is known whichever node transferred it', () => {
    const site = { file: THERE, node: 'pve2', isShared: true };
    expect(planned({ site, recorded: {} })).toMatchObject({ warnings: [], plans: [{ change: { kind: 'none' } }] });
    expect(planned({ site: { ...site, isShared: false }, recorded: {} }).warnings).toHaveLength(1);
  });

  it('and is not recorded is compared if a checksum is given', () => {
    const given = { stack: fetched(`, sha256: ${SHA256}`), site: { file: THERE } };
    expect(kindOf(given)).toBe('update');
    expect(actionsOf(given)).toEqual(['image.fetch']);
  });

  it('and is not recorded is used with a warning if no checksum identifies it', () => {
    const plain = planned({ site: { file: THERE } });
    expect(codesOf(plain.warnings)).toEqual(['NOT_CHECKED']);
    expect(plain.warnings[0]?.detail).toContain('no checksum is declared');
    expect(plain.plans[0]?.change.kind).toBe('none');
    const packed = stackOf(
      `url: "https://images.example/live.iso.gz", content: iso, storage: local, sha256: ${SHA256}`,
    );
    expect(planned({ stack: packed, site: { file: THERE } }).warnings[0]?.detail).toContain('of the packed file');
  });

  it('whose transfer was interrupted is checked again', () => {
    const given = { site: { file: THERE }, recorded: { incomplete: true as const, sizeBytes: 0 } };
    expect(kindOf(given)).toBe('update');
    expect(planned(given).problems).toEqual([]);
  });

  it.each([
    ['its size', { sizeBytes: 11, ctime: 7 }, {}],
    ['its time', { sizeBytes: 10, ctime: 8 }, {}],
  ])('and differs in %s is refused, with the remedy', (_, value, recorded) => {
    const { problems, plans } = planned({ site: { file: { ok: true, value } }, recorded });
    expect(codesOf(problems)).toEqual(['CONFIG_CHANGED']);
    expect(problems[0]?.hint?.text).toContain('--replace image.noble');
    expect(plans).toEqual([]);
  });

  it('is judged by its size if the storage reports no time', () => {
    const file = { ok: true, value: { sizeBytes: 10, ctime: undefined } } as const;
    expect(kindOf({ site: { file }, recorded: {} })).toBe('none');
  });

  it('is refused if it came from another URL, unless its checksum matches', () => {
    const elsewhere = { url: 'https://mirror.example/noble.qcow2' };
    expect(codesOf(planned({ site: { file: THERE }, recorded: elsewhere }).problems)).toEqual(['CONFIG_CHANGED']);
    const stack = fetched(`, sha256: ${SHA256}`);
    expect(kindOf({ stack, site: { file: THERE }, recorded: { ...elsewhere, sha256: SHA256 } })).toBe('none');
  });

  it('is refused if another checksum is declared than it has, and compared if its own is unknown', () => {
    const stack = fetched(`, sha256: ${SHA256}`);
    const other = { sha256: 'ef'.repeat(32) };
    expect(codesOf(planned({ stack, site: { file: THERE }, recorded: other }).problems)).toEqual(['CONFIG_CHANGED']);
    expect(kindOf({ stack, site: { file: THERE }, recorded: {} })).toBe('update');
    expect(kindOf({ stack, site: { file: THERE }, recorded: { sha256: SHA256.toUpperCase() } })).toBe('none');
  });

  it.each([
    ['a file', 'path: ./noble.qcow2', 'sha256', SHA256],
    ['a packed file', `url: "${URL}.xz", file: noble.qcow2, via: upload`, 'declared', SHA512],
  ])('that was uploaded as %s is refused if another checksum is declared now', (_, origin, name, sum) => {
    const algorithm = sum === SHA256 ? 'sha256' : 'sha512';
    const stack = stackOf(`${origin}, content: import, storage: local, ${algorithm}: ${sum}`);
    const [url] = stack.images.map(({ fields }) => fields.url);
    const judge = (recorded: string) => planned({ stack, site: { file: THERE }, recorded: { url, [name]: recorded } });
    expect(codesOf(judge('ef'.repeat(sum.length / 2)).problems)).toEqual(['CONFIG_CHANGED']);
    expect(judge(sum)).toMatchObject({ problems: [], plans: [{ change: { kind: 'none' } }] });
  });

  it('stays the same if its checksum left the file', () => {
    expect(kindOf({ site: { file: THERE }, recorded: { sha256: SHA256 } })).toBe('none');
  });

  it.each(['image.noble', `image.noble["${NODE}"]`])('is replaced if %s is to be, whatever it contains', (selector) => {
    const given = { site: { file: THERE }, recorded: { sizeBytes: 99 }, replace: [selector] };
    expect(kindOf(given)).toBe('replace');
    expect(planned(given).plans[0]?.steps[0]?.input).toMatchObject({ replace: true });
    expect(planned(given).problems).toEqual([]);
  });
});

describe('an image to import from', () => {
  it('is refused on a release without such content', () => {
    const { problems } = planned({ version: '8.2.2' });
    expect(codesOf(problems)).toHaveLength(1);
    expect(planned({ version: '8.4.1' }).problems).toEqual([]);
    const iso = stackOf('url: "https://images.example/live.iso", content: iso, storage: local');
    expect(planned({ version: '8.2.2', stack: iso }).problems).toEqual([]);
  });
});

describe('a place for an image', () => {
  it.each([
    ['there is no such storage', { row: undefined }, 'MISSING_REFERENCE', 'has no storage "local"'],
    ['storages cannot be read', { row: undefined, isRead: false }, 'MISSING_REFERENCE', 'cannot be read'],
    ['it is disabled', { row: { ...LOCAL, enabled: false } }, 'BAD_VALUE', 'is disabled'],
    ['it is not active', { row: { ...LOCAL, active: false } }, 'BAD_VALUE', 'is not active'],
    [
      'it does not hold such content',
      { row: { ...LOCAL, content: new Set(['iso']) } },
      'BAD_VALUE',
      'images to import',
    ],
    ['its list is hidden', { file: { ok: false, needs: 'X' } }, 'PRIVILEGE_MISSING', 'the token needs X'],
  ] as const)('is refused if %s', (_, site, code, words) => {
    const { problems, plans } = planned({ site });
    expect(codesOf(problems)).toEqual([code]);
    expect(problems[0]?.detail).toContain(words);
    expect(problems[0]?.where).toMatchObject({ file: 'stack.yaml', field: 'storage' });
    expect(plans).toEqual([]);
  });

  it('that does not accept such content is reported with the command that allows it', () => {
    const { problems } = planned({ site: { row: { ...LOCAL, content: new Set(['iso']) } } });
    expect(problems[0]?.hint?.text).toContain('pvesm set local --content iso,import');
  });
});
