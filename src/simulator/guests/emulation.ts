/**
 * What software emulation (TCG) of QEMU 10.0 lacks: for every CPU model the features that it reports as missing.
 * Rule [observed 9.2.11]: one warning per missing feature and virtual CPU; the features of a model are in the order in
 * which QEMU checks them.
 */
import { splitProperty } from '../../pve/wire/index.ts';

/** The location of each feature: a CPUID word, and the bits in it. */
const FEATURES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'CPUID.01H:ECX': { pcid: 17, 'tsc-deadline': 24 },
  'CPUID.07H:EBX': {
    'tsc-adjust': 1,
    hle: 4,
    invpcid: 10,
    rtm: 11,
    avx512f: 16,
    avx512dq: 17,
    avx512ifma: 21,
    avx512pf: 26,
    avx512er: 27,
    avx512cd: 28,
    avx512bw: 30,
    avx512vl: 31,
  },
  'CPUID.07H:EDX': {
    'intel-psfd': 0,
    'ipred-ctrl': 1,
    'avx512-4vnniw': 2,
    'rrsba-ctrl': 2,
    'avx512-4fmaps': 3,
    'ddpd-u': 3,
    'avx-vnni-int8': 4,
    'bhi-ctrl': 4,
    'avx-ne-convert': 5,
    'mcdt-no': 5,
    'avx-vnni-int16': 10,
    'md-clear': 10,
    prefetchiti: 14,
    serialize: 14,
    'tsx-ldtrk': 16,
    avx10: 19,
    'amx-bf16': 22,
    'avx512-fp16': 23,
    'amx-tile': 24,
    'amx-int8': 25,
    'spec-ctrl': 26,
    stibp: 27,
    'arch-capabilities': 29,
    ssbd: 31,
  },
  'CPUID.07H:ECX': {
    avx512vbmi: 1,
    avx512vbmi2: 6,
    gfni: 8,
    vpclmulqdq: 10,
    avx512vnni: 11,
    avx512bitalg: 12,
    'avx512-vpopcntdq': 14,
    'bus-lock-detect': 24,
    cldemote: 25,
    movdiri: 27,
    movdir64b: 28,
  },
  'CPUID.0DH:EAX': { xsavec: 1, xsaves: 3, xfd: 4 },
  'CPUID.07H:EAX': {
    sha512: 0,
    sm3: 1,
    sm4: 2,
    'avx-vnni': 4,
    'avx512-bf16': 5,
    'amx-fp16': 21,
    'avx-ifma': 23,
    lam: 26,
  },
  'CPUID.80000001H:EDX': { 'fxsr-opt': 25 },
  'CPUID.80000001H:ECX': { misalignsse: 7, osvw: 9, xop: 11, fma4: 16, tbm: 21, topoext: 22, 'perfctr-core': 23 },
  'CPUID.8000000AH:EDX': { 'nrip-save': 3, vnmi: 25 },
  'CPUID.80000008H:EBX': {
    clzero: 0,
    ibpb: 12,
    ibrs: 14,
    'amd-stibp': 15,
    'stibp-always-on': 17,
    'amd-ssbd': 24,
    'virt-ssbd': 25,
    'amd-no-ssb': 26,
    'amd-psfd': 28,
  },
  'CPUID.80000021H:EAX': {
    'no-nested-data-bp': 0,
    'lfence-always-serializing': 2,
    'null-sel-clr-base': 6,
    'auto-ibrs': 8,
  },
  'CPUID.24H:EBX': { 'avx10-128': 16, 'avx10-256': 17, 'avx10-512': 18 },
};

/** Models with the same gaps are named together. */
const GAPS: readonly (readonly [models: string, features: string])[] = [
  ['Broadwell Haswell', 'pcid tsc-deadline hle invpcid rtm'],
  ['Broadwell-IBRS Haswell-IBRS', 'pcid tsc-deadline hle invpcid rtm spec-ctrl'],
  ['Broadwell-noTSX Haswell-noTSX', 'pcid tsc-deadline invpcid'],
  ['Broadwell-noTSX-IBRS Haswell-noTSX-IBRS', 'pcid tsc-deadline invpcid spec-ctrl'],
  [
    'Cascadelake-Server',
    'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512cd avx512bw avx512vl avx512vnni spec-ctrl ' +
      'ssbd xsavec',
  ],
  [
    'Cascadelake-Server-noTSX Cascadelake-Server-v4',
    'pcid tsc-deadline invpcid avx512f avx512dq avx512cd avx512bw avx512vl avx512vnni spec-ctrl ' +
      'arch-capabilities ssbd xsavec',
  ],
  [
    'Cascadelake-Server-v2',
    'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512cd avx512bw avx512vl avx512vnni spec-ctrl ' +
      'arch-capabilities ssbd xsavec',
  ],
  [
    'Cascadelake-Server-v5',
    'pcid tsc-deadline invpcid avx512f avx512dq avx512cd avx512bw avx512vl avx512vnni spec-ctrl ' +
      'arch-capabilities ssbd xsavec xsaves',
  ],
  [
    'ClearwaterForest',
    'pcid tsc-deadline tsc-adjust invpcid gfni vpclmulqdq bus-lock-detect cldemote movdiri movdir64b ' +
      'serialize spec-ctrl arch-capabilities ssbd sha512 sm3 sm4 avx-vnni avx-ifma lam xsavec xsaves ' +
      'avx-vnni-int8 avx-ne-convert avx-vnni-int16 prefetchiti intel-psfd ipred-ctrl rrsba-ctrl ddpd-u ' +
      'bhi-ctrl mcdt-no',
  ],
  [
    'Cooperlake',
    'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512cd avx512bw avx512vl avx512vnni spec-ctrl ' +
      'stibp arch-capabilities ssbd avx512-bf16 xsavec',
  ],
  [
    'Cooperlake-v2',
    'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512cd avx512bw avx512vl avx512vnni spec-ctrl ' +
      'stibp arch-capabilities ssbd avx512-bf16 xsavec xsaves',
  ],
  ['EPYC', 'fxsr-opt misalignsse osvw topoext nrip-save xsavec'],
  [
    'EPYC-Genoa',
    'pcid invpcid avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 gfni ' +
      'vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq avx512-bf16 fxsr-opt misalignsse osvw topoext ' +
      'perfctr-core clzero ibpb ibrs amd-stibp stibp-always-on amd-ssbd amd-psfd no-nested-data-bp ' +
      'lfence-always-serializing null-sel-clr-base auto-ibrs nrip-save vnmi xsavec xsaves',
  ],
  ['EPYC-IBPB', 'fxsr-opt misalignsse osvw topoext ibpb nrip-save xsavec'],
  [
    'EPYC-Milan',
    'pcid invpcid fxsr-opt misalignsse osvw topoext perfctr-core clzero ibpb ibrs amd-stibp amd-ssbd ' +
      'nrip-save xsavec xsaves',
  ],
  [
    'EPYC-Milan-v2',
    'pcid invpcid vpclmulqdq fxsr-opt misalignsse osvw topoext perfctr-core clzero ibpb ibrs amd-stibp ' +
      'stibp-always-on amd-ssbd amd-psfd no-nested-data-bp lfence-always-serializing null-sel-clr-base ' +
      'nrip-save xsavec xsaves',
  ],
  ['EPYC-Rome', 'fxsr-opt misalignsse osvw topoext perfctr-core clzero ibpb amd-stibp nrip-save xsavec xsaves'],
  [
    'EPYC-Rome-v2 EPYC-Rome-v3',
    'fxsr-opt misalignsse osvw topoext perfctr-core clzero ibpb ibrs amd-stibp amd-ssbd nrip-save xsavec ' + 'xsaves',
  ],
  [
    'EPYC-Rome-v4',
    'fxsr-opt misalignsse osvw topoext perfctr-core clzero ibpb ibrs amd-stibp amd-ssbd nrip-save xsavec',
  ],
  ['EPYC-v3 EPYC-v4', 'fxsr-opt misalignsse osvw topoext perfctr-core clzero ibpb nrip-save xsavec xsaves'],
  [
    'GraniteRapids',
    'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512vbmi ' +
      'avx512vbmi2 gfni vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq bus-lock-detect serialize ' +
      'tsx-ldtrk amx-bf16 avx512-fp16 amx-tile amx-int8 spec-ctrl arch-capabilities ssbd avx-vnni ' +
      'avx512-bf16 amx-fp16 xsavec xsaves xfd prefetchiti mcdt-no',
  ],
  [
    'GraniteRapids-v2',
    'pcid tsc-deadline tsc-adjust hle invpcid rtm avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl ' +
      'avx512vbmi avx512vbmi2 gfni vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq bus-lock-detect ' +
      'cldemote movdiri movdir64b serialize tsx-ldtrk amx-bf16 avx512-fp16 amx-tile amx-int8 spec-ctrl ' +
      'arch-capabilities ssbd avx-vnni avx512-bf16 amx-fp16 xsavec xsaves xfd prefetchiti avx10 mcdt-no ' +
      'avx10-128 avx10-256 avx10-512',
  ],
  [
    'Icelake-Server',
    'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 ' +
      'gfni vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq spec-ctrl ssbd xsavec',
  ],
  [
    'Icelake-Server-noTSX',
    'pcid tsc-deadline invpcid avx512f avx512dq avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 gfni ' +
      'vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq spec-ctrl ssbd xsavec',
  ],
  [
    'Icelake-Server-v3',
    'pcid tsc-deadline invpcid avx512f avx512dq avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 gfni ' +
      'vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq spec-ctrl arch-capabilities ssbd xsavec',
  ],
  [
    'Icelake-Server-v4',
    'pcid tsc-deadline invpcid avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512vbmi ' +
      'avx512vbmi2 gfni vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq spec-ctrl arch-capabilities ' +
      'ssbd xsavec',
  ],
  [
    'Icelake-Server-v5 Icelake-Server-v6',
    'pcid tsc-deadline invpcid avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512vbmi ' +
      'avx512vbmi2 gfni vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq spec-ctrl arch-capabilities ' +
      'ssbd xsavec xsaves',
  ],
  [
    'Icelake-Server-v7',
    'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512vbmi ' +
      'avx512vbmi2 gfni vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq spec-ctrl arch-capabilities ' +
      'ssbd xsavec xsaves',
  ],
  ['IvyBridge SandyBridge', 'tsc-deadline'],
  ['IvyBridge-IBRS SandyBridge-IBRS', 'tsc-deadline spec-ctrl'],
  ['KnightsMill', 'tsc-deadline avx512f avx512pf avx512er avx512cd avx512-vpopcntdq avx512-4vnniw avx512-4fmaps'],
  ['Nehalem-IBRS Westmere-IBRS', 'spec-ctrl'],
  ['Opteron_G3', 'misalignsse'],
  ['Opteron_G4', 'misalignsse xop fma4 nrip-save'],
  ['Opteron_G5', 'misalignsse xop fma4 tbm nrip-save'],
  [
    'SapphireRapids SapphireRapids-v2',
    'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512vbmi ' +
      'avx512vbmi2 gfni vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq bus-lock-detect serialize ' +
      'tsx-ldtrk amx-bf16 avx512-fp16 amx-tile amx-int8 spec-ctrl arch-capabilities ssbd avx-vnni ' +
      'avx512-bf16 xsavec xsaves xfd',
  ],
  [
    'SapphireRapids-v3',
    'pcid tsc-deadline tsc-adjust hle invpcid rtm avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl ' +
      'avx512vbmi avx512vbmi2 gfni vpclmulqdq avx512vnni avx512bitalg avx512-vpopcntdq bus-lock-detect ' +
      'cldemote movdiri movdir64b serialize tsx-ldtrk amx-bf16 avx512-fp16 amx-tile amx-int8 spec-ctrl ' +
      'arch-capabilities ssbd avx-vnni avx512-bf16 xsavec xsaves xfd',
  ],
  [
    'SierraForest',
    'pcid tsc-deadline invpcid gfni vpclmulqdq bus-lock-detect serialize spec-ctrl arch-capabilities ssbd ' +
      'avx-vnni avx-ifma xsavec xsaves avx-vnni-int8 avx-ne-convert mcdt-no',
  ],
  [
    'SierraForest-v2',
    'pcid tsc-deadline tsc-adjust invpcid gfni vpclmulqdq bus-lock-detect cldemote movdiri movdir64b ' +
      'serialize spec-ctrl arch-capabilities ssbd avx-vnni avx-ifma lam xsavec xsaves avx-vnni-int8 ' +
      'avx-ne-convert intel-psfd ipred-ctrl rrsba-ctrl bhi-ctrl mcdt-no',
  ],
  ['Skylake-Client', 'pcid tsc-deadline hle invpcid rtm xsavec'],
  ['Skylake-Client-IBRS', 'pcid tsc-deadline hle invpcid rtm spec-ctrl xsavec'],
  ['Skylake-Client-noTSX-IBRS', 'pcid tsc-deadline invpcid spec-ctrl xsavec'],
  ['Skylake-Client-v4', 'pcid tsc-deadline invpcid spec-ctrl xsavec xsaves'],
  ['Skylake-Server', 'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512cd avx512bw avx512vl xsavec'],
  [
    'Skylake-Server-IBRS',
    'pcid tsc-deadline hle invpcid rtm avx512f avx512dq avx512cd avx512bw avx512vl spec-ctrl xsavec',
  ],
  [
    'Skylake-Server-noTSX-IBRS Skylake-Server-v4',
    'pcid tsc-deadline invpcid avx512f avx512dq avx512cd avx512bw avx512vl spec-ctrl xsavec',
  ],
  [
    'Skylake-Server-v5',
    'pcid tsc-deadline invpcid avx512f avx512dq avx512cd avx512bw avx512vl spec-ctrl xsavec xsaves',
  ],
  ['phenom', 'fxsr-opt'],
  ['x86-64-v4', 'avx512f avx512dq avx512cd avx512bw avx512vl'],
];

/** The warnings of one start under software emulation, in the task's log. */
export function emulationWarnings(config: ReadonlyMap<string, string>): string[] {
  const parts = splitProperty(config.get('cpu') ?? '');
  const model = parts.find(({ key }) => key === undefined || key === 'cputype')?.value ?? 'kvm64';
  const flags = (parts.find(({ key }) => key === 'flags')?.value ?? '').split(';');
  const missing = new Set((GAPS.find(([models]) => models.split(' ').includes(model))?.[1] ?? '').split(' '));
  for (const flag of flags) {
    if (flag.startsWith('+')) missing.add(flag.slice(1));
    else missing.delete(flag.slice(1));
  }
  const warnings = [...missing].flatMap((feature) => warningFor(feature) ?? []);
  const topology = Number(config.get('sockets') ?? 1) * Number(config.get('cores') ?? 1);
  return Array.from({ length: Number(config.get('vcpus') ?? topology) }, () => warnings).flat();
}

function warningFor(feature: string): string | undefined {
  const word = Object.keys(FEATURES).find((name) => FEATURES[name]?.[feature] !== undefined);
  if (word === undefined) return undefined;
  return `kvm: warning: TCG doesn't support requested feature: ${word}.${feature} [bit ${FEATURES[word]?.[feature]}]`;
}
