/** What a plan needs, once for each set of privileges and paths, with the lines of the stack file that need it. */

import { type Address, covers } from '../../base/address.ts';
import type { Where } from '../../base/diagnostics.ts';
import type { Observed } from '../../kinds/observed.ts';
import { pciMappingsFor } from '../../kinds/pci-mapping/plan.ts';
import type { ResolvedStack, ResolvedVm } from '../../kinds/stack.ts';
import { desiredConfig } from '../../kinds/vm/desired-config.ts';
import type { AclPath, Cause, OneOf, PrivilegeRules } from '../../kinds/vm/privileges/need.ts';
import { whereOf } from '../../kinds/vm/where.ts';
import { behaves, privilegesOf, type ServerVersion } from '../../pve/compatibility.ts';

export interface Because {
  /** Position, address and field. */
  readonly where: Where;
  /** `vm.clone`, `ready`. */
  readonly step: string;
}

export interface Requirement {
  /** One of these is enough. */
  readonly privileges: OneOf<string>;
  /** On one of these. */
  readonly paths: OneOf<AclPath>;
  readonly because: OneOf<Because>;
  /** Not needed if all of these are granted. */
  readonly instead?: OneOf<Pick<Requirement, 'privileges' | 'paths'>>;
  /** Reaches beyond the VM: into the hosts, or into the guest as its administrator. */
  readonly strong?: true;
}

const STRONG = new Set(['Sys.Modify', 'Sys.Console', 'Datastore.Allocate', 'VM.GuestAgent.Unrestricted', 'VM.Monitor']);

/** Merges equal needs into one requirement. */
export class RequirementList {
  readonly #byKey = new Map<string, Requirement>();

  add(need: Pick<Requirement, 'privileges' | 'paths' | 'instead'>, because: Because): void {
    const { privileges, paths, instead } = need;
    const key = `${privileges.join('|')} ${paths.map(printPath).join('|')}`;
    const known = this.#byKey.get(key);
    const asked: OneOf<Because> = known ? [...known.because, because] : [because];
    const isKnown = known?.because.some(({ where, step }) => isSame(where, because.where) && step === because.step);
    if (isKnown) return;
    this.#byKey.set(key, {
      privileges,
      paths,
      because: asked,
      ...(instead && { instead }),
      ...(STRONG.has(privileges[0]) && { strong: true as const }),
    });
  }

  get all(): Requirement[] {
    return [...this.#byKey.values()];
  }
}

const isSame = (a: Where, b: Where) => a.address === b.address && a.field === b.field;

/** `/vms/101`, or `/vms/…` for everything below. */
export function printPath({ path, below }: AclPath): string {
  return below ? `${path}/…` : path;
}

export interface FieldFinder {
  whereOf(cause: Cause): Where;
}

/** Finds the line of the file that needs a key of the configuration. `vm` is undefined if it is no longer in the file. */
export function fieldFinder(vm: ResolvedVm | undefined, address: Address, observed: Observed): FieldFinder {
  if (!vm) return { whereOf: () => ({ address }) };
  const desired = desiredConfig(vm.fields, { ownershipLine: ' ', pciMappings: pciMappingsFor(vm, observed) });
  return {
    whereOf: (cause) => {
      if ('field' in cause) return whereOf(vm, cause.field);
      const { key, part } = cause;
      const fields = desired.get(key)?.fields ?? [];
      const field = fields.find(({ parts }) => part !== undefined && parts.includes(part)) ?? fields[0];
      // `desired` has no secrets, so their fields are named here.
      return whereOf(
        vm,
        field?.path ?? (key === 'cipassword' ? 'cloud_init.password' : OWNERS[key.replace(/\d+$/, '')]),
      );
    },
  };
}

/** For an image, on any of its nodes. */
export function imageFinder({ images }: Pick<ResolvedStack, 'images'>, address: Address): FieldFinder {
  const image = images.find((each) => covers(each.address, address));
  const positions = image?.positions ?? {};
  return {
    whereOf: (cause) => {
      const field = 'field' in cause ? cause.field : '';
      return { ...(positions[field] ?? positions['']), address, ...(field !== '' && { field }) };
    },
  };
}

/** Fields of keys that have another name. */
const OWNERS: Readonly<Record<string, string>> = {
  net: 'nics',
  scsi: 'disks',
  ide: 'disks',
  sata: 'disks',
  virtio: 'disks',
};

/** What depends on the release. */
export function privilegeRules(server: ServerVersion): PrivilegeRules {
  return {
    agent: privilegesOf(server).has('VM.Monitor') ? 'VM.Monitor' : 'VM.GuestAgent',
    tagsOfNewVms: behaves(server, 'tags of new VMs checked'),
    cpuModels: behaves(server, 'processor models with paths') ? 'mapping' : 'nodes',
    randomNumbers: behaves(server, 'random number generators for everybody'),
  };
}
