/** What a seed needs to know of a VM. It holds no secret and no reference to one, so it may stand in plans. */
import type { VmFields } from '../fields/index.ts';

/** Documents that a stack can bring itself. */
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

/** Documents of one's own are what makes the difference between Proxmox's drive and a seed of ours. */
export function ownDocuments(cloudInit: CloudInitFields | undefined): OwnDocument[] {
  return OWN_DOCUMENTS.filter((document) => cloudInit?.[document] !== undefined);
}

/** Undefined where Proxmox's own drive does. */
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
