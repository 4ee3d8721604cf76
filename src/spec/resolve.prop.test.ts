import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { printByteSize } from '../base/values/units.ts';
import type { ResolvedStack } from '../kinds/stack.ts';
import type { ResolvedTemplate } from '../kinds/template/stack.ts';
import { EXAMPLE } from './testing/example.ts';
import { resolveText, stackOf } from './testing/resolving.ts';

const RICH = `${EXAMPLE.replace(
  'templates:\n',
  `  cd: { path: ./metal.iso.xz, content: iso, storage: local, nodes: [pve9], sha256: ${'ab'.repeat(32)} }
templates:
  copied: { node: vmhost, from: { vm: golden }, disks: { scsi0: { size: 20GiB } } }
  installed:
    nodes: [vmhost, other]
    vmids: 9001-9004
    install: { timeout: 90m }
    boot: [ide0, scsi0]
    disks: { scsi0: { storage: tank, size: 8GiB }, ide0: { image: cd } }
`,
).replace(
  '  nics: { net0: { bridge: vmbr0, vlan: 20 } }',
  '  nics: { net0: { bridge: vmbr0, vlan: 20 }, net1: { remove: true } }',
)}`.replace(
  'vms:\n',
  `vms:
  iso:
    name: iso
    clone: null
    formerly: [old]
    bios: ovmf
    efi: { storage: tank, type: 4m, secure_boot: true }
    memory: 2GiB
    balloon: 512MiB
    tags: [a, b]
    disks: { scsi0: { storage: tank, size: 10GiB, limits: { read_mbps: 5 } }, ide0: { iso: "local:iso/a.iso" } }
    nics: { net0: { mac: "BC:24:11:00:00:01", ipv4: dhcp, ipv6: { address: "fd00::9/64", gateway: "fe80::1" } } }
    cloud_init: { storage: tank, user: me, password: { env: PW }, dns: { servers: [9.9.9.9] } }
    startup: { order: 1, up: 30s }
    ready: { tcp: [22], settle: 5s }
    extra: { reboot: 0 }
    overrides: { 1: { cpu: { cores: 2 } } }
`,
);

/** Pieces of typical mistakes. */
const SHRAPNEL = fc.constantFrom(
  ...[
    '',
    ' ',
    '\n',
    '  ',
    ':',
    ': ',
    '-',
    '- ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '#',
    '&a',
    '*a',
    '!x ',
    '|',
    '>',
    '%',
    '@',
    '\t',
    '~',
    'null',
    '0',
  ],
  ...[
    '-1',
    '1e9',
    '.nan',
    '.inf',
    'true',
    `\${`,
    '}',
    `\${var.worker_count}`,
    `\${each}`,
    `\${number}`,
    `$\${`,
    'x',
    '10.0.20.11',
    '__proto__',
    'constructor',
  ],
  ...[
    'toString',
    '? ',
    '<<: ',
    '\u0000',
    '\uFEFF',
    '\u{1F600}',
    '9'.repeat(30),
    '{}',
    '[]',
    'remove: true',
    'vms',
    '101-109',
    '\r\n',
    '---\n',
    '...\n',
  ],
);

const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 })),
  insert: fc.oneof(SHRAPNEL, fc.string({ maxLength: 5, unit: 'binary' }), fc.constant(undefined)),
});

/** Cuts, insertions, and copies of other parts of the text. */
function mangled(text: string, edits: readonly { at: number; length: number; insert: string | undefined }[]): string {
  return edits.reduce((result, { at, length, insert }) => {
    const start = Math.floor(at * result.length);
    const elsewhere = result.slice(Math.floor((at * result.length) / 2), Math.floor((at * result.length) / 2) + length);
    return result.slice(0, start) + (insert ?? elsewhere) + result.slice(start + length);
  }, text);
}

describe('a mangled file', () => {
  it('never throws, and reports every problem with a position inside its file', () => {
    let broken = 0;
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 4 }), fc.constantFrom(EXAMPLE, RICH), (edits, original) => {
        const text = mangled(original, edits);
        const { stack, diagnostics } = resolveText(text);
        const lines = text.split(/\r\n|\n/).length;
        for (const { where, detail, severity } of diagnostics) {
          expect(where?.file).toBe('stack.yaml');
          expect(where?.line).toBeGreaterThanOrEqual(1);
          expect(where?.line).toBeLessThanOrEqual(lines + 1);
          expect(where?.column).toBeGreaterThanOrEqual(1);
          expect(detail).toMatch(/\S/);
          expect(['error', 'warning']).toContain(severity);
        }
        expect(stack === undefined).toBe(diagnostics.some(({ severity }) => severity === 'error'));
        if (!stack) broken++;
      }),
      { numRuns: 400 },
    );
    // Otherwise the edits would be too mild to prove anything.
    expect(broken).toBeGreaterThan(100);
  });

  it('of variables does not throw either', () => {
    const values =
      'worker_count: 2\ngpu_devices: ["0000:01:00"]\nvm_configs: { k3s-dev-worker-1: { memory: 1GiB, nics: { net0: { vlan: 3 } } } }\n';
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 3 }), fc.string(), (edits, text) => {
        const files = [{ name: 'vars.yaml', text: mangled(values, edits) }];
        const settings = [`vm_configs=${mangled('{a: {memory: 1GiB}}', edits)}`, text];
        for (const { where } of [
          ...resolveText(EXAMPLE, { files }).diagnostics,
          ...resolveText(EXAMPLE, { settings, environment: { PROXWRIGHT_VAR_worker_count: text } }).diagnostics,
        ]) {
          expect(['stack.yaml', 'vars.yaml']).toContain(where?.file);
          expect(where?.line).toBeGreaterThanOrEqual(1);
        }
      }),
      { numRuns: 150 },
    );
  });
});

/** The resolved stack written out again, with every VM as a single group and nothing left to resolve. */
function written(stack: ResolvedStack): string {
  const size = (value: unknown) => (typeof value === 'number' ? printByteSize(value) : value);
  const time = (value: unknown) => (typeof value === 'number' ? `${value}ms` : value);
  const units: Readonly<Record<string, (value: unknown) => unknown>> = {
    memory: size,
    balloon: size,
    size,
    up: time,
    down: time,
    settle: time,
    timeout: time,
  };
  const text = JSON.stringify(
    {
      version: 1,
      stack: stack.name,
      images: Object.fromEntries(stack.images.map(({ name, fields, nodes }) => [name, { ...fields, nodes }])),
      templates: Object.fromEntries(
        stack.templates.map((template) => [template.name, writtenTemplate(template, stack)]),
      ),
      vms: Object.fromEntries(
        stack.vms.map(({ fields, vmids }, index) => [
          `vm${index}`,
          { ...fields, ...(vmids && { vmids: `${vmids[0]}-${vmids.at(-1)}` }) },
        ]),
      ),
    },
    (key, value: unknown) => {
      const print = units[key];
      return print ? print(value) : typeof value === 'string' ? value.replaceAll(`\${`, () => `$\${`) : value;
    },
  );
  return stringify(JSON.parse(text));
}

function writtenTemplate({ name, vm, from, install }: ResolvedTemplate, { templates }: ResolvedStack): object {
  const { name: _name, node: _node, power: _power, restart: _restart, ownership: _ownership, ...fields } = vm.fields;
  const nodes = templates.filter((each) => each.name === name).map((each) => each.vm.fields.node);
  return {
    ...fields,
    ...(vm.address.endsWith(']') ? { nodes } : { node: vm.fields.node }),
    ...(vm.vmids && { vmids: vm.vmids }),
    ...(from !== undefined && { from: { vm: from } }),
    ...(install && { install: { timeout: install.timeoutMs } }),
  };
}

describe('resolving', () => {
  const inputs = fc.record({
    workers: fc.integer({ min: 0, max: 12 }),
    gpus: fc.uniqueArray(fc.integer({ min: 0, max: 31 }), { maxLength: 4 }),
    memoryGiB: fc.integer({ min: 1, max: 64 }),
    description: fc.string({ maxLength: 12 }).filter((text) => text.trim() !== ''),
  });

  it('what is resolved changes nothing', () => {
    fc.assert(
      fc.property(inputs, ({ workers, gpus, memoryGiB, description }) => {
        const devices = gpus.map((slot) => `0000:01:${slot.toString(16).padStart(2, '0')}`);
        const configs = { 'k3s-dev-worker-1': { memory: `${memoryGiB}GiB`, description } };
        const settings = [
          `worker_count=${workers}`,
          `gpu_devices=${JSON.stringify(devices)}`,
          `vm_configs=${JSON.stringify(configs)}`,
        ];
        const once = stackOf(RICH, { settings });
        const twice = stackOf(written(once));
        expect(twice.vms.map(({ fields }) => fields)).toEqual(once.vms.map(({ fields }) => fields));
        expect(twice.vms.map(({ vmids }) => vmids)).toEqual(once.vms.map(({ vmids }) => vmids));
        const templates = (stack: ResolvedStack) =>
          stack.templates.map(({ vm: { positions: _, ...vm }, ...rest }) => ({ ...rest, vm }));
        expect(templates(twice)).toEqual(templates(once));
        expect(twice.images.map(({ file, nodes }) => [file, nodes])).toEqual(
          once.images.map(({ file, nodes }) => [file, nodes]),
        );
        expect(written(twice)).toBe(written(once));
        expect(stackOf(RICH, { settings })).toEqual(once);
      }),
      { numRuns: 30 },
    );
  });
});
