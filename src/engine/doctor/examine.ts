/** Reads what the doctor's checks look at. A missing privilege is a result; any other failure ends the examination. */
import type { Address } from '../../base/address.ts';
import type { Instant } from '../../base/clock.ts';
import { hasCode, isFamily } from '../../base/errors.ts';
import { siteAddress } from '../../kinds/image/plan.ts';
import type { Observed, Readable } from '../../kinds/observed.ts';
import { hardwareOf } from '../../kinds/pci-mapping/observe.ts';
import type { StackState } from '../../kinds/recorded.ts';
import { machinesOf, type ResolvedStack } from '../../kinds/stack.ts';
import type { ResolvedSecret } from '../../kinds/vm/config/desired-config.ts';
import { drivesOf } from '../../kinds/vm/config/disks.ts';
import { candidatesOf } from '../../kinds/vm/placement/candidates.ts';
import { unfinishedMachines } from '../../kinds/vm/unfinished.ts';
import type { Pve } from '../../pve/client.ts';
import { storageOfVolume } from '../../pve/wire/index.ts';
import { observe } from '../observe.ts';
import { foresee, type PlanResult, planStack } from '../plan.ts';
import { assumedNeeds } from '../privileges/assumed.ts';
import { checkNeeds, checkPrivileges } from '../privileges/check.ts';
import { explainUnseen } from '../privileges/unseen.ts';
import {
  type DownloadAnswer,
  type Examination,
  type ObservedNode,
  type RightsSeen,
  type TrustSeen,
  templateOf,
  volumeKey,
  type WireTimes,
} from './examination.ts';

export interface ExamineInput {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly secrets: ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>;
  readonly now: Instant;
  readonly trust: TrustSeen;
  readonly wire: WireTimes;
  readonly signal?: AbortSignal | undefined;
}

export async function examine(input: ExamineInput): Promise<Examination> {
  const { pve, stack, signal, now } = input;
  // Read as if everything were created: also templates and storages that this plan does not need.
  const everything = machinesOf(stack).map(({ address }) => address);
  const observed = await observe({
    pve,
    stack,
    state: input.state,
    signal,
    secrets: input.secrets,
    replace: everything,
    neighbours: 'always',
  });
  const state = withoutUnfinished(stack, input.state, observed);
  const planning = { stack, state, observed, secrets: input.secrets, now };
  const planned = planStack(planning);
  const result: PlanResult = planned.ok
    ? planned
    : { ok: false, problems: await explainUnseen({ pve, stack, problems: planned.problems, signal }) };
  const placed = planned.ok && planned.stack ? planned.stack : stack;
  const rights = await readRights({ ...input, stack: placed }, observed, result);
  const [token, cluster, nodes, volumes, downloads] = await Promise.all([
    readToken(input),
    readable(() => pve.cluster.status({ signal }), 'Sys.Audit on /'),
    readNodes(input, observed),
    readVolumes({ ...input, stack: placed }, observed, rights),
    readDownloads(input, observed),
  ]);
  return {
    now,
    endpoint: pve.endpoint,
    principal: pve.principal,
    trust: input.trust,
    wire: input.wire,
    stack: placed,
    state,
    observed,
    foreseen: foresee(planning),
    result,
    rights,
    token,
    cluster,
    nodes,
    volumes,
    downloads,
  };
}

/** They count as VMs to create. */
function withoutUnfinished(stack: ResolvedStack, state: StackState, observed: Observed): StackState {
  const unfinished = new Set<string>(unfinishedMachines(stack, state, observed).map(({ address }) => address));
  const known = Object.entries(state.vms).filter(([address]) => !unfinished.has(address));
  return { ...state, vms: Object.fromEntries(known) };
}

async function readable<Value>(read: () => Promise<Value>, needs: string): Promise<Readable<Value>> {
  try {
    return { ok: true, value: await read() };
  } catch (error) {
    if (hasCode(error, 'PRIVILEGE_MISSING')) return { ok: false, needs };
    throw error;
  }
}

async function readRights(input: ExamineInput, observed: Observed, result: PlanResult): Promise<RightsSeen> {
  const { pve, stack, signal, now } = input;
  const { version } = observed;
  const hasAny = Object.keys(await pve.access.permissions({}, { signal })).length > 0;
  const common = { pve, stack, version, signal, thorough: true };
  if (result.ok) {
    const check = await checkPrivileges({ ...common, plan: result.plan, observed });
    return { check, hasAny, basis: 'plan', guesses: [] };
  }
  // A token without privileges is offered everything that the VMs will ever need.
  const assumed = assumedNeeds({ stack, version, now, observed, lifecycle: !hasAny });
  const needs = assumed.ok ? assumed.needs : { requirements: [], rootOnly: [], tags: [] };
  const check = await checkNeeds(needs, common);
  return { check, hasAny, basis: 'assumed', guesses: assumed.ok ? assumed.guesses : [] };
}

async function readToken({ pve, signal }: ExamineInput): Promise<Examination['token']> {
  const [user = '', tokenId] = pve.principal.split('!');
  if (tokenId === undefined) return { ok: true, value: undefined };
  const needs = `User.Modify on /access/users/${user}`;
  const tokens = await readable(() => pve.access.tokens(user, { signal }), needs);
  return tokens.ok ? { ok: true, value: tokens.value.find(({ tokenid }) => tokenid === tokenId) } : tokens;
}

async function readNodes({ pve, stack, signal }: ExamineInput, observed: Observed): Promise<Map<string, ObservedNode>> {
  const names = [...new Set(machinesOf(stack).flatMap((vm) => candidatesOf(vm, observed.nodes)))].filter(
    (node) => observed.nodes.get(node)?.online,
  );
  const passesOn = new Set(stack.vms.flatMap(({ fields }) => (fields.pci ? [fields.node] : [])));
  const observedNodes = names.map(async (name): Promise<[string, ObservedNode]> => {
    const node = pve.node(name);
    const [status, vms, devices] = await Promise.all([
      readable(() => node.status({ signal }), `Sys.Audit on /nodes/${name}`),
      node.vms.list({}, { signal }),
      passesOn.has(name) ? readable(() => node.pciDevices({}, { signal }), 'Sys.Audit on /') : undefined,
    ]);
    const hardware = devices?.ok ? { ok: true as const, value: devices.value.map(hardwareOf) } : devices;
    return [name, { status, vms, ...(hardware && { devices: hardware }) }];
  });
  return new Map(await Promise.all(observedNodes));
}

/** Asks the node, because the node downloads the image. */
async function readDownloads(
  { pve, signal }: ExamineInput,
  { images }: Observed,
): Promise<Map<Address, DownloadAnswer>> {
  const toCome = images.filter(({ image: { fields }, file }) => {
    return file.ok && !file.value && fields.url !== undefined && fields.via !== 'upload';
  });
  const answers = toCome.map(async (site): Promise<[Address, DownloadAnswer]> => {
    const url = site.image.fields.url ?? '';
    const needs = `Sys.AccessNetwork on /nodes/${site.node}`;
    try {
      const asked = await readable(() => pve.node(site.node).queryUrlMetadata({ url }, { signal }), needs);
      const answer: DownloadAnswer = asked.ok
        ? { kind: 'there', sizeBytes: asked.value.size }
        : { kind: 'hidden', needs: asked.needs };
      return [siteAddress(site), answer];
    } catch (error) {
      if (!isFamily(error, 'api')) throw error;
      return [siteAddress(site), { kind: 'failed', words: error.diagnostic.detail }];
    }
  });
  return new Map(await Promise.all(answers));
}

/** An empty list may also mean that the token cannot see the volumes, so their privileges are checked first. */
async function readVolumes({ pve, stack, signal }: ExamineInput, observed: Observed, { check }: RightsSeen) {
  const volumes = new Map<string, Readable<ReadonlySet<string>>>();
  const { grants } = check;
  for (const vm of stack.vms) {
    const choice = templateOf(vm, observed);
    for (const { kind, volume } of choice ? drivesOf(choice.vm.current) : []) {
      const storage = volume && storageOfVolume(volume);
      if (!choice || kind !== 'disk' || storage === undefined) continue;
      const { node, vmid } = choice.template;
      const key = volumeKey(choice.template, storage);
      if (volumes.has(key)) continue;
      await grants.ask([`/storage/${storage}`, `/vms/${vmid}`]);
      const onStorage = grants.on(`/storage/${storage}`);
      const mayList = onStorage.has('Datastore.Audit') || onStorage.has('Datastore.AllocateSpace');
      const seesDisks = onStorage.has('Datastore.Audit') && grants.on(`/vms/${vmid}`).has('VM.Config.Disk');
      const seesAll = mayList && onStorage.has('Datastore.Allocate');
      if (!seesDisks && !seesAll) {
        volumes.set(key, {
          ok: false,
          needs: `Datastore.Audit on /storage/${storage} and VM.Config.Disk on /vms/${vmid}`,
        });
        continue;
      }
      const list = () => pve.node(node).storage(storage).content.list({ vmid }, { signal });
      const listed = await readable(list, `Datastore.Audit on /storage/${storage}`);
      volumes.set(key, listed.ok ? { ok: true, value: new Set(listed.value.map(({ volid }) => volid)) } : listed);
    }
  }
  return volumes;
}
