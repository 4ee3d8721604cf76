/** What a seed needs to know about a VM. It holds no secret and no reference to one, so plans may contain it. */
import type { VmFields } from '../fields/index.ts';

/** Cloud-init files that a stack can provide. */
export const OWN_DOCUMENTS = ['user_data', 'network_data', 'meta_data'] as const;
export type OwnDocument = (typeof OWN_DOCUMENTS)[number];

type CloudInitFields = NonNullable<VmFields['cloud_init']>;
type NicFields = NonNullable<VmFields['nics']>[string];

export interface SeedFields {
  readonly name: string;
  readonly guest: VmFields['guest'];
  readonly nics: Readonly<Record<string, Pick<NicFields, 'ipv4' | 'ipv6'>>>;
  readonly user?: string;
  readonly sshKeys?: readonly string[];
  readonly dns?: { readonly servers?: readonly string[]; readonly domain?: string };
  readonly upgrade?: boolean;
  readonly hasPassword: boolean;
  readonly own: readonly OwnDocument[];
}

/** With custom cloud-init files, Proxwright writes a seed; otherwise Proxmox's drive is used. */
export function ownDocuments(cloudInit: CloudInitFields | undefined): OwnDocument[] {
  return OWN_DOCUMENTS.filter((document) => cloudInit?.[document] !== undefined);
}

/** Undefined if Proxmox's own drive is used. */
export function seedFieldsOf({ name, guest, nics = {}, cloud_init: cloudInit }: VmFields): SeedFields | undefined {
  const own = ownDocuments(cloudInit);
  if (!cloudInit || own.length === 0) return undefined;
  const { user, ssh_keys: sshKeys, dns, upgrade, password } = cloudInit;
  const stays = Object.entries(nics).filter(([, { remove }]) => !remove);
  return {
    name,
    guest,
    nics: Object.fromEntries(
      stays.map(([slot, { ipv4, ipv6 }]) => [slot, { ...(ipv4 && { ipv4 }), ...(ipv6 && { ipv6 }) }]),
    ),
    ...(user !== undefined && { user }),
    ...(sshKeys && { sshKeys }),
    ...(dns && {
      dns: { ...(dns.servers && { servers: dns.servers }), ...(dns.domain !== undefined && { domain: dns.domain }) },
    }),
    ...(upgrade !== undefined && { upgrade }),
    hasPassword: password !== undefined,
    own,
  };
}
