/**
 * The documents of a NoCloud volume, out of the fields of a VM and what its stack brings itself. One's own are passed on
 * as they are; what the fields say stands below them, as vendor data, which cloud-init lets user data overrule.
 */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import type { Secret } from '../../../base/secret.ts';
import type { OwnDocument, SeedFields } from './fields.ts';
import { networkConfig } from './network-config.ts';
import { passwordHash } from './password-hash.ts';

export interface SeedSource {
  readonly fields: SeedFields;
  /** NIC slot → MAC address. */
  readonly macs: Readonly<Record<string, string>>;
  /** The VM's uuid: of two VMs that are told the same, each has a seed of its own. */
  readonly uuid: string;
  readonly secrets: Readonly<Partial<Record<OwnDocument | 'password', Secret>>>;
}

export type DocumentName = 'meta-data' | 'user-data' | 'vendor-data' | 'network-config';

/** Contents are secret: one's own may hold anything. */
export type SeedDocuments = Readonly<Partial<Record<DocumentName, string>>>;

const INSTANCE_ID_DIGITS = 40;

export function seedDocuments(source: SeedSource): SeedDocuments {
  const { fields, macs, secrets } = source;
  const network = secrets.network_data?.reveal() ?? yaml(networkConfig(fields, macs));
  const others = {
    ...usersOf(source),
    ...(network !== undefined && { 'network-config': network }),
  };
  return { 'meta-data': secrets.meta_data?.reveal() ?? metaData(source, others), ...others };
}

function usersOf({ fields, uuid, secrets }: SeedSource): SeedDocuments & { readonly 'user-data': string } {
  const own = secrets.user_data?.reveal();
  // Talos knows no accounts; this first line tells it that there is no machine configuration here.
  if (fields.guest === 'talos') return { 'user-data': own ?? '#cloud-config\n' };
  const password = secrets.password && passwordHash(secrets.password.reveal(), uuid);
  if (own !== undefined) return { 'user-data': own, 'vendor-data': cloudConfig(fields, password, fields.upgrade) };
  return { 'user-data': cloudConfig(fields, password, fields.upgrade ?? true) };
}

/** The host name is in the meta-data, so that meta-data of one's own can have another. */
function cloudConfig(
  { user, sshKeys }: SeedFields,
  password: string | undefined,
  upgrade: boolean | undefined,
): string {
  const config = {
    manage_etc_hosts: true,
    ...(user !== undefined && { user }),
    ...(user === 'root' ? { disable_root: false } : { users: ['default'] }),
    ...(password !== undefined && { password }),
    ...(sshKeys && { ssh_authorized_keys: sshKeys.map((key) => key.trim()) }),
    chpasswd: { expire: false },
    ...(upgrade !== undefined && { package_upgrade: upgrade }),
  };
  return `#cloud-config\n${yaml(config)}`;
}

/**
 * The instance id follows the other documents: what changes makes it another instance, for which cloud-init does at the
 * next boot what it does once for each. Proxmox's own drive does the same.
 */
function metaData({ fields: { name, dns, guest }, uuid }: SeedSource, others: SeedDocuments): string {
  const hostname = name.includes('.') || dns?.domain === undefined ? name : `${name}.${dns.domain}`;
  return yaml({
    'instance-id': digestOf([uuid, hostname], others).slice(0, INSTANCE_ID_DIGITS),
    'local-hostname': hostname,
    // Releases of Talos before 1.8 know it by this name only.
    ...(guest === 'talos' && { hostname }),
  });
}

/** Over names, lengths and contents, so that nothing can move from one document into the next unseen. */
export function digestOf(about: readonly string[], documents: SeedDocuments): string {
  const hash = createHash('sha256');
  const parts = Object.entries(documents).sort(([left], [right]) => (left < right ? -1 : 1));
  for (const part of [...about, ...parts.flat()]) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex');
}

/** All texts in quotes: readers of older YAML take some MAC addresses for numbers and some words for booleans. */
function yaml(value: object): string;
function yaml(value: object | undefined): string | undefined;
function yaml(value: object | undefined): string | undefined {
  return value && stringify(value, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', lineWidth: 0 });
}

/** First lines by which cloud-init knows what it has been given. */
const CLOUD_INIT_KINDS = /^(#cloud-config|#!|#include|#cloud-boothook|#part-handler|#upstart-job|## template: ?jinja)/;
const MIME_MESSAGE = /^(content-type|mime-version|from |received):?/i;

/** Why user data of one's own would be passed over by its guest without a word; undefined where it would not. */
export function userDataProblem(guest: SeedFields['guest'], text: string): string | undefined {
  switch (guest) {
    case 'talos':
      return /^#cloud-config\s*$/m.test(text.split('\n', 1)[0] ?? '')
        ? 'Talos passes over user data whose first line is "#cloud-config"; it wants a machine configuration.'
        : undefined;
    case 'cloud-init':
      return CLOUD_INIT_KINDS.test(text) || MIME_MESSAGE.test(text)
        ? undefined
        : 'cloud-init passes over user data that does not say in its first line what it is, for example "#cloud-config" or "#!/bin/sh".';
    case 'plain':
      return undefined;
  }
}
