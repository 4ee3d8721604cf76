/** What a template must be before it is called finished: its clones can be no better. Pure. */
import { advice, type Hint, setting } from '../../base/hint.ts';
import { fromWireBoolean, parseBootOrder } from '../../pve/wire/index.ts';
import { drivesOf, findCloudInitDrive, isFixedDrive } from '../vm/disks.ts';
import type { VmFields } from '../vm/fields/index.ts';
import { propertyOf } from '../vm/parts.ts';

export interface TemplateFault {
  /** One sentence. */
  readonly detail: string;
  /** What to write in the file. */
  readonly hint: Hint | string;
  /** Field that decides about it. */
  readonly field: string;
}

/** What the file says of the guest inside. */
export interface TemplateGuest {
  readonly guest: VmFields['guest'];
  /** Whether it has a guest agent; undefined where nobody thought of it. */
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
    const detail = 'It has no disk, so its clones would find nothing to boot from.';
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
  // Without an order, and with one of the older kind, Proxmox finds the disk by itself.
  if (order?.kind !== 'order') return [];
  const [device] = order.devices;
  if (disks.some(({ key }) => key === device)) return [];
  return [
    {
      detail: `It boots from ${device ?? 'nothing'} first, which is no disk of its own.`,
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
            hint: advice`Say ${setting('install', {})} if the system comes from it, else take disks.${key} out.`,
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
      detail: 'Its guest is configured by cloud-init, and it has no cloud-init drive.',
      hint: advice`Write ${setting('cloud_init', { storage: '…' })}, or ${setting('guest', 'plain')}.`,
      field: 'cloud_init',
    });
  }
  // Switched off on purpose is an answer, though Proxmox, which assumes as much, keeps none; that nobody thought of it is none.
  if (said === undefined && (agent === undefined || fromWireBoolean(agent) === undefined)) {
    faults.push({
      detail: 'Its clones are waited for by their guest agent, and it says nothing about one.',
      hint: advice`Write ${setting('agent', { enabled: true })} if the image has it or cloud-init installs it, else ${setting('agent', { enabled: false })}.`,
      field: 'agent',
    });
  }
  return faults;
}
