/**
 * Proxmox shows a weak token a smaller world: templates, storages and bridges that it may not use are simply not listed. A
 * complaint that something does not exist is turned into what it really may be: a privilege that is missing.
 */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { AuthError } from '../../base/errors.ts';
import type { Pve } from '../../pve/client.ts';
import { LOCAL_ZONE } from '../../resources/vm/privileges/devices.ts';
import type { AclPath, OneOf } from '../../resources/vm/privileges/need.ts';
import type { ResolvedStack, ResolvedVm } from '../../spec/types.ts';
import { Grants, isRealRoot } from './grants.ts';

export interface UnseenInput {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  /** Why there is no plan. */
  readonly problems: readonly Diagnostic[];
  readonly signal?: AbortSignal | undefined;
}

/** What would have to be granted for something to be seen at all. */
interface Sight {
  readonly what: string;
  /** Any one of them shows it; the first one is what the plan needs as well. */
  readonly privileges: OneOf<string>;
  readonly path: AclPath;
}

/** The same problems; where the token could not have seen what is called missing, with that as the reason. */
export async function explainUnseen({ pve, stack, problems, signal }: UnseenInput): Promise<readonly Diagnostic[]> {
  if (isRealRoot(pve)) return problems;
  const grants = new Grants(pve, signal);
  const sights = problems.map((problem) => sightOf(problem, stack));
  await grants.ask(sights.flatMap((sight) => (sight ? [sight.path.path] : [])));
  const isHeld = ({ privileges, path }: Sight) => grants.holds({ privileges, paths: [path] });
  const shadowed = sights.some((sight) => sight?.path.below && isHeld(sight)) ? await shadowedVms(pve, signal) : [];
  return problems.map((problem, index) => {
    const sight = sights[index];
    if (!sight) return problem;
    if (!isHeld(sight)) return unseen(problem, sight, pve.principal);
    const [path] = sight.path.below ? shadowed : [];
    return path === undefined ? problem : unseen(problem, { ...sight, path: { path } }, pve.principal);
  });
}

/** VMs on which an entry of their own replaces the right to look that is passed on from above. */
async function shadowedVms(pve: Pve, signal: AbortSignal | undefined): Promise<string[]> {
  const permissions = await pve.access.permissions({}, { signal });
  return Object.entries(permissions).flatMap(([path, granted]) =>
    /^\/vms\/\d+$/.test(path) && !('VM.Audit' in granted) ? [path] : [],
  );
}

function unseen(problem: Diagnostic, { what, privileges, path }: Sight, principal: string): Diagnostic {
  const [first] = privileges;
  return new AuthError({
    code: 'PRIVILEGE_MISSING',
    ...(problem.where && { where: problem.where }),
    detail: `${problem.detail}\n${principal} would not see ${what} if it were there: it lacks ${first} on ${path.path}.`,
    hint: `Grant ${first} on ${path.path} to the user and, with privilege separation, to its token; or correct the name.`,
  }).diagnostic;
}

function sightOf({ code, where }: Diagnostic, stack: ResolvedStack): Sight | undefined {
  const vm = stack.vms.find(({ address }) => address === where?.address);
  if (!vm || (code !== 'MISSING_REFERENCE' && code !== 'PRIVILEGE_MISSING')) return undefined;
  const parts = where?.field?.split('.') ?? [];
  return templateSight(vm, parts) ?? bridgeSight(vm, parts) ?? storageSight(vm, parts);
}

function templateSight({ fields }: ResolvedVm, parts: readonly string[]): Sight | undefined {
  if (parts.join('.') !== 'clone.template' || !fields.clone) return undefined;
  const { template } = fields.clone;
  const isId = /^\d+$/.test(String(template));
  return {
    what: isId ? `VM ${template}` : `a template "${template}"`,
    privileges: ['VM.Audit'],
    path: isId ? { path: `/vms/${template}` } : { path: '/vms', below: true },
  };
}

function bridgeSight({ fields }: ResolvedVm, [owner, slot = '', name]: readonly string[]): Sight | undefined {
  const nic = owner === 'nics' && name === 'bridge' ? fields.nics?.[slot] : undefined;
  if (nic?.bridge === undefined) return undefined;
  const path = `${LOCAL_ZONE}/${nic.bridge}`;
  return {
    what: `the bridge "${nic.bridge}"`,
    privileges: ['SDN.Use', 'SDN.Audit'],
    path: { path: nic.vlan ? `${path}/${nic.vlan}` : path },
  };
}

function storageSight({ fields }: ResolvedVm, parts: readonly string[]): Sight | undefined {
  const [owner, slot = '', name] = parts;
  const disk = owner === 'disks' ? fields.disks?.[slot] : undefined;
  const storage =
    disk === undefined
      ? { clone: fields.clone?.storage, efi: fields.efi?.storage, tpm: fields.tpm?.storage }[owner ?? '']
      : name === 'iso'
        ? String(disk.iso).split(':')[0]
        : disk.storage;
  return storage === undefined
    ? undefined
    : {
        what: `the storage "${storage}"`,
        privileges: ['Datastore.AllocateSpace', 'Datastore.Audit'],
        path: { path: `/storage/${storage}` },
      };
}
