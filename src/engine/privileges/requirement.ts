/** What a plan needs of its token, once for each set of privileges and paths, with everything in the stack that asks for it. */

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
  /** Any one of them is enough. */
  readonly privileges: OneOf<string>;
  /** On any one of these. */
  readonly paths: OneOf<AclPath>;
  readonly because: OneOf<Because>;
  /** Whoever has all of these needs it not. */
  readonly instead?: OneOf<Pick<Requirement, 'privileges' | 'paths'>>;
  /** More than a VM's own affairs: it reaches into the hosts, or into the guest as its administrator. */
  readonly strong?: true;
}

/** A privilege for each of these is worth a second thought. */
const STRONG = new Set(['Sys.Modify', 'Sys.Console', 'Datastore.Allocate', 'VM.GuestAgent.Unrestricted', 'VM.Monitor']);

/** The same need, said by many, is one requirement. */
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

/** `/vms/101`; `/vms/…` where everything below is meant. */
export function printPath({ path, below }: AclPath): string {
  return below ? `${path}/…` : path;
}

export interface FieldFinder {
  whereOf(cause: Cause): Where;
}

/** `vm` is undefined where it has left the file: then only its address is known. */
export function fieldFinder(vm: ResolvedVm | undefined, address: Address, observed: Observed): FieldFinder {
  if (!vm) return { whereOf: () => ({ address }) };
  const wanted = desiredConfig(vm.fields, { ownershipLine: ' ', pciMappings: pciMappingsFor(vm, observed) });
  return {
    whereOf: (cause) => {
      if ('field' in cause) return whereOf(vm, cause.field);
      const { key, part } = cause;
      const fields = wanted.get(key)?.fields ?? [];
      const field = fields.find(({ parts }) => part !== undefined && parts.includes(part)) ?? fields[0];
      // Secrets are left out above, because their values are nobody's business here.
      return whereOf(
        vm,
        field?.path ?? (key === 'cipassword' ? 'cloud_init.password' : OWNERS[key.replace(/\d+$/, '')]),
      );
    },
  };
}

/** Of an image, wherever it is brought to. */
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

/** Keys that are written because of a field with another name. */
const OWNERS: Readonly<Record<string, string>> = {
  net: 'nics',
  scsi: 'disks',
  ide: 'disks',
  sata: 'disks',
  virtio: 'disks',
};

/** What a release asks for where releases differ. */
export function privilegeRules(server: ServerVersion): PrivilegeRules {
  return {
    agent: privilegesOf(server).has('VM.Monitor') ? 'VM.Monitor' : 'VM.GuestAgent',
    tagsOfNewVms: behaves(server, 'tags of new VMs checked'),
    cpuModels: behaves(server, 'processor models with paths') ? 'mapping' : 'nodes',
    randomNumbers: behaves(server, 'random number generators for everybody'),
  };
}
