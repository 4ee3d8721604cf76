/** A resource that records everything it sends to the host, for tests of what must never be in it. */
import { encodeMsgpack } from '../../../src/provider/cty/codec.ts';
import type { CtyObject } from '../../../src/provider/cty/value.ts';
import type { PrivateState, ResourceType } from '../../../src/provider/provider.ts';
import { objectType } from '../../../src/provider/schema/model.ts';

/** Everything that a host gets to see of a resource, as the bytes it would keep. */
export function watched(resource: ResourceType): { readonly resource: ResourceType; readonly kept: string[] } {
  const kept: string[] = [];
  const type = objectType(resource.schema.attributes);
  const keep = (value: CtyObject | null, bytes: PrivateState) => {
    kept.push(Buffer.from(encodeMsgpack(value, type)).toString('latin1'), Buffer.from(bytes ?? []).toString('latin1'));
  };
  return {
    kept,
    resource: {
      ...resource,
      read: async (request, call) => {
        const result = await resource.read(request, call);
        keep(result.state, result.private);
        return result;
      },
      plan: async (request, call) => {
        const result = await resource.plan(request, call);
        keep(result.planned, result.private);
        kept.push(JSON.stringify(result.diagnostics));
        return result;
      },
      apply: async (request, call) => {
        const result = await resource.apply(request, call);
        keep(result.state, result.private);
        kept.push(JSON.stringify(result.diagnostics));
        return result;
      },
    },
  };
}
