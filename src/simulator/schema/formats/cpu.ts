/**
 * Formats of processors: the `cpu` key, confidential computing, sets of host CPUs.
 * [source QS QemuServer/CPUConfig.pm, QemuServer/CPUFlags.pm; PC CpuSet.pm]
 */
import { splitLikePerl } from '../perl-text.ts';
import type { PropertyValues } from '../property-grammar.ts';
import type { PropertyFormat, ValidationContext } from '../types.ts';
import { matching, type RegisteredFormat, type Verifier } from './format.ts';

/** Rule [observed 9.2.11]: the models of QEMU 10 for x86-64, by vendor, as GET /nodes/{node}/capabilities/qemu/cpu lists them. */
const X86_MODELS: Readonly<Record<string, readonly string[]>> = {
  GenuineIntel: (
    '486 Broadwell Broadwell-IBRS Broadwell-noTSX Broadwell-noTSX-IBRS Cascadelake-Server ' +
    'Cascadelake-Server-noTSX Cascadelake-Server-v2 Cascadelake-Server-v4 Cascadelake-Server-v5 ' +
    'ClearwaterForest ClearwaterForest-v2 ClearwaterForest-v3 Conroe Cooperlake Cooperlake-v2 core2duo ' +
    'coreduo DiamondRapids GraniteRapids GraniteRapids-v2 GraniteRapids-v3 GraniteRapids-v4 ' +
    'GraniteRapids-v5 Haswell Haswell-IBRS Haswell-noTSX Haswell-noTSX-IBRS Icelake-Client ' +
    'Icelake-Client-noTSX Icelake-Server Icelake-Server-noTSX Icelake-Server-v3 Icelake-Server-v4 ' +
    'Icelake-Server-v5 Icelake-Server-v6 Icelake-Server-v7 IvyBridge IvyBridge-IBRS KnightsMill Nehalem ' +
    'Nehalem-IBRS Penryn pentium pentium2 pentium3 SandyBridge SandyBridge-IBRS SapphireRapids ' +
    'SapphireRapids-v2 SapphireRapids-v3 SapphireRapids-v4 SapphireRapids-v5 SapphireRapids-v6 ' +
    'SierraForest SierraForest-v2 SierraForest-v3 SierraForest-v4 SierraForest-v5 Skylake-Client ' +
    'Skylake-Client-IBRS Skylake-Client-noTSX-IBRS Skylake-Client-v4 Skylake-Server Skylake-Server-IBRS ' +
    'Skylake-Server-noTSX-IBRS Skylake-Server-v4 Skylake-Server-v5 Westmere Westmere-IBRS'
  ).split(' '),
  AuthenticAMD: (
    'athlon EPYC EPYC-Genoa EPYC-Genoa-v2 EPYC-IBPB EPYC-Milan EPYC-Milan-v2 EPYC-Milan-v3 EPYC-Rome ' +
    'EPYC-Rome-v2 EPYC-Rome-v3 EPYC-Rome-v4 EPYC-Rome-v5 EPYC-Turin EPYC-v3 EPYC-v4 EPYC-v5 Opteron_G1 ' +
    'Opteron_G2 Opteron_G3 Opteron_G4 Opteron_G5 phenom'
  ).split(' '),
  default: 'host kvm32 kvm64 max qemu32 qemu64'.split(' '),
};

/** Rule [source QS QemuServer/CPUConfig.pm]: those for 64-bit ARM. */
const ARM_MODELS: Readonly<Record<string, readonly string[]>> = {
  ARM: 'a64fx cortex-a35 cortex-a53 cortex-a55 cortex-a57 cortex-a710 cortex-a72 cortex-a76 neoverse-n1 neoverse-n2 neoverse-v1'.split(
    ' ',
  ),
  default: ['host', 'max'],
};

/** Models that Proxmox defines on top of QEMU's. */
const ABSTRACT_MODELS: readonly string[] = ['x86-64-v2', 'x86-64-v2-AES', 'x86-64-v3', 'x86-64-v4'];

const QEMU_MODELS: readonly string[] = [
  ...new Set([...Object.values(X86_MODELS), ...Object.values(ARM_MODELS)].flat()),
].sort((a, b) => a.localeCompare(b, 'en'));

const BUILT_IN_MODELS: ReadonlySet<string> = new Set([...QEMU_MODELS, ...ABSTRACT_MODELS]);

export interface BuiltInModel {
  readonly name: string;
  readonly vendor: string;
  readonly custom: 0;
  /** Only of models that Proxmox defines on top of QEMU's. */
  readonly abstract?: 1;
}

export function builtInModels(arch: 'x86_64' | 'aarch64'): BuiltInModel[] {
  const models = Object.entries(arch === 'aarch64' ? ARM_MODELS : X86_MODELS).flatMap(([vendor, names]) =>
    names.map((name) => ({ name, vendor, custom: 0 as const })),
  );
  if (arch === 'aarch64') return models;
  return [
    ...models,
    ...ABSTRACT_MODELS.map((name) => ({ name, vendor: 'default', custom: 0 as const, abstract: 1 as const })),
  ];
}

/** The flags a VM may set itself; custom models may set any. */
const VM_FLAGS: readonly string[] = [
  'aes',
  'amd-no-ssb',
  'amd-ssbd',
  'hv-evmcs',
  'hv-tlbflush',
  'ibpb',
  'md-clear',
  'nested-virt',
  'pcid',
  'pdpe1gb',
  'spec-ctrl',
  'ssbd',
  'virt-ssbd',
];

const ANY_FLAG = '([+-])([a-zA-Z0-9\\-_\\.]+)';
const VM_FLAG = `[+-](?:${VM_FLAGS.join('|')})`;
const VM_FLAG_LIST = new RegExp(`^${VM_FLAG}(?:;${VM_FLAG})*\\n?$`);

const cpuFormat: PropertyFormat = {
  cputype: { type: 'string', default: 'kvm64', default_key: true, optional: true },
  flags: { type: 'string', pattern: `(?^:(?^:${ANY_FLAG})(;(?^:${ANY_FLAG}))*)`, optional: true },
  'guest-phys-bits': { type: 'integer', minimum: 32, maximum: 64, optional: true },
  hidden: { type: 'boolean', optional: true, default: 0 },
  'hv-vendor-id': { type: 'string', pattern: '(?^:[a-zA-Z0-9]{1,12})', optional: true },
  level: { type: 'integer', minimum: 0, maximum: 4294967295, optional: true },
  'phys-bits': { type: 'string', format: 'pve-phys-bits', optional: true },
  'reported-model': { type: 'string', enum: QEMU_MODELS, default: 'kvm64', optional: true },
};

function validateVmCpu(cpu: PropertyValues, context: ValidationContext): string | undefined {
  const cputype = cpu.get('cputype');
  if (cputype === undefined || cputype === '' || cputype === '0') return 'CPU is missing cputype\n';
  if (cputype.startsWith('custom-')) {
    const name = cputype.slice('custom-'.length);
    if (!context.customCpuModels?.has(name)) return `Custom cputype '${name}' not found\n`;
  } else if (!BUILT_IN_MODELS.has(cputype)) {
    return `Built-in cputype '${cputype}' is not defined (missing 'custom-' prefix?)\n`;
  }
  const flags = cpu.get('flags');
  if (flags !== undefined && !VM_FLAG_LIST.test(flags)) {
    return `VM-specific CPU flags must be a subset of: ${VM_FLAGS.join(', ')}\n`;
  }
  return cpu.has('reported-model') ? "Property 'reported-model' not allowed in VM-specific CPU config.\n" : undefined;
}

const verifyPhysicalBits = matching(
  /^(?:host|0?[89]|[1-5][0-9]|6[0-4])$/,
  "value must be an integer between 8 and 64 or 'host'",
);

const verifyCpuSet: Verifier = (text) => {
  const readable = splitLikePerl(text, ',').every((part) => {
    const match = /^\s*(\d+)(?:-(\d+))?\s*$/.exec(part);
    return match !== null && Number(match[2] ?? match[1]) >= Number(match[1]);
  });
  return readable ? undefined : 'unable to parse cpuset option\n';
};

export const cpuFormats: Readonly<Record<string, Verifier>> = {
  'pve-phys-bits': verifyPhysicalBits,
  'pve-cpuset': verifyCpuSet,
};

export const cpuProperties: Readonly<Record<string, RegisteredFormat>> = {
  'pve-vm-cpu-conf': { kind: 'property', properties: cpuFormat, validate: validateVmCpu },
  'pve-qemu-sev-fmt': {
    kind: 'property',
    properties: {
      'allow-smt': { type: 'boolean', default: 1, optional: true },
      'kernel-hashes': { type: 'boolean', default: 0, optional: true },
      'no-debug': { type: 'boolean', default: 0, optional: true },
      'no-key-sharing': { type: 'boolean', default: 0, optional: true },
      type: { type: 'string', default_key: true, enum: ['std', 'es', 'snp'], maxLength: 3 },
    },
  },
  'pve-qemu-tdx-fmt': {
    kind: 'property',
    properties: {
      attestation: { type: 'boolean', default: 1 },
      type: { type: 'string', default_key: true, enum: ['tdx'] },
      'vsock-cid': { type: 'integer', minimum: 2, default: 2, optional: true },
      'vsock-port': { type: 'integer', minimum: 0, default: 4050, optional: true },
    },
  },
};
