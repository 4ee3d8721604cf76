/**
 * State of the templates. Finds a disk that is detached from its slot or missing from its storage, before a clone fails to
 * boot because of it.
 */

import { nodeCommand } from '../../../base/text/node-command.ts';
import { fromWireBoolean, parseBootOrder, storageOfVolume } from '../../../pve/wire/index.ts';
import type { Examined } from '../../doctor/examined.ts';
import { type Finding, findingsOf } from '../../doctor/finding.ts';
import { whereOf } from '../../fields/positions.ts';
import type { TemplateCandidate } from '../../template/observed.ts';
import { drivesOf, findCloudInitDrive, isFixedDrive } from '../config/disks.ts';
import { propertyOf } from '../config/parts.ts';
import { readyChecks } from '../ready/checks.ts';
import type { ResolvedVm } from '../stack.ts';
import { templateOf, volumeKey } from './examine.ts';

type CheckInput = Pick<Examined, 'stack' | 'observed' | 'volumes'>;

interface Case {
  readonly template: TemplateCandidate;
  readonly values: ReadonlyMap<string, string>;
  /** VMs cloned from it. */
  readonly vms: readonly ResolvedVm[];
}

const say = findingsOf('template');

export function checkTemplates(examination: CheckInput): Finding[] {
  return casesOf(examination).flatMap((each) => {
    const faults = [
      ...checkLock(each),
      ...checkDisk(each),
      ...checkBoot(each),
      ...checkVolumes(each, examination.volumes),
      ...checkAgent(each),
      ...checkCloudInit(each),
    ];
    const isWell = faults.every(({ verdict }) => verdict === 'unknown');
    return isWell ? [say.good(`${titleOf(each)} has a disk, boots from it, and fits its guests.`), ...faults] : faults;
  });
}

/** The plan reports templates that cannot be chosen or read. */
function casesOf({ stack, observed }: CheckInput): Case[] {
  const cases = new Map<number, Case>();
  for (const vm of stack.vms) {
    const choice = templateOf(vm, observed);
    if (!choice) continue;
    const { vmid } = choice.template;
    const known = cases.get(vmid) ?? { template: choice.template, values: choice.vm.current, vms: [] };
    cases.set(vmid, { ...known, vms: [...known.vms, vm] });
  }
  return [...cases.values()];
}

const titleOf = ({ template: { vmid, name } }: Case) => `Template ${vmid}${name === undefined ? '' : ` (${name})`}`;

const disksOf = (values: ReadonlyMap<string, string>) =>
  drivesOf(values).filter(({ kind, key }) => kind === 'disk' && !isFixedDrive(key));

function checkLock(each: Case): Finding[] {
  const lock = each.values.get('lock');
  if (lock === undefined) return [];
  const { vmid, node } = each.template;
  return [
    say.bad(`${titleOf(each)} is locked (${lock}).`, {
      remedy: `If no task is using it, run as root on ${node}: ${nodeCommand('qm unlock', [vmid])}`,
    }),
  ];
}

/** Without a disk, every VM needs an image in the file. */
function checkDisk(each: Case): Finding[] {
  if (disksOf(each.values).length > 0) return [];
  const bare = each.vms.filter(({ fields }) =>
    Object.values(fields.disks ?? {}).every(({ import_from, iso }) => import_from === undefined && !iso),
  );
  if (bare.length === 0) return [];
  const { vmid, node } = each.template;
  const lost = [...each.values].find(([key]) => /^unused\d+$/.test(key));
  return [
    say.bad(
      lost
        ? `${titleOf(each)} has a detached disk: ${lost[1]} is not attached to any slot. Clones would have nothing to boot from.`
        : `${titleOf(each)} has no disk. Clones would have nothing to boot from.`,
      {
        remedy: lost
          ? `On ${node}: ${nodeCommand('qm set', [vmid], { scsi0: lost[1], boot: 'order=scsi0' })}`
          : `On ${node}: ${nodeCommand('qm disk import', [vmid, 'IMAGE', 'STORAGE'])}, then ${nodeCommand('qm set', [vmid], { scsi0: 'STORAGE:VOLUME', boot: 'order=scsi0' })}`,
      },
    ),
  ];
}

function checkBoot(each: Case): Finding[] {
  const disks = disksOf(each.values).map(({ key }) => key);
  const inheriting = each.vms.filter(({ fields }) => fields.boot === undefined);
  const text = each.values.get('boot');
  if (disks.length === 0 || inheriting.length === 0 || text === undefined) return [];
  const parsed = parseBootOrder(text);
  // The old format (`cdn`) finds a disk by itself.
  if (parsed?.kind !== 'order') return [];
  const order = parsed.devices;
  const missing = order.filter((device) => !each.values.has(device));
  const { vmid, node } = each.template;
  const remedy = `On ${node}: ${nodeCommand('qm set', [vmid], { boot: `order=${disks[0]}` })}. Or in the file: boot: [${disks[0]}]`;
  if (missing.length > 0) {
    return [
      say.bad(`The boot order of ${titleOf(each)} contains ${missing.join(', ')}, which does not exist.`, { remedy }),
    ];
  }
  if (order.some((device) => disks.includes(device))) return [];
  return [say.bad(`${titleOf(each)} does not boot from a disk: its boot order is ${text}.`, { remedy })];
}

/** A volume in the configuration that does not exist on the storage. */
function checkVolumes(each: Case, volumes: Examined['volumes']): Finding[] {
  return disksOf(each.values).flatMap(({ key, file, volume }): Finding[] => {
    const storage = volume && storageOfVolume(volume);
    const listed = storage === undefined ? undefined : volumes.get(volumeKey(each.template, storage));
    if (!listed) return [];
    if (!listed.ok) return [say.unread(`Whether ${key} of ${titleOf(each)} exists on ${storage}`, listed.needs)];
    if (listed.value.has(file)) return [];
    return [
      say.bad(`${titleOf(each)} uses ${file} as ${key}, but ${storage} has no such volume.`, {
        remedy: `Rebuild the template, or on ${each.template.node}: ${nodeCommand('qm disk rescan', [], { vmid: each.template.vmid })}`,
      }),
    ];
  });
}

function checkAgent(each: Case): Finding[] {
  const isOn = fromWireBoolean(propertyOf('agent', each.values.get('agent')).get('enabled') ?? '0') ?? false;
  const waiting = each.vms.find(({ fields }) => {
    const asks = readyChecks(fields, 0).agentPings > 0 && fields.power === 'running';
    return asks && (fields.agent?.enabled ?? isOn) === false;
  });
  if (!waiting) return [];
  return [
    say.bad(`The guest agent is disabled in ${titleOf(each)}, but ${waiting.address} waits for it.`, {
      remedy:
        'If the agent is installed in the guest, set agent: { enabled: true }; otherwise set ready: { agent: false }',
      where: whereOf(waiting, 'guest'),
    }),
  ];
}

function checkCloudInit(each: Case): Finding[] {
  if (findCloudInitDrive(each.values)) return [];
  const lacking = each.vms.find(({ fields }) => {
    const { guest, cloud_init, nics = {} } = fields;
    const gives = cloud_init !== undefined || Object.values(nics).some(({ ipv4, ipv6 }) => ipv4 ?? ipv6);
    return guest === 'cloud-init' && gives && cloud_init?.storage === undefined;
  });
  if (!lacking) return [];
  const [disk] = disksOf(each.values);
  const storage = disk?.file.split(':')[0] ?? 'STORAGE';
  return [
    say.bad(
      `${titleOf(each)} has no cloud-init drive, so the cloud-init settings of ${lacking.address} would have no effect.`,
      {
        remedy: `Set cloud_init: { storage: ${storage} }, or on ${each.template.node}: ${nodeCommand('qm set', [each.template.vmid], { ide2: `${storage}:cloudinit` })}`,
        where: whereOf(lacking, 'cloud_init'),
      },
    ),
  ];
}
