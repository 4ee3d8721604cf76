import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../base/secret.ts';
import { canonicalProperty, formatOfKey } from '../../pve/wire/index.ts';
import { spellingOf } from '../../pve/wire/testing/arbitraries.ts';
import { fieldRows } from '../fields/field-table.ts';
import { appliedValues, type DesiredConfig } from './config/desired.ts';
import { desiredConfig } from './config/desired-config.ts';
import { isDriveKey, parseDrive } from './config/disks.ts';
import { propertyOf } from './config/parts.ts';
import { configureWrites, creationValues, resizesNeeded } from './config/writes.ts';
import { diffVm, verifyVm } from './diff/diff.ts';
import { isSatisfied, mergedText } from './diff/merge.ts';
import { vmFieldsSchema } from './fields/index.ts';
import { printOwnership } from './ownership.ts';
import { vmFieldsArbitrary } from './testing/arbitrary-vm.ts';
import { foreignChanges } from './testing/foreign-changes.ts';
import { afterResize, afterWrite, asksForVolume, observedVm } from './testing/server.ts';
import { withUnknownParts } from './testing/unknown-parts.ts';
import { CLOUD_TEMPLATE, NO_TEMPLATE, RICH_TEMPLATE } from './testing/vm-site.ts';

const RUNS = 150;
const CONTEXT = {
  ownershipLine: printOwnership({ stack: 'k3s', address: 'vm.web', vmid: 101, uuid: '1-2' }),
  secrets: new Map([['cloud_init.password', { value: new Secret('hunter2'), digest: 'scrypt:abc' }]]),
  pciMappings: new Map([['0000:01:00', 'gpu']]),
};

const sites = fc.constantFrom(RICH_TEMPLATE, NO_TEMPLATE, CLOUD_TEMPLATE);
const cases = sites.chain((site) =>
  vmFieldsArbitrary(site).map((fields) => ({ site, fields, desired: desiredConfig(fields, CONTEXT) })),
);

/** Everything the engine would send, to a stopped VM. */
function applied(values: ReadonlyMap<string, string>, desired: DesiredConfig): Map<string, string> {
  let now = new Map(values);
  for (const write of configureWrites(desired.values(), observedVm(now))) now = afterWrite(now, write);
  for (const resize of resizesNeeded(desired.values(), observedVm(now))) now = afterResize(now, resize);
  return now;
}

describe('a VM after its configuration was written', () => {
  it('shows no difference, whatever the template held', () => {
    fc.assert(
      fc.property(cases, ({ site, desired }) => {
        const vm = observedVm(applied(site.values, desired));
        expect(verifyVm(desired, vm)).toEqual([]);
        expect(diffVm(desired, vm, appliedValues(desired))).toEqual({
          differences: [],
          restartPending: [],
          unmanaged: [],
        });
        expect(configureWrites(desired.values(), vm)).toEqual([]);
        expect(resizesNeeded(desired.values(), vm)).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('shows no difference on a new VM that then gets the texts of its SMBIOS table and its certificates', () => {
    fc.assert(
      fc.property(vmFieldsArbitrary(NO_TEMPLATE), (fields) => {
        const desired = desiredConfig(fields, CONTEXT);
        const create = {
          set: creationValues(desired.values()),
          delete: [],
          destroysVolumes: false,
          touchesDrives: true,
        };
        expect(create.set).not.toHaveProperty('smbios1');
        let values = afterWrite(new Map(), create);
        for (const write of configureWrites(desired.values(), observedVm(values))) {
          expect(['smbios1', 'efidisk0']).toEqual(expect.arrayContaining(Object.keys(write.set)));
          values = afterWrite(values, write);
        }
        for (const resize of resizesNeeded(desired.values(), observedVm(values))) values = afterResize(values, resize);
        expect(verifyVm(desired, observedVm(values))).toEqual([]);
      }),
      { numRuns: RUNS },
    );
  });

  it('keeps every key, sub-key, address and volume that the stack does not name', () => {
    fc.assert(
      fc.property(cases, ({ site, desired }) => {
        const now = applied(site.values, desired);
        for (const [key, before] of site.values) {
          const value = desired.get(key)?.desired;
          // The server adds CD drives to the order, and takes removed devices out of it.
          if (key === 'boot') continue;
          if (value === undefined) expect(now.get(key), key).toBe(before);
          if (value?.kind === 'property' || value?.kind === 'disk') expectKept(key, before, now.get(key), value.set);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('keeps sub-keys that no field sets when neighbouring fields change', () => {
    let kept = 0;
    const withUnknown = sites.chain((site) =>
      fc.tuple(withUnknownParts(site.values), vmFieldsArbitrary(site)).map(([found, fields]) => ({
        ...found,
        desired: desiredConfig(fields, CONTEXT),
      })),
    );
    fc.assert(
      fc.property(withUnknown, ({ values, parts, desired }) => {
        const now = applied(values, desired);
        for (const { key, part, value } of parts) {
          // A device that the file removes is gone with all of it.
          if (desired.get(key)?.desired.kind === 'absent') continue;
          expect(propertyOf(key, now.get(key)).get(part), `${key}: ${part}`).toBe(value);
          if (now.get(key) !== values.get(key)) kept++;
        }
      }),
      { numRuns: 50 },
    );
    expect(kept).toBeGreaterThan(100);
  });

  it('never asks for a new volume in a slot that has one, and sends no size', () => {
    fc.assert(
      fc.property(cases, ({ site, desired }) => {
        for (const write of configureWrites(desired.values(), observedVm(site.values))) {
          for (const [key, text] of Object.entries(write.set)) {
            if (!isDriveKey(key) || text instanceof Secret) continue;
            if (site.values.has(key)) expect(asksForVolume(key, text), `${key}=${text}`).toBe(false);
            expect(parseDrive(key, text).value.get('size')).toBeUndefined();
          }
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('never has a CD drive and the boot order in one write', () => {
    fc.assert(
      fc.property(cases, ({ site, desired }) => {
        const boot = site.values.get('boot');
        for (const write of configureWrites(desired.values(), observedVm(site.values))) {
          if (!('boot' in write.set) || boot === undefined) continue;
          const drives = Object.entries(write.set).filter(([key]) => isDriveKey(key) && !boot.includes(key));
          const kinds = drives.map(([key, text]) => parseDrive(key, String(text)).kind);
          expect(kinds).not.toContain('cdrom');
        }
      }),
      { numRuns: RUNS },
    );
  });
});

function expectKept(key: string, before: string, after: string | undefined, set: Readonly<Record<string, unknown>>) {
  const [old, now] = [propertyOf(key, before), propertyOf(key, after)];
  for (const [part, text] of old.entries) {
    if (part in set || part === 'size') continue;
    expect(now.get(part), `${key}.${part}`).toBe(text);
  }
}

describe('a property string', () => {
  it('satisfies a desired value in any spelling that Proxmox returns', () => {
    fc.assert(
      fc.property(
        cases.chain(({ site, desired }) => {
          const now = applied(site.values, desired);
          const spelled = [...desired.values()].flatMap(({ key, desired: value }) => {
            const text = now.get(key);
            const format = formatOfKey(key);
            if (value.kind !== 'property' || text === undefined || format === undefined) return [];
            return [
              fc.record({
                key: fc.constant(key),
                value: fc.constant(value),
                text: spellingOf(format, propertyOf(key, text)),
              }),
            ];
          });
          return fc.tuple(...spelled);
        }),
        (all) => {
          for (const { key, value, text } of all) expect(isSatisfied(key, value, text), `${key}=${text}`).toBe(true);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('stays the same when merged a second time', () => {
    fc.assert(
      fc.property(cases, ({ site, desired }) => {
        for (const { key, desired: value } of desired.values()) {
          const format = formatOfKey(key);
          if (value.kind !== 'property' || format === undefined) continue;
          const once = mergedText(key, value, site.values.get(key)) ?? '';
          const twice = mergedText(key, value, once) ?? '';
          expect(canonicalProperty(format, propertyOf(key, twice))).toBe(
            canonicalProperty(format, propertyOf(key, once)),
          );
        }
      }),
      { numRuns: RUNS },
    );
  });
});

describe('the field table', () => {
  /** Paths with slots replaced by `*`, as the table names them. */
  const rowPath = (path: string) =>
    path.replace(/^(disks|nics|pci|usb|virtiofs|numa_nodes)\.[a-z]+\d+/, '$1.*').replace(/^(serial|extra)\..*/, '$1');
  const rows = fieldRows(vmFieldsSchema).filter(({ path, facts }) => facts.wire !== undefined || path === 'extra');

  it('is reached in full: the generator draws every row and each becomes a desired value', () => {
    const missing = new Set(rows.map(({ path }) => path));
    for (const site of [RICH_TEMPLATE, NO_TEMPLATE]) {
      for (const fields of fc.sample(vmFieldsArbitrary(site), { numRuns: 400, seed: 7 })) {
        for (const path of Object.keys(appliedValues(desiredConfig(fields, CONTEXT)))) missing.delete(rowPath(path));
      }
    }
    expect([...missing]).toEqual([]);
  });

  it('has no desired value without a row', () => {
    const all = new Set(fieldRows(vmFieldsSchema).map(({ path }) => path));
    for (const fields of fc.sample(vmFieldsArbitrary(RICH_TEMPLATE), { numRuns: 200, seed: 8 })) {
      for (const path of Object.keys(appliedValues(desiredConfig(fields, CONTEXT))))
        expect(all).toContain(rowPath(path));
    }
  });

  it('notices a change of each field from outside, and names exactly that field', () => {
    const missing = new Set(rows.map(({ path }) => path));
    // Proxmox does not show where a volume was copied from, and a cloud-init drive may be in any slot.
    for (const owner of ['disks.*', 'efi', 'tpm']) missing.delete(`${owner}.import_from`);
    for (const fields of fc.sample(vmFieldsArbitrary(RICH_TEMPLATE), { numRuns: 25, seed: 9 })) {
      const desired = desiredConfig(fields, CONTEXT);
      const [values, recorded] = [applied(RICH_TEMPLATE.values, desired), appliedValues(desired)];
      for (const { path, values: changed } of foreignChanges(desired, values)) {
        missing.delete(rowPath(path));
        const { differences } = diffVm(desired, observedVm(changed), recorded);
        expect(differences.map((difference) => [difference.path, difference.by])).toEqual([[path, 'others']]);
      }
    }
    expect([...missing]).toEqual([]);
  });
});
