/** The bytes and names written by hand in `serve.ts`, compared with the declarations. */
import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  Health,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
} from '../protocol/generated/health.generated.ts';
import { GRPCBroker, GRPCController, GRPCStdio } from '../protocol/generated/plugin.generated.ts';
import { pathOf } from '../testing/host-client.ts';
import { pluginMethods } from './serve.ts';

const methods = pluginMethods({ onShutdown: () => {}, onHostGone: () => {} });

describe('the services of the process', () => {
  it('are the declared ones', () => {
    const declared = [GRPCBroker, GRPCStdio, GRPCController, Health].flatMap((service) => service.methods.map(pathOf));
    expect([...methods.keys()]).toEqual(declared);
  });

  it('report that the provider is serving', async () => {
    const health = methods.get('/grpc.health.v1.Health/Check');
    const reply =
      health?.kind === 'unary' ? await health.handle(new Uint8Array(), new AbortController().signal) : undefined;
    const serving = create(HealthCheckResponseSchema, { status: HealthCheckResponse_ServingStatus.SERVING });
    expect(reply).toEqual(toBinary(HealthCheckResponseSchema, serving));
  });
});
