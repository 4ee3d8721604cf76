/** Removing a template with its earlier versions. Those that linked clones still rest on stay, and are named. */
import type { Address } from '../../base/address.ts';
import { emptyState } from '../../kinds/recorded.ts';
import { retiredAddress } from '../../kinds/template/versions.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import type { CtyObject } from '../cty/value.ts';
import type { ApplyResult, PrivateState, ProviderDiagnostic } from '../provider.ts';
import { carryOut } from '../run/outcome.ts';
import { stackOf, withEngineRun } from '../run/session.ts';
import type { Surroundings } from '../surroundings.ts';
import type { VmContext } from '../vm/context.ts';
import { ownerName } from '../vm/owner.ts';
import { memoryOfState, memoryOfVersion } from './memory.ts';
import { type RetiredVersion, readPrivate, writePrivate } from './private-state.ts';
import { TEMPLATE } from './schema.ts';
import { type WantedTemplate, wantedTemplate } from './wanted-template.ts';

export async function destroyTemplate(context: VmContext, prior: CtyObject, bytes: PrivateState): Promise<ApplyResult> {
  const surroundings = context.requireSurroundings();
  const kept = readPrivate(bytes);
  const wanted = wantedTemplate(prior);
  const { name, vm } = wanted.template;
  const staying: RetiredVersion[] = [];
  let left = kept.retired;
  const failed = (diagnostics: readonly ProviderDiagnostic[]): ApplyResult => {
    return { state: prior, private: writePrivate({ ...kept, retired: left }), diagnostics };
  };
  try {
    for (const version of kept.retired) {
      const address = retiredAddress(name, version.vmid);
      const problems = await destroyOne(context, surroundings, wanted, address, memoryOfVersion(version, name));
      if (problems.some((problem) => !isInUse(problem))) return failed(problems);
      if (problems.length > 0) staying.push(version);
      else left = left.filter(({ vmid }) => vmid !== version.vmid);
    }
    if (kept.owner !== undefined) return gone([keptFor(kept.owner, prior), ...staying.map(stillUsed)]);
    const problems = await destroyOne(context, surroundings, wanted, vm.address, memoryOfState(prior, kept));
    return problems.length > 0 ? failed(problems) : gone(staying.map(stillUsed));
  } finally {
    surroundings.forgetLooks();
  }
}

function gone(diagnostics: readonly ProviderDiagnostic[]): ApplyResult {
  return { state: null, private: undefined, diagnostics };
}

async function destroyOne(
  context: VmContext,
  surroundings: Surroundings,
  { timeouts }: WantedTemplate,
  address: Address,
  remembered: VmRecord,
): Promise<readonly ProviderDiagnostic[]> {
  await context.leftovers().settle(remembered, surroundings.signal);
  const stack = stackOf(surroundings, {}, timeouts);
  const state = { ...emptyState(ownerName(surroundings.work)), vms: { [address]: remembered } };
  return withEngineRun(surroundings, { stack, state, secrets: new Map() }, context.sessionLabel(), async (session) =>
    carryOut(session, await session.planDestroy({ running: 'stop', all: true }), TEMPLATE),
  );
}

/** Proxmox's own words; it looks for linked clones before it removes anything. */
function isInUse({ detail }: ProviderDiagnostic): boolean {
  return /base volume '[^']+' is still in use by linked clone/.test(detail);
}

function stillUsed({ vmid, node }: RetiredVersion): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'An earlier version of the template stays',
    detail: `Linked clones rest on template ${vmid} on ${node}, an earlier version. It is no longer in the state; when they are gone, remove it by hand: qm destroy ${vmid}`,
  };
}

function keptFor(owner: string, { name, id }: CtyObject): ProviderDiagnostic {
  return {
    severity: 'warning',
    summary: 'The template stays',
    detail: `"${String(name)}" (${String(id)}) was made by ${owner} from the same recipe, so it is not destroyed with this resource.`,
  };
}
