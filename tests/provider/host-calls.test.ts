/** Every call of the protocol against the toy provider, by a small host of our own. */

import { mkdtemp, rm } from 'node:fs/promises';
import { constants } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { KnownSecrets } from '../../src/base/secret.ts';
import { decodeMsgpack, encodeMsgpack } from '../../src/provider/cty/codec.ts';
import { type CtyObject, objectOf, UNKNOWN } from '../../src/provider/cty/value.ts';
import { frame } from '../../src/provider/host/grpc-wire.ts';
import {
  ApplyResourceChange_RequestSchema,
  Diagnostic_Severity,
  type DynamicValue,
  Provider,
} from '../../src/provider/protocol/generated/tfplugin6.generated.ts';
import { objectType } from '../../src/provider/schema/model.ts';
import { HostClient, pathOf } from '../../src/provider/testing/host-client.ts';
import { type Attached, reattach } from '../../src/provider/testing/reattach.ts';
import { createToyProvider, TOY_ADDRESS } from './toy/toy-provider.ts';

const typeName = 'toy_thing';
let store: string;
let attached: Attached;
let host: HostClient;
let type: ReturnType<typeof objectType>;

beforeEach(async () => {
  store = await mkdtemp(join(tmpdir(), 'proxwright-calls-'));
  const provider = createToyProvider({
    log: silentLogger,
    environment: { TOY_STORE: store },
    secrets: new KnownSecrets(),
  });
  type = objectType((await provider.resources.get(typeName)?.())?.schema.attributes ?? {});
  attached = await reattach(provider, TOY_ADDRESS);
  host = await HostClient.connect(attached.socketPath);
});

afterEach(async () => {
  await host.close();
  attached.close();
  await rm(store, { recursive: true, force: true });
});

const value = (object: CtyObject | null) => ({ msgpack: encodeMsgpack(object, type) });
const object = (message: DynamicValue | undefined) =>
  decodeMsgpack(message?.msgpack ?? new Uint8Array(), type) as CtyObject;

describe('the schema', () => {
  it('says what the provider offers and can do', async () => {
    const { provider, resourceSchemas, dataSourceSchemas, serverCapabilities, diagnostics } = await host.call(
      Provider.method.getProviderSchema,
      {},
    );
    expect(diagnostics).toEqual([]);
    expect(serverCapabilities).toMatchObject({
      planDestroy: true,
      getProviderSchemaOptional: true,
      moveResourceState: true,
    });
    expect(provider?.block?.attributes).toMatchObject([{ name: 'token', sensitive: true, optional: true }]);
    expect(Object.keys(dataSourceSchemas)).toEqual(['toy_echo']);
    const attributes = Object.fromEntries(
      (resourceSchemas.toy_thing?.block?.attributes ?? []).map((one) => [one.name, one]),
    );
    expect(resourceSchemas.toy_thing?.version).toBe(1n);
    expect(attributes.name).toMatchObject({ required: true, optional: false, computed: false });
    expect(attributes.id).toMatchObject({ required: false, optional: false, computed: true });
    expect(attributes.secret_wo).toMatchObject({ writeOnly: true });
    expect(Buffer.from(attributes.tags?.type ?? []).toString()).toBe('["set","string"]');
    expect(attributes.map).toMatchObject({
      nestedType: { nesting: 4, attributes: [{ name: 'size' }, { name: 'label' }] },
    });
    expect(attributes.map?.type).toHaveLength(0);
  });

  it('has its names in the metadata, and no functions', async () => {
    const { resources, dataSources } = await host.call(Provider.method.getMetadata, {});
    expect(resources).toMatchObject([{ typeName }]);
    expect(dataSources).toMatchObject([{ typeName: 'toy_echo' }]);
    expect((await host.call(Provider.method.getFunctions, {})).functions).toEqual({});
  });
});

describe('a resource', () => {
  it('is planned, made, read, changed and removed', async () => {
    const config = objectOf([['name', 'a']]);
    const planned = await host.call(Provider.method.planResourceChange, {
      typeName,
      priorState: value(null),
      proposedNewState: value(config),
      config: value(config),
    });
    expect(object(planned.plannedState)).toMatchObject({ id: UNKNOWN, name: 'a' });
    const made = await host.call(Provider.method.applyResourceChange, {
      typeName,
      priorState: value(null),
      plannedState: planned.plannedState as DynamicValue,
      config: value(config),
    });
    expect(object(made.newState)).toMatchObject({ id: 'id-a', name: 'a' });
    expect(Buffer.from(made.private).toString()).toBe('kept');
    const read = await host.call(Provider.method.readResource, {
      typeName,
      currentState: made.newState as DynamicValue,
      private: made.private,
    });
    expect(object(read.newState)).toEqual(object(made.newState));
    expect(Buffer.from(read.private).toString()).toBe('kept');
    const replaced = await host.call(Provider.method.planResourceChange, {
      typeName,
      priorState: made.newState as DynamicValue,
      proposedNewState: value({ ...object(made.newState), fixed: 'x' }),
      config: value({ ...config, fixed: 'x' }),
    });
    expect(replaced.requiresReplace).toMatchObject([
      { steps: [{ selector: { case: 'attributeName', value: 'fixed' } }] },
    ]);
    const removed = await host.call(Provider.method.applyResourceChange, {
      typeName,
      priorState: made.newState as DynamicValue,
      plannedState: value(null),
      config: value(null),
    });
    expect(object(removed.newState)).toBeNull();
    const gone = await host.call(Provider.method.readResource, {
      typeName,
      currentState: made.newState as DynamicValue,
    });
    expect(object(gone.newState)).toBeNull();
  });

  it('comes from stored JSON with every digit, complete and without what is gone', async () => {
    const json = Buffer.from('{"name":"a","number":9007199254740993123,"gone":true}');
    const { upgradedState } = await host.call(Provider.method.upgradeResourceState, {
      typeName,
      version: 0n,
      rawState: { json },
    });
    expect(object(upgradedState)).toMatchObject({ name: 'a', number: 9007199254740993123n, labels: null });
  });

  it('may be sent as JSON, and be absent', async () => {
    const asJson = { json: Buffer.from('{"name":"bad"}') };
    const { diagnostics } = await host.call(Provider.method.validateResourceConfig, { typeName, config: asJson });
    expect(diagnostics).toMatchObject([{ summary: 'Bad name' }]);
    const read = await host.call(Provider.method.readResource, { typeName });
    expect(object(read.newState)).toBeNull();
  });

  it('says so if it cannot be moved or is not known', async () => {
    const moved = await host.call(Provider.method.moveResourceState, {
      sourceTypeName: 'other',
      targetTypeName: typeName,
    });
    expect(moved.diagnostics).toMatchObject([{ summary: 'Resource cannot be moved' }]);
    const unknown = await host.call(Provider.method.importResourceState, { typeName: 'toy_gone', id: '1' });
    expect(unknown.diagnostics).toMatchObject([
      { summary: 'Missing reference', detail: expect.stringMatching(/no toy_gone\.[\s\S]*remove it from the state/) },
    ]);
    expect(unknown.diagnostics[0]?.detail).not.toContain('defect');
  });
});

describe('a defect in the provider', () => {
  it('is a diagnostic, and the prior state is kept', async () => {
    const prior = value(
      objectOf([
        ['id', 'id-bug'],
        ['name', 'bug'],
        ['secret', 'x'],
      ]),
    );
    const { diagnostics, newState } = await host.call(Provider.method.applyResourceChange, {
      typeName,
      priorState: prior,
      plannedState: prior,
      config: prior,
      plannedPrivate: Buffer.from('p'),
    });
    expect(diagnostics).toMatchObject([
      {
        severity: Diagnostic_Severity.ERROR,
        summary: 'Internal error',
        detail: expect.stringContaining('defect of terraform-provider-proxwright'),
      },
    ]);
    expect(object(newState)).toEqual(decodeMsgpack(prior.msgpack, type));
  });

  it('is found by the type of the value before the host complains', async () => {
    const config = { msgpack: encodeMsgpack('text', 'string') };
    const { diagnostics } = await host.call(Provider.method.validateResourceConfig, { typeName, config });
    expect(diagnostics).toMatchObject([
      { summary: 'Internal error', detail: expect.stringContaining('expected an object') },
    ]);
  });
});

describe('the connection', () => {
  it('carries messages of any size', async () => {
    const labels = objectOf(Array.from({ length: 40 }, (_, place) => [String(place), 'x'.repeat(1_000_000)]));
    const config = value(
      objectOf([
        ['name', 'a'],
        ['labels', labels],
      ]),
    );
    const request = { typeName, priorState: value(null), proposedNewState: config, config };
    const { plannedState } = await host.call(Provider.method.planResourceChange, request);
    expect(plannedState?.msgpack.length).toBeGreaterThan(40_000_000);
  });

  it('carries many calls at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 300 }, () =>
        host.call(Provider.method.readDataSource, {
          typeName: 'toy_echo',
          config: { json: Buffer.from('{"input":"aab"}') },
        }),
      ),
    );
    expect(replies.filter(({ diagnostics }) => diagnostics.length === 0)).toHaveLength(300);
  });

  it('answers what it does not know with UNIMPLEMENTED', async () => {
    for (const path of ['/tfplugin6.Provider/CallFunction', '/tfplugin6.Provider/GetResourceIdentitySchemas', '/x/y']) {
      expect(await host.callRaw(path, frame(new Uint8Array()))).toMatchObject({ status: 12 });
    }
  });

  it('refuses broken messages and lives on', async () => {
    const path = '/tfplugin6.Provider/ConfigureProvider';
    expect(await host.callRaw(path, Buffer.from([0, 0]))).toMatchObject({ status: 13 });
    expect(await host.callRaw(path, Buffer.from([1, 0, 0, 0, 0]))).toMatchObject({ status: 12 });
    expect(await host.callRaw(path, frame(Buffer.from([0xff])))).toMatchObject({ status: 13 });
    expect(await host.callRaw('/grpc.health.v1.Health/Check', frame(new Uint8Array()))).toMatchObject({ status: 0 });
  });

  it('ends the work of calls that the host has given up', async () => {
    const config = value(objectOf([['name', 'slow']]));
    const request = toBinary(
      ApplyResourceChange_RequestSchema,
      create(ApplyResourceChange_RequestSchema, { typeName, priorState: value(null), plannedState: config, config }),
    );
    const calls = Array.from({ length: 20 }, () =>
      host.open(pathOf(Provider.method.applyResourceChange), frame(request)),
    );
    for (const call of calls) call.on('error', () => {});
    await vi.waitFor(() => expect(attached.pendingCalls).toBe(20), { timeout: 30_000 });
    for (const call of calls) call.close(constants.NGHTTP2_CANCEL);
    await vi.waitFor(() => expect(attached.pendingCalls).toBe(0), { timeout: 30_000 });
  });

  it('stops what is under way', async () => {
    const config = value(objectOf([['name', 'slow']]));
    const pending = host.call(Provider.method.applyResourceChange, {
      typeName,
      priorState: value(null),
      plannedState: config,
      config,
    });
    expect((await host.call(Provider.method.stopProvider, {})).error).toBe('');
    const { diagnostics, newState } = await pending;
    expect(diagnostics).toMatchObject([{ summary: 'Stopped' }]);
    expect(object(newState)).toBeNull();
  });
});
