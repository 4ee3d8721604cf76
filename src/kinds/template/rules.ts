/** Rules for templates: what they need to be built, and to boot afterwards. */
import { advice, setting } from '../../base/hint.ts';
import type { Complaint, Rule } from '../fields/rule.ts';
import type { DiskFields } from '../vm/fields/disks.ts';
import type { ResolvedTemplate } from './stack.ts';

/** Its disks, grouped by content. */
interface Drives {
  readonly imported: readonly string[];
  readonly isos: readonly string[];
  readonly empty: readonly string[];
}

function drivesOf({ vm }: ResolvedTemplate): Drives {
  const staying = Object.entries(vm.fields.disks ?? {}).filter(([, { remove }]) => !remove);
  const slots = (belongs: (disk: DiskFields) => boolean) =>
    staying.flatMap(([slot, disk]) => (belongs(disk) ? [slot] : []));
  return {
    imported: slots(({ import_from }) => import_from !== undefined),
    isos: slots(({ iso }) => typeof iso === 'string'),
    empty: slots(({ import_from, iso }) => import_from === undefined && iso === undefined),
  };
}

/** The operating system comes from a VM, from disk images, or from an ISO that installs it. */
const systemHasOneOrigin: Rule<ResolvedTemplate> = {
  reads: ['from', 'install', 'disks'],
  *check(template) {
    const { imported, isos } = drivesOf(template);
    const [image, iso] = [imported[0], isos[0]];
    const hint = 'A template gets its operating system from one source: a VM, disk images, or an ISO that installs it.';
    const twice = (path: string, detail: string): Complaint => ({ path, detail, hint });
    if (template.from !== undefined) {
      if (image !== undefined)
        yield twice(`disks.${image}`, `"${image}" is imported, but the template is a copy ("from").`);
      if (iso !== undefined) yield twice(`disks.${iso}`, `"${iso}" holds an ISO, but the template is a copy ("from").`);
      if (template.install) yield twice('install', '"install" and "from" cannot be used together.');
    } else if (image !== undefined && template.install) {
      yield twice('install', `"install" boots an ISO, but "${image}" gets its operating system from an image.`);
    } else if (iso !== undefined && !template.install) {
      yield {
        path: `disks.${iso}`,
        detail: `The ISO in "${iso}" is never booted, and a template does not keep an ISO.`,
        hint: advice`Let it install itself with ${setting('install', { timeout: '45m' })}, or remove it.`,
      };
    } else if (image === undefined && !template.install) {
      yield {
        path: '',
        detail: `Nothing installs an operating system on the template "${template.name}".`,
        hint: advice`Give a disk an image (${setting('image', 'NAME')}), or use an ISO with ${setting('install', {})}, or copy a VM with ${setting('from', { vm: 'NAME' })}.`,
      };
    }
  },
};

const installationIsPossible: Rule<ResolvedTemplate> = {
  reads: ['from', 'install', 'disks'],
  *check(template) {
    const { imported, isos, empty } = drivesOf(template);
    if (!template.install || template.from !== undefined || imported.length > 0) return;
    if (isos.length === 0) {
      yield {
        path: 'install',
        detail: '"install" boots the template from an ISO, but it has none.',
        hint: advice`Give it a CD drive: ${setting('disks', { ide2: { iso: 'local:iso/NAME.iso' } })}, or use ${setting('image', 'NAME')} there, with an ISO image.`,
      };
    }
    if (empty.length === 0) {
      yield {
        path: 'install',
        detail: '"install" needs an empty disk to install on, but the template has none.',
        hint: advice`Give it one: ${setting('disks', { scsi0: { storage: '…', size: '20GiB' } })}.`,
      };
    }
  },
};

/** The ISO leaves the boot order after the installation; then a disk with an operating system must be first. */
const diskBootsFirst: Rule<ResolvedTemplate> = {
  reads: ['boot', 'disks', 'from', 'cloud_init.storage', 'cloud_init.slot'],
  *check(template) {
    const { boot, cloud_init, disks } = template.vm.fields;
    if (!boot) return;
    const { imported, empty } = drivesOf(template);
    const left = boot.map((device, index) => ({ device, index })).filter(({ device }) => !isIso(disks?.[device]));
    const [first = { device: '', index: 0 }] = left;
    const path = left.length === 0 ? 'boot' : `boot.${first.index}`;
    const isDrive = /^(ide|sata|scsi|virtio)\d+$/.test(first.device) && disks?.[first.device]?.iso === undefined;
    const isSeed = cloud_init?.storage !== undefined && first.device === (cloud_init.slot ?? 'ide2');
    if (!isDrive || isSeed) {
      yield {
        path,
        detail:
          left.length === 0
            ? 'The boot order names no disk, so nothing boots from this template.'
            : `The finished template would boot from "${first.device}" first, which is not a disk with an operating system.`,
        hint: advice`Put the disk with the operating system first: ${setting('boot', [imported[0] ?? empty[0] ?? 'scsi0'])}.`,
      };
    } else if (imported[0] !== undefined && empty.includes(first.device)) {
      yield {
        path,
        detail: `The finished template would boot from "${first.device}" first, which is empty.`,
        hint: advice`Put the disk with the operating system first: ${setting('boot', [imported[0]])}.`,
      };
    }
  },
};

function isIso(disk: DiskFields | undefined): boolean {
  return typeof disk?.iso === 'string';
}

/** The copy and its original must differ in ID and name. */
const copyIsAnother: Rule<ResolvedTemplate> = {
  reads: ['from', 'vmid'],
  *check({ from, name, vm }) {
    if (from === undefined) return;
    if (from === vm.fields.vmid) {
      yield { path: 'from.vm', detail: `The template is a copy of ${from}, so it cannot have the same ID.` };
    }
    if (String(from).toLowerCase() === name.toLowerCase()) {
      yield {
        path: 'from.vm',
        detail: `The template has the name of the VM that it is copied from, "${from}", so the two cannot be distinguished.`,
        hint: 'Give the template another name.',
      };
    }
  },
};

export const TEMPLATE_RULES: readonly Rule<ResolvedTemplate>[] = [
  copyIsAnother,
  diskBootsFirst,
  installationIsPossible,
  systemHasOneOrigin,
];
