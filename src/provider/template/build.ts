/** Building a template, or a new version of one, by the engine: from nothing, or from where an earlier process stopped. */

import type { VmObserved } from '../../kinds/vm/observed.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { carryOut } from '../run/outcome.ts';
import { stackOf, withEngineRun } from '../run/session.ts';
import type { Surroundings } from '../surroundings.ts';
import type { VmContext } from '../vm/context.ts';
import { ownerName } from '../vm/owner.ts';
import type { VmSecrets } from '../vm/secrets.ts';
import { findLeftover, memoryOfLeftover } from './leftover.ts';
import { retiredIn, stateOf, type Versions, versionOf } from './memory.ts';
import type { RetiredVersion } from './private-state.ts';
import { TEMPLATE } from './schema.ts';
import type { WantedTemplate } from './wanted-template.ts';

export interface Job {
  readonly wanted: WantedTemplate;
  readonly secrets: VmSecrets;
  readonly recipe: string;
  /** The version that the host knows, and those before it. */
  readonly current: VmRecord | undefined;
  readonly retired: readonly RetiredVersion[];
}

export interface Built {
  readonly problems: readonly ProviderDiagnostic[];
  /** What is there now, finished or not. */
  readonly current: VmRecord | undefined;
  readonly retired: readonly RetiredVersion[];
  /** Whose it is, where somebody else made it. */
  readonly owner?: string;
}

export async function build(context: VmContext, surroundings: Surroundings, job: Job): Promise<Built> {
  const { work } = surroundings;
  const { wanted, recipe, current } = job;
  const { template } = wanted;
  const retired = [...job.retired, ...(current ? versionOf(current) : [])];
  const leftovers = context.leftovers();
  const known = new Set(retired.map(({ vmid }) => vmid));
  const left = await findLeftover(surroundings, work, await leftovers.list(surroundings.signal), {
    template,
    recipe,
    known,
  });
  if (left) await leftovers.settle(left.vm, surroundings.signal);
  if (left?.kind === 'finished') {
    surroundings.log.log('info', `Template ${left.vm.vmid} was made from this recipe already.`);
    const isOurs = left.owner === ownerName(work);
    return { problems: [], current: finishedMemory(left.vm, recipe), retired, ...(!isOurs && { owner: left.owner }) };
  }
  if (!left) return run(context, surroundings, job, { current, retired: job.retired });
  surroundings.log.log('info', `Completing template ${left.vm.vmid}, which an earlier run left.`);
  return run(context, surroundings, job, { current: memoryOfLeftover(left), retired });
}

function finishedMemory({ vmid, uuid, node, current }: VmObserved, recipe: string): VmRecord {
  return {
    vmid,
    ...(uuid !== undefined && { uuid }),
    node,
    name: current.get('name') ?? '',
    phase: 'complete',
    lastApplied: {},
    secrets: {},
    macs: {},
    addresses: {},
    template: { recipe, finished: true },
  };
}

async function run(
  context: VmContext,
  surroundings: Surroundings,
  { wanted, secrets }: Job,
  versions: Pick<Versions, 'current' | 'retired'>,
): Promise<Built> {
  const { template, timeouts } = wanted;
  const { address } = template.vm;
  const stack = stackOf(surroundings, { templates: [template] }, timeouts);
  const state = stateOf(surroundings, { ...versions, address, name: template.name });
  const all = new Map([[address, secrets]]);
  let made: Omit<Built, 'problems'> = versions;
  const problems = await withEngineRun(
    surroundings,
    { stack, state, secrets: all },
    context.sessionLabel(),
    async (session) => {
      try {
        return await carryOut(session, await session.plan(), TEMPLATE);
      } finally {
        made = { current: session.state.vms[address], retired: retiredIn(session.state) };
      }
    },
  );
  if (problems.length === 0 && made.current) await untilListed(surroundings, made.current, template.name);
  return { ...made, problems };
}

const LISTED_MS = 60_000;
const LOOK_MS = 1_000;
/** Each worker of the server keeps what it has read for up to two seconds, so that what was new may look old once more. */
const WORKERS_MS = 2_500;

/** The list of the cluster lags by some seconds, and whoever clones the template by its name looks for it there. */
async function untilListed(surroundings: Surroundings, made: VmRecord, name: string): Promise<void> {
  const { work, clock, signal, log } = surroundings;
  const deadline = clock.now() + LISTED_MS;
  while (!isListed(await work.cluster.resources({ type: 'vm' }, { signal }), made, name)) {
    if (clock.now() >= deadline) {
      log.log('warn', `The cluster does not list template ${made.vmid} as "${name}" yet.`);
      return;
    }
    await clock.sleep(LOOK_MS, signal);
  }
  await clock.sleep(WORKERS_MS, signal);
}

type Rows = Awaited<ReturnType<Surroundings['work']['cluster']['resources']>>;

/** Under its name, and it alone: its predecessor has given it up. */
function isListed(rows: Rows, { vmid, node }: VmRecord, name: string): boolean {
  const named = rows.filter((row) => row.name === name && row.node === node);
  return named.length === 1 && named[0]?.vmid === vmid && named[0].template === true;
}
