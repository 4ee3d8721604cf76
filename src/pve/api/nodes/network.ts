/** `/nodes/{node}/network`: interfaces and bridges. */
import { z } from 'zod';
import type { CallOptions } from '../../exchange.ts';
import { apiPath } from '../../path.ts';
import type { Api } from '../../request.ts';
import { flag, maybe } from '../shapes.ts';

const interfaceSchema = z.looseObject({
  iface: z.string(),
  type: z.string(),
  active: maybe(flag),
  bridge_vlan_aware: maybe(flag),
  cidr: maybe(z.string()),
});
const interfacesSchema = z.array(interfaceSchema);
export type NodeInterface = z.output<typeof interfaceSchema>;

/** `any_bridge` lists whatever a NIC can be put on: bridges and, with SDN, vnets. */
export function listInterfaces(
  api: Api,
  node: string,
  params: { readonly type?: string | undefined } = {},
  options?: CallOptions,
): Promise<NodeInterface[]> {
  return api.get(apiPath`/nodes/${node}/network`, interfacesSchema, { ...params }, options);
}
