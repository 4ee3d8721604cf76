/**
 * When a change of a running VM is felt: at once, after a restart, or never. The table mirrors what the server does with
 * pending changes (vmconfig_hotplug_pending of qemu-server, src/PVE/QemuServer.pm); first match wins.
 */
import { fromWireBoolean, parseBootOrder } from '../../pve/wire/index.ts';
import { isDriveKey, isFixedDrive, parseDrive } from './disks.ts';
import { propertyOf } from './parts.ts';
import { hotplugFeatures } from './words.ts';

export interface KeyChange {
  readonly key: string;
  /** In effect now; undefined where the key is absent. */
  readonly before: string | undefined;
  /** To be written; undefined deletes the key. */
  readonly after: string | undefined;
  readonly running: boolean;
  /** The whole configuration in effect: what may be hotplugged, which guest it is, what it boots from. */
  readonly current: ReadonlyMap<string, string>;
  /** Protection is switched off by the same change. */
  readonly unprotects?: boolean;
}

export type ChangeEffect =
  | { readonly effect: 'live' | 'restart' }
  | { readonly effect: 'impossible'; readonly reason: string };

const LIVE: ChangeEffect = { effect: 'live' };
const RESTART: ChangeEffect = { effect: 'restart' };

export function effectOf(change: KeyChange): ChangeEffect {
  const refusal = isDriveKey(change.key) ? driveRefusal(change) : undefined;
  if (refusal !== undefined) return { effect: 'impossible', reason: refusal };
  if (!change.running) return LIVE;
  const rule = RULES.find(({ keys }) => keys.test(change.key));
  return rule?.isLive(change, new Set(hotplugFeatures(change.current.get('hotplug')))) ? LIVE : RESTART;
}

interface Rule {
  readonly keys: RegExp;
  isLive(change: KeyChange, features: ReadonlySet<string>): boolean;
}

/** What is not listed waits for a restart. */
const RULES: readonly Rule[] = [
  {
    // Nothing in the running machine depends on them; a guest sees cloud-init values at its next boot.
    keys: /^(name|description|onboot|protection|startup|tags|hookscript|shares|lock|migrate_\w+|vmstatestorage)$/,
    isLive: () => true,
  },
  { keys: /^(ci\w+|ipconfig\d+|nameserver|searchdomain|sshkeys)$/, isLive: () => true },
  { keys: /^(cpuunits|cpulimit)$/, isLive: () => true },
  { keys: /^hotplug$/, isLive: ({ before, after }) => !/cpu|memory/.test(`${before ?? ''} ${after ?? ''}`) },
  { keys: /^memory$/, isLive: (_, features) => features.has('memory') },
  { keys: /^vcpus$/, isLive: (_, features) => features.has('cpu') },
  { keys: /^balloon$/, isLive: isBalloonLive },
  { keys: /^tablet$/, isLive: (_, features) => features.has('usb') },
  {
    keys: /^usb\d+$/,
    isLive: ({ current }, features) =>
      features.has('usb') && ['l26', 'win8', 'win10', 'win11'].includes(current.get('ostype') ?? ''),
  },
  { keys: /^agent$/, isLive: isAgentLive },
  { keys: /^net\d+$/, isLive: isNicLive },
  { keys: /^(scsi|virtio|ide|sata)\d+$/, isLive: isDriveLive },
];

/** Switching ballooning on or off needs another device. */
function isBalloonLive({ before, after }: KeyChange): boolean {
  return after === undefined ? before !== '0' : (before === '0') === (after === '0');
}

/** Only trimming after a clone is the host's own business; of an agent that is off nothing counts. */
function isAgentLive({ before, after }: KeyChange): boolean {
  if (before === undefined || before === '0' || after === undefined) return false;
  const [old, wanted] = [agentOptions(before), agentOptions(after)];
  return ['enabled', 'freeze-fs', 'type'].every((option) => old.get(option) === wanted.get(option));
}

function agentOptions(text: string): ReadonlyMap<string, string> {
  const value = propertyOf('agent', text);
  return value.get('enabled') === '1' ? value.entries : new Map();
}

/** The guest's card is replaced for these; the rest is changed outside it. */
const NIC_OPTIONS = ['model', 'macaddr', 'queues', 'mtu'];

function isNicLive({ key, before, after }: KeyChange, features: ReadonlySet<string>): boolean {
  const hasBridge = (text: string) => propertyOf(key, text).get('bridge') !== undefined;
  const isReplug =
    before === undefined ||
    after === undefined ||
    differs(key, before, after, NIC_OPTIONS) ||
    !hasBridge(before) ||
    !hasBridge(after);
  return !isReplug || features.has('network');
}

/** QEMU takes these only when it opens a disk. */
const COLD_DRIVE_OPTIONS = ['aio', 'cache', 'discard', 'iothread', 'product', 'queues', 'ro', 'ssd', 'vendor'];

function isDriveLive({ key, before, after }: KeyChange, features: ReadonlySet<string>): boolean {
  const canPlug = features.has('disk') && /^(scsi|virtio)/.test(key);
  if (before === undefined || after === undefined) return canPlug;
  const [old, wanted] = [parseDrive(key, before), parseDrive(key, after)];
  if (old.kind !== 'disk') return true;
  return old.file === wanted.file ? !differs(key, before, after, COLD_DRIVE_OPTIONS) : canPlug;
}

function driveRefusal(change: KeyChange): string | undefined {
  const { key, before, after, running, current } = change;
  if (before === undefined) return undefined;
  const old = parseDrive(key, before);
  if (after === undefined) {
    if (isProtected(current) && !change.unprotects) return `Protection is on, so ${key} cannot be removed.`;
    return running && isPluggedBootDisk(key, current)
      ? `${key} is a disk the running VM boots from and cannot be unplugged; stop the VM first.`
      : undefined;
  }
  const wanted = parseDrive(key, after);
  if (old.kind !== wanted.kind) return `${key} cannot change between disk, CD drive and cloud-init drive.`;
  if (old.kind === 'cdrom') return undefined;
  if (old.file !== wanted.file) return `The volume of ${key} would be replaced; disks are not moved.`;
  const fixed = isFixedDrive(key) ? ['efitype', 'pre-enrolled-keys', 'version'] : [];
  if (differs(key, before, after, fixed)) return `${key} cannot be changed after it has been made.`;
  return (wanted.sizeBytes ?? Infinity) < (old.sizeBytes ?? 0) ? `${key} cannot shrink.` : undefined;
}

export function isProtected(current: ReadonlyMap<string, string>): boolean {
  return fromWireBoolean(current.get('protection') ?? '0') ?? false;
}

function isPluggedBootDisk(key: string, current: ReadonlyMap<string, string>): boolean {
  const order = parseBootOrder(current.get('boot'));
  const devices = order?.kind === 'order' ? order.devices : [current.get('bootdisk')];
  const canPlug = hotplugFeatures(current.get('hotplug')).includes('disk') && /^(scsi|virtio)/.test(key);
  return canPlug && devices.includes(key);
}

/** The server compares texts: a default written out differs from an absent one. */
function differs(key: string, before: string, after: string, parts: readonly string[]): boolean {
  const [old, wanted] = [propertyOf(key, before), propertyOf(key, after)];
  return parts.some((part) => old.get(part) !== wanted.get(part));
}
