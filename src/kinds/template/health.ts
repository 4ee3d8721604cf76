/** What a template must have before it counts as finished, because its clones inherit every fault. Pure. */
import { advice, type Hint, setting } from '../../base/hint.ts';
import { fromWireBoolean, parseBootOrder } from '../../pve/wire/index.ts';
import { drivesOf, findCloudInitDrive, isFixedDrive } from '../vm/config/disks.ts';
import { propertyOf } from '../vm/config/parts.ts';
import type { VmFields } from '../vm/fields/index.ts';

export interface TemplateFault {
  /** One sentence. */
  readonly detail: string;
  /** What to change in the file. */
  readonly hint: Hint | string;
  /** The field to change. */
  readonly field: string;
}

/** What the file says about the guest. */
export interface TemplateGuest {
  readonly guest: VmFields['guest'];
  /** Whether it has a guest agent; undefined if the file does not say. */
  readonly agent?: boolean | undefined;
}

export function templateFaults(values: ReadonlyMap<string, string>, { guest, agent }: TemplateGuest): TemplateFault[] {
  return [
    ...diskFaults(values),
    ...mediumFaults(values),
    ...(guest === 'cloud-init' ? cloudInitFaults(values, agent) : []),
  ];
}

function diskFaults(values: ReadonlyMap<string, string>): TemplateFault[] {
  const disks = drivesOf(values).filter(({ kind, key }) => kind === 'disk' && !isFixedDrive(key));
  const [first] = disks;
  if (!first) {
    const detail = 'It has no disk, so its clones could not boot.';
    return [
      {
        detail,
        hint: advice`Give it a disk with an image: ${setting('disks', { scsi0: { image: '…', storage: '…' } })}.`,
        field: 'disks',
      },
    ];
  }
  const boot = values.get('boot');
  const order = boot === undefined ? undefined : parseBootOrder(boot);
  // Without a boot order, or with one in the older format, Proxmox finds the disk itself.
  if (order?.kind !== 'order') return [];
  const [device] = order.devices;
  if (disks.some(({ key }) => key === device)) return [];
  return [
    {
      detail: `It boots from ${device ?? 'nothing'} first, which is not one of its disks.`,
      hint: advice`Put a disk first: ${setting('boot', [first.key])}.`,
      field: 'boot',
    },
  ];
}

function mediumFaults(values: ReadonlyMap<string, string>): TemplateFault[] {
  return drivesOf(values).flatMap(({ kind, key, file }): TemplateFault[] =>
    kind === 'cdrom' && file !== 'none'
      ? [
          {
            detail: `${file} is still in its drive ${key}, and every clone would get it.`,
            hint: advice`Write ${setting('install', {})} if the system is installed from it; otherwise remove disks.${key}.`,
            field: `disks.${key}`,
          },
        ]
      : [],
  );
}

function cloudInitFaults(values: ReadonlyMap<string, string>, said: boolean | undefined): TemplateFault[] {
  const agent = propertyOf('agent', values.get('agent')).get('enabled');
  const faults: TemplateFault[] = [];
  if (!findCloudInitDrive(values)) {
    faults.push({
      detail: 'Its guest uses cloud-init, and it has no cloud-init drive.',
      hint: advice`Write ${setting('cloud_init', { storage: '…' })}, or ${setting('guest', 'plain')}.`,
      field: 'cloud_init',
    });
  }
  // An agent that the file switches off is an answer, although Proxmox stores nothing for its default.
  if (said === undefined && (agent === undefined || fromWireBoolean(agent) === undefined)) {
    faults.push({
      detail: 'Proxwright waits for the guest agent of its clones, and it does not say whether it has one.',
      hint: advice`Write ${setting('agent', { enabled: true })} if the image contains the agent or cloud-init installs it, otherwise ${setting('agent', { enabled: false })}.`,
      field: 'agent',
    });
  }
  return faults;
}
