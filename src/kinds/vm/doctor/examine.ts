/** What the checks of VMs look at: what is read for them, and what they ask about one VM. A missing privilege is a result. */
import { storageOfVolume } from '../../../pve/wire/index.ts';
import { type Readable, readIfAllowed } from '../../cluster.ts';
import type { ExamineContext, ExaminedPart } from '../../doctor/examined.ts';
import type { Observed } from '../../observed.ts';
import { machinesOf } from '../../stack.ts';
import type { TemplateCandidate } from '../../template/observed.ts';
import { drivesOf } from '../config/disks.ts';
import type { ObservedNode } from '../observe/observed-vms.ts';
import { candidatesOf } from '../placement/candidates.ts';
import { chooseTemplate, type TemplateChoice } from '../plan/choices/choose-template.ts';
import type { ResolvedVm } from '../stack.ts';

export async function examineMachines(context: ExamineContext): Promise<ExaminedPart> {
  const [nodes, volumes] = await Promise.all([readNodes(context), readVolumes(context)]);
  return { nodes, volumes };
}

async function readNodes({ pve, stack, observed, signal }: ExamineContext): Promise<Map<string, ObservedNode>> {
  const names = [...new Set(machinesOf(stack).flatMap((vm) => candidatesOf(vm, observed.nodes)))].filter(
    (node) => observed.nodes.get(node)?.online,
  );
  const observedNodes = names.map(async (name): Promise<[string, ObservedNode]> => {
    const node = pve.node(name);
    const [status, vms] = await Promise.all([
      readIfAllowed(() => node.status({ signal }), `Sys.Audit on /nodes/${name}`),
      node.vms.list({}, { signal }),
    ]);
    return [name, { status, vms }];
  });
  return new Map(await Promise.all(observedNodes));
}

/** An empty list may also mean that the token cannot see the volumes, so their privileges are checked first. */
async function readVolumes({ pve, placed, observed, signal, grants }: ExamineContext) {
  const volumes = new Map<string, Readable<ReadonlySet<string>>>();
  for (const vm of placed.vms) {
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
      const listed = await readIfAllowed(list, `Datastore.Audit on /storage/${storage}`);
      volumes.set(key, listed.ok ? { ok: true, value: new Set(listed.value.map(({ volid }) => volid)) } : listed);
    }
  }
  return volumes;
}

export function volumeKey({ node, vmid }: Pick<TemplateCandidate, 'node' | 'vmid'>, storage: string): string {
  return `${node}/${storage}/${vmid}`;
}

/** Configuration of the VM or, if it does not exist yet, of its template; empty if neither is known. */
export function baseOf(vm: ResolvedVm, observed: Observed): ReadonlyMap<string, string> {
  const found = observed.vms.get(vm.address);
  if (found?.kind === 'present') return found.vm.current;
  return templateOf(vm, observed)?.vm.current ?? new Map();
}

export function templateOf(vm: ResolvedVm, observed: Observed): (TemplateChoice & { ok: true }) | undefined {
  const choice = vm.fields.clone && chooseTemplate(vm, observed);
  return choice?.ok ? choice : undefined;
}

export function isThere(vm: ResolvedVm, observed: Observed): boolean {
  const kind = observed.vms.get(vm.address)?.kind;
  return kind === 'present' || kind === 'hidden';
}

/** Storages that its disks are on or will be on. */
export function storagesOf(vm: ResolvedVm, observed: Observed): Set<string> {
  const { clone, disks = {}, efi, tpm, cloud_init } = vm.fields;
  const inherited = drivesOf(baseOf(vm, observed)).flatMap(({ volume }) => (volume && storageOfVolume(volume)) ?? []);
  const given = Object.values(disks).flatMap(({ storage, iso }) => [
    storage,
    typeof iso === 'string' ? iso.split(':')[0] : undefined,
  ]);
  const kept = clone?.storage !== undefined && !isThere(vm, observed) ? [] : inherited;
  const all = [...kept, clone?.storage, ...given, efi?.storage, tpm?.storage, cloud_init?.storage];
  return new Set(all.filter((storage): storage is string => storage !== undefined));
}
