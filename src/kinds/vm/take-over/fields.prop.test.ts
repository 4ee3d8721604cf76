import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { loadStack, resolveStack } from '../../../spec/index.ts';
import type { DesiredConfig, DesiredEntry, DesiredField } from '../config/desired.ts';
import { desiredConfig } from '../config/desired-config.ts';
import { propertyOf } from '../config/parts.ts';
import { configureWrites, resizesNeeded } from '../config/writes.ts';
import { diffVm } from '../diff/diff.ts';
import type { VmObserved } from '../observed.ts';
import { vmFieldsArbitrary } from '../testing/arbitrary-vm.ts';
import { afterResize, afterWrite, observedVm } from '../testing/server.ts';
import { withUnknownParts } from '../testing/unknown-parts.ts';
import { CLOUD_TEMPLATE, NO_TEMPLATE, RICH_TEMPLATE } from '../testing/vm-site.ts';
import { fieldsOfVm } from './fields.ts';

const cases = fc
  .constantFrom(RICH_TEMPLATE, NO_TEMPLATE, CLOUD_TEMPLATE)
  .chain((site) => vmFieldsArbitrary(site).map((fields) => ({ site, desired: desiredConfig(fields, {}) })));

function madeFrom(values: ReadonlyMap<string, string>, desired: DesiredConfig) {
  let now = new Map(values);
  for (const write of configureWrites(desired.values(), observedVm(now))) now = afterWrite(now, write);
  for (const resize of resizesNeeded(desired.values(), observedVm(now))) now = afterResize(now, resize);
  return observedVm(now);
}

describe('the stack lines of an imported VM', () => {
  it('match the VM, and contain everything that the stack had set', () => {
    fc.assert(
      fc.property(cases, ({ site, desired }) => {
        const vm = madeFrom(site.values, desired);
        const { fields, leftOut } = fieldsOfVm(vm);
        // A rule refuses what is left out; everything else can be expressed exactly.
        expect(leftOut.filter((text) => /as the VM has it/.test(text))).toEqual([]);
        const isLeftOut = (path: string) => leftOut.some((text) => path.startsWith(text.slice(0, text.indexOf(':'))));
        const found = desiredConfig(fields, {});
        const { differences } = diffVm(found, vm, undefined);
        expect(differences.filter(({ path }) => path !== 'name' && path !== 'ownership')).toEqual([]);
        const paths = new Set([...found.values()].flatMap((entry) => entry.fields.map(({ path }) => path)));
        const silent = [...desired.values()].flatMap((entry) =>
          entry.fields
            .filter((field) => !paths.has(field.path) && !isLeftOut(field.path) && stands(vm, entry, field))
            .map(({ path }) => path),
        );
        expect(silent).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a sub-key that no field sets', () => {
  it('is named, with its value', () => {
    const found = fc.constantFrom(RICH_TEMPLATE, CLOUD_TEMPLATE).chain(({ values }) => withUnknownParts(values));
    fc.assert(
      fc.property(found, ({ values, parts }) => {
        const { leftOut } = fieldsOfVm(observedVm(values));
        for (const { key, part, value } of parts) {
          expect(leftOut).toContain(`${key}: ${part}=${value} (no field sets it; it stays as it is)`);
        }
      }),
      { numRuns: 30 },
    );
  });
});

it('escapes text in the notes that looks like a reference', () => {
  const notes = `costs $${'{x}'}`;
  const vm = observedVm(new Map([...NO_TEMPLATE.values, ['name', 'web'], ['description', notes]]));
  const { written } = fieldsOfVm(vm);
  const text = stringify({ version: 1, stack: 'lab', vms: { web: written } });
  expect(resolveStack(loadStack(text, 'stack.yaml')).stack?.vms[0]?.fields.description).toBe(notes);
});

describe('the stack lines of an imported VM, pasted into a new file', () => {
  it('are valid without changes', () => {
    fc.assert(
      fc.property(cases, fc.boolean(), ({ site, desired }, running) => {
        const { written } = fieldsOfVm({ ...madeFrom(site.values, desired), running });
        const text = stringify({ version: 1, stack: 'lab', vms: { web: written } });
        const { diagnostics } = resolveStack(loadStack(text, 'stack.yaml'));
        expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

/** Server defaults may be absent, and the source of an imported disk cannot be read. */
function stands(
  { current }: VmObserved,
  { key, desired }: DesiredEntry,
  { path, parts, value }: DesiredField,
): boolean {
  const text = current.get(key);
  if (text === undefined || path === 'ownership' || (Array.isArray(value) && value.length === 0)) return false;
  const [part] = parts;
  return desired.kind === 'notes' || part === undefined || propertyOf(key, text).get(part) !== undefined;
}

describe('a USB device of the host', () => {
  it('is named as Proxmox has it, because only a mapping can be in the file', () => {
    const values = new Map([...CLOUD_TEMPLATE.values, ['usb0', 'host=10c4:ea60,usb3=1'], ['usb1', 'host=spice']]);
    const { leftOut, written } = fieldsOfVm(observedVm(values));
    expect(leftOut).toContainEqual(
      expect.stringMatching(/^usb0: host=10c4:ea60,usb3=1 \(a USB device or port of the host/),
    );
    expect(written.usb).toEqual({ usb1: { spice: true } });
  });
});
