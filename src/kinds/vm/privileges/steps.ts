/**
 * What each step of a VM needs. The map is total: the compiler refuses a new action until it says what it needs. Each
 * step is judged on the VM as the steps before it leave it.
 */
import {
  type AclPath,
  ANY_VM,
  type Cause,
  type Need,
  need,
  type OneOf,
  on,
  type PrivilegeRules,
  UNKNOWN_VMID,
} from '../../privileges/need.ts';
import { parseDrive } from '../config/disks.ts';
import { type ConfigWrite, configureWrites, creationValues } from '../config/writes.ts';
import { effectiveValues } from '../observed.ts';
import { managedNic, type ReadyChecks, staticAddresses } from '../ready/checks.ts';
import type { ConfigureInput, HandOverInput, ReadyInput, VmActionName, VmInputs } from '../steps.ts';
import { creationNeeds, inheritedNeeds, writeNeeds } from './config.ts';
import { growthNeeds } from './devices.ts';
import {
  attached,
  cloned,
  created,
  desiredValuesOf,
  emptyVm,
  moved,
  type Owner,
  type VmForecast,
  written,
} from './forecast.ts';

export interface StepContext {
  readonly rules: PrivilegeRules;
  readonly owner: Owner;
  /** Configuration of a template, where it could be read. */
  templateValues(vmid: number): ReadonlyMap<string, string> | undefined;
}

interface StepPrivileges<Input> {
  needs(input: Input, before: VmForecast, context: StepContext): readonly Need[];
  /** The VM afterwards; unchanged if the step touches neither its configuration nor its node. */
  after?(input: Input, before: VmForecast, context: StepContext): VmForecast;
}

const WHOLE: Cause = { field: '' };
const SNAPSHOT: Cause = { field: 'snapshot' };
const POWER: Cause = { field: 'power' };

/** Every action starts and ends with a read of the VM. */
const look = (paths: OneOf<AclPath>): Need => need('VM.Audit', paths, WHOLE);
const power = (cause: Cause): StepPrivileges<unknown>['needs'] => {
  return (_, { paths }) => [look(paths), need('VM.PowerMgmt', paths, cause)];
};

export const STEP_PRIVILEGES: { readonly [Name in VmActionName]: StepPrivileges<VmInputs[Name]> } = {
  // Only the state changes, nothing on the server.
  'vm.take-from': { needs: () => [] },
  'vm.forget': { needs: () => [] },
  'vm.reserve': { needs: () => [] },
  'vm.hook': { needs: () => [] },
  'vm.set-aside': { needs: () => [] },
  'vm.remove-replaced': {
    needs: ({ vmid }) => {
      const paths = on(`/vms/${vmid}`);
      return [look(paths), need('VM.Allocate', paths, WHOLE), need('VM.PowerMgmt', paths, WHOLE)];
    },
  },
  'vm.clone': {
    needs: (input, before, { rules, templateValues }) => {
      const { vmid } = input.source;
      const paths = withPool(before.paths, input.pool);
      const template: Cause = { field: 'clone.template' };
      const values = templateValues(vmid);
      return [
        need('VM.Audit', on(`/vms/${vmid}`), template),
        need('VM.Clone', on(`/vms/${vmid}`), template),
        need('VM.Allocate', paths, WHOLE),
        look(paths),
        ...(values ? inheritedNeeds(values, input.mode === 'full' ? input.storage : undefined, rules) : []),
      ];
    },
    after: (input, before, { templateValues, owner }) => ({
      paths: withPool(before.paths, input.pool),
      vm: cloned(templateValues(input.source.vmid) ?? new Map(), input, before.vm, owner),
    }),
  },
  'vm.create': {
    needs: (input, before, { rules, owner }) => {
      const paths = withPool(before.paths, input.pool);
      const subject = { vmid: before.vm.vmid, paths, rules };
      // Name and notes are sent with every creation.
      const values = { ...creationValues(desiredValuesOf(input.desired, owner, before.vm)), name: '', description: '' };
      return [need('VM.Allocate', paths, WHOLE), look(paths), ...creationNeeds(subject, values, before.paths)];
    },
    after: (input, before, { owner }) => ({
      paths: withPool(before.paths, input.pool),
      vm: created(desiredValuesOf(input.desired, owner, before.vm), before.vm, owner),
    }),
  },
  'vm.configure': {
    needs: (input, before, context) => {
      const { vm, paths } = before;
      const subject = { vmid: vm.vmid, paths, rules: context.rules };
      const writes = writesOf(input, before, context);
      return [look(paths), ...writes.flatMap((write) => writeNeeds(subject, write, vm.current))];
    },
    after: (input, before, context) => {
      const desiredValues = desiredValuesOf(input.desired, context.owner, before.vm);
      const writes = writesOf(input, before, context);
      return { ...before, vm: writes.reduce((vm, write) => written(vm, write, desiredValues), before.vm) };
    },
  },
  'vm.move-disk': {
    needs: ({ slot, storage }, { paths }) => {
      const place: Cause = { key: slot, part: 'storage' };
      return [
        look(paths),
        need('VM.Config.Disk', paths, place),
        need('Datastore.AllocateSpace', on(`/storage/${storage}`), place),
      ];
    },
    after: ({ slot, storage }, before) => ({ ...before, vm: moved(before.vm, slot, storage) }),
  },
  'vm.hold': {
    needs: ({ pool }, _, { rules }) => {
      const paths = withPool([ANY_VM], pool);
      const values = { name: '', description: '', protection: '1' };
      return [
        need('VM.Allocate', paths, WHOLE),
        look(paths),
        ...creationNeeds({ vmid: UNKNOWN_VMID, paths, rules }, values, paths),
      ];
    },
  },
  'vm.give-disk': { needs: handOverNeeds },
  'vm.take-disk': {
    needs: handOverNeeds,
    after: ({ slot, storage, sizeBytes }, before) => ({ ...before, vm: attached(before.vm, slot, storage, sizeBytes) }),
  },
  'vm.unhold': {
    needs: ({ pool }) => {
      const paths = withPool([ANY_VM], pool);
      return [look(paths), need('VM.Config.Options', paths, WHOLE), need('VM.Allocate', paths, WHOLE)];
    },
  },
  'vm.resize': {
    needs: ({ slot, sizeBytes }, { vm, paths }) => {
      const text = effectiveValues(vm).get(slot);
      const sizeNow = text === undefined ? undefined : parseDrive(slot, text).sizeBytes;
      // A disk that is large enough is only read.
      return [look(paths), ...((sizeNow ?? 0) >= sizeBytes ? [] : growthNeeds(slot, text, paths))];
    },
  },
  'vm.seed': {
    needs: ({ storage, fields }, { paths }) => {
      const documents: Cause = { field: `cloud_init.${fields.own[0]}` };
      return [
        look(paths),
        need('Datastore.AllocateTemplate', on(`/storage/${storage}`), documents),
        need(['Datastore.Audit', 'Datastore.AllocateSpace'], on(`/storage/${storage}`), documents),
      ];
    },
  },
  // A file that may not be removed stays, with a warning; that does not justify another privilege.
  'vm.unseed': { needs: (_, { paths }) => [look(paths)] },
  'vm.verify': { needs: (_, { paths }) => [look(paths)] },
  'vm.ready': {
    needs: (input, { vm, paths }, { rules }) => {
      const slots = [...vm.current.keys()].filter((key) => /^net\d+$/.test(key));
      return readinessNeeds({ ...input, slots, paths, rules });
    },
  },
  'vm.start': { needs: power(POWER) },
  // A VM that is already off is only read.
  'vm.stop': {
    needs: (input, before, context) =>
      before.vm.running || before.hidden ? power(POWER)(input, before, context) : [look(before.paths)],
  },
  'vm.restart': { needs: power({ field: 'restart' }) },
  'vm.snapshot': { needs: (_, { paths }) => [look(paths), need('VM.Snapshot', paths, SNAPSHOT)] },
  'vm.delete-snapshot': { needs: (_, { paths }) => [look(paths), need('VM.Snapshot', paths, SNAPSHOT)] },
  // Rule [recorded perm-snapshot]: either of them is enough.
  'vm.rollback': {
    needs: (_, { paths }) => [look(paths), need(['VM.Snapshot.Rollback', 'VM.Snapshot'], paths, SNAPSHOT)],
  },
  'vm.ha': { needs: (_, { paths }) => [look(paths), need('Sys.Console', on('/'), { field: 'ha' })] },
  'vm.destroy': {
    needs: ({ stop }, { vm, paths, hidden }) => [
      look(paths),
      need('VM.Allocate', paths, WHOLE),
      ...((vm.running || hidden) && stop !== 'refuse' ? [need('VM.PowerMgmt', paths, WHOLE)] : []),
    ],
    // ACL entries on its path are removed with the VM: creating it again needs privileges from above.
    after: (_, { vm }) => ({ paths: [ANY_VM], vm: emptyVm(vm.vmid, vm.node) }),
  },
  'vm.migrate': {
    needs: ({ storage }, { paths }) => [
      look(paths),
      need('VM.Migrate', paths, { field: 'node' }),
      ...(storage === undefined
        ? []
        : [
            need('VM.Config.Disk', paths, { field: 'node' }),
            need('Datastore.AllocateSpace', on(`/storage/${storage}`), { field: 'node' }),
          ]),
    ],
  },
};

/** On both VMs, and on the storage, whose volume gets another name. */
function handOverNeeds({ slot, storage, pool }: HandOverInput, { paths }: VmForecast): Need[] {
  const kept: Cause = { key: slot, part: 'keep' };
  const holder = withPool([ANY_VM], pool);
  return [
    look(paths),
    look(holder),
    need('VM.Config.Disk', paths, kept),
    need('VM.Config.Disk', holder, kept),
    need('Datastore.AllocateSpace', on(`/storage/${storage}`), kept),
  ];
}

/** Privileges on a pool apply to its members. */
function withPool(paths: OneOf<AclPath>, pool: string | undefined): OneOf<AclPath> {
  return pool === undefined ? paths : [...paths, { path: `/pool/${pool}` }];
}

function writesOf(input: ConfigureInput, { vm }: VmForecast, { owner }: StepContext): readonly ConfigWrite[] {
  return configureWrites(desiredValuesOf(input.desired, owner, vm), vm, new Set(input.secrets ?? []));
}

interface ReadinessInput extends ReadyInput {
  /** NICs it will have. */
  readonly slots: readonly string[];
  readonly paths: OneOf<AclPath>;
  readonly rules: PrivilegeRules;
}

interface AgentUse {
  readonly request: AgentRequest;
  /** Field of the file that needs it. */
  readonly field: string;
}

/** The map is total: a new check must say what it requests from the agent. */
type Uses = { readonly [Check in keyof ReadyChecks]: (checks: ReadyChecks, input: ReadinessInput) => AgentUse | false };

const NONE = () => false as const;

const USES: Uses = {
  agentPings: ({ agentPings }) => agentPings > 0 && { request: 'question', field: 'ready.agent' },
  address: ({ address }, input) => address && !isPromised(input) && { request: 'question', field: 'ready.address' },
  osInfo: ({ osInfo }) => osInfo && { request: 'question', field: 'ready.os_info' },
  cloudInit: ({ cloudInit }) => cloudInit && { request: 'file-read', field: 'ready.cloud_init' },
  agentService: ({ agentService }) => agentService && { request: 'exec', field: 'ready.agent_service' },
  commands: ({ commands }) => commands.length > 0 && { request: 'exec', field: 'ready.exec' },
  ports: ({ ports }, input) => ports.length > 0 && !isPromised(input) && { request: 'question', field: 'ready.tcp' },
  portsIfAddressed: NONE,
  settleMs: NONE,
  timeoutMs: NONE,
};

/** What waiting for a guest needs. */
function readinessNeeds(input: ReadinessInput): Need[] {
  const { checks, paths, rules } = input;
  const uses = Object.values(USES).flatMap((use) => use(checks, input) || []);
  return [
    need('VM.Audit', paths, { field: 'power' }),
    ...uses.map(({ request, field }) => need(agentPrivileges(request, rules), paths, { field })),
  ];
}

/** The stack has the address, so the guest need not be asked. */
function isPromised({ nics, slots }: ReadinessInput): boolean {
  const slot = managedNic({ nics }, slots);
  return slot !== undefined && staticAddresses(nics?.[slot]).length > 0;
}

export type AgentRequest =
  /** Ping, and questions about the guest. */
  | 'question'
  | 'file-read'
  /** A program in the guest. */
  | 'exec';

const RIGHTS: Readonly<Record<AgentRequest, OneOf<string>>> = {
  question: ['VM.GuestAgent.Audit', 'VM.GuestAgent.Unrestricted'],
  'file-read': ['VM.GuestAgent.FileRead', 'VM.GuestAgent.Unrestricted'],
  exec: ['VM.GuestAgent.Unrestricted'],
};

/** Before Proxmox VE 9 one privilege covered it all. */
export function agentPrivileges(request: AgentRequest, { agent }: PrivilegeRules): OneOf<string> {
  return agent === 'VM.Monitor' ? ['VM.Monitor'] : RIGHTS[request];
}
