/** Tokens that see too little for an exact message: the commands they get must still be complete. */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { obey } from '../doctor/support/clinic.ts';
import {
  exactGrants,
  firstPicture,
  type Grant,
  type PhaseEnd,
  type Picture,
  runPhase,
  stackOf,
} from './support/bench.ts';
import { SERVERS } from './support/scenarios.ts';

const texts = (end: PhaseEnd) => end.problems.map(formatDiagnostic);
const obeyed = (end: PhaseEnd): Picture => ({
  ...end.after,
  world: obey(end.after.world, end.problems.flatMap(({ hint }) => hint?.text ?? []).join('\n')),
});

const vm = (name: string, more = '') => `  ${name}:
    name: ${name}
    node: pve1
    clone: { template: ubuntu-24.04 }
    disks: { scsi1: { storage: nfs, size: 1GiB } }
${more}`;
const phase = (...vms: string[]) => ({ kind: 'apply' as const, stack: stackOf(vms.join('')) });

describe.each(SERVERS)('on $name', ({ world }) => {
  it('reports a token that sees nothing once, with commands after which the same plan passes', async () => {
    const given = phase(vm('web'), vm('db'));
    const end = await runPhase(firstPicture(world), given, { grants: [] });
    expect(end.problems).toHaveLength(1);
    expect(texts(end)[0]).toContain('has no privileges at all');
    expect(texts(end)[0]).toContain('Run as root on a node:\n  pveum role add ');
    const again = await runPhase(obeyed(end), given, { grants: [] });
    expect(texts(again)).toEqual([]);
    expect(again.outcome).toBe('done');
  });

  it('prints the commands for a storage or template that the token does not see', async () => {
    const given = phase(vm('web'));
    const first = await runPhase(firstPicture(world), given, { execute: false });
    const grants = exactGrants(first.check?.requirements ?? []);
    const isSight = ({ privilege, path }: Grant) => privilege === 'VM.Audit' || path === '/storage/nfs';
    for (const missing of grants.filter(isSight)) {
      const rest = grants.filter((grant) => grant !== missing);
      const end = await runPhase(firstPicture(world), given, { grants: rest });
      expect(end.outcome, missing.path).toBe('refused');
      expect(end.problems[0]?.hint?.text, missing.path).toContain(missing.privilege);
      const again = await runPhase(obeyed(end), given, { grants: [] });
      expect(texts(again), missing.path).toEqual([]);
    }
  });

  it('knows that a tag is reserved if a VM has it and the token is not offered it', async () => {
    const tagged = firstPicture(world);
    // The template has it, and the VM is to lose it.
    tagged.world.datacenter.set('registered-tags', 'ubuntu');
    const given = phase(vm('web', '    tags: [template, new]\n'));
    const first = await runPhase(tagged, given, { execute: false });
    const grants = exactGrants(first.check?.requirements ?? []).filter(({ path }) => path !== '/');
    const end = await runPhase(tagged, given, { grants });
    expect(end.outcome).toBe('refused');
    expect(texts(end)[0]).toContain('Sys.Modify on /, for tags');
  });
});
