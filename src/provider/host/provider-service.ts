/** Every call of the plugin protocol, passed on to the provider in the provider's own terms. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Provider, ServerCapabilitiesSchema } from '../protocol/generated/tfplugin6.generated.ts';
import type { Loader, Provider as ProviderContract, ProviderDiagnostic, ResourceType } from '../provider.ts';
import { createGuard, type Guard, type GuardOptions, type Handlers, methodsOf, named } from './calls.ts';
import type { Method } from './grpc-server.ts';
import {
  diagnosticMessages,
  pathMessage,
  readConfig,
  readObject,
  readStored,
  schemaMessage,
  writeObject,
  writeStored,
} from './messages.ts';

export function providerMethods(options: GuardOptions): ReadonlyMap<string, Method> {
  const guard = createGuard(options);
  return methodsOf<typeof Provider>({ ...providerHandlers(options, guard), ...resourceHandlers(guard) });
}

const CAPABILITIES: MessageInitShape<typeof ServerCapabilitiesSchema> = {
  planDestroy: true,
  getProviderSchemaOptional: true,
  moveResourceState: true,
};

function providerHandlers(
  { provider: load }: GuardOptions,
  guard: Guard,
): Omit<Handlers<typeof Provider>, ResourceCall> {
  return {
    getMetadata: () =>
      guard('GetMetadata', async ({ resources, dataSources }) => ({
        serverCapabilities: CAPABILITIES,
        resources: [...resources.keys()].map((typeName) => ({ typeName })),
        dataSources: [...dataSources.keys()].map((typeName) => ({ typeName })),
      })),
    getProviderSchema: () =>
      guard('GetProviderSchema', async ({ schema, resources, dataSources }) => ({
        serverCapabilities: CAPABILITIES,
        provider: schemaMessage(schema),
        resourceSchemas: await schemaMessages(resources),
        dataSourceSchemas: await schemaMessages(dataSources),
      })),
    getFunctions: async () => ({}),
    validateProviderConfig: ({ config }) =>
      guard('ValidateProviderConfig', async (provider) => ({
        diagnostics: diagnosticMessages(await provider.validate(readConfig(config, provider.schema)), provider.schema),
      })),
    configureProvider: ({ config, terraformVersion: hostVersion }) =>
      guard('ConfigureProvider', async (provider) => {
        const request = { config: readConfig(config, provider.schema), hostVersion };
        return { diagnostics: diagnosticMessages(await provider.configure(request), provider.schema) };
      }),
    validateDataResourceConfig: ({ typeName, config }) =>
      guard('ValidateDataResourceConfig', async ({ dataSources }) => {
        const source = await named(dataSources, typeName)();
        return {
          diagnostics: diagnosticMessages(await source.validate(readConfig(config, source.schema)), source.schema),
        };
      }),
    readDataSource: ({ typeName, config }, call) =>
      guard('ReadDataSource', async ({ dataSources }) => {
        const source = await named(dataSources, typeName)();
        const { state, diagnostics } = await source.read(readConfig(config, source.schema), call);
        return {
          state: writeObject(state, source.schema),
          diagnostics: diagnosticMessages(diagnostics, source.schema),
        };
      }),
    stopProvider: async () => {
      try {
        (await load()).stop();
        return {};
      } catch (thrown) {
        return { error: thrown instanceof Error ? thrown.message : String(thrown) };
      }
    },
  };
}

async function schemaMessages(things: ReadonlyMap<string, Loader<Pick<ResourceType, 'schema'>>>) {
  const loaded = [...things].map(async ([name, load]) => [name, schemaMessage((await load()).schema)] as const);
  return Object.fromEntries(await Promise.all(loaded));
}

type ResourceCall =
  | 'validateResourceConfig'
  | 'upgradeResourceState'
  | 'readResource'
  | 'planResourceChange'
  | 'applyResourceChange'
  | 'importResourceState'
  | 'moveResourceState';

function resourceHandlers(guard: Guard): Pick<Handlers<typeof Provider>, ResourceCall> {
  return {
    validateResourceConfig: ({ typeName, config, clientCapabilities }) =>
      guard('ValidateResourceConfig', async (provider) => {
        const resource = await resourceOf(provider, typeName);
        const diagnostics = await resource.validate(readConfig(config, resource.schema), {
          writeOnlyAttributes: clientCapabilities?.writeOnlyAttributesAllowed ?? false,
        });
        return { diagnostics: diagnosticMessages(diagnostics, resource.schema) };
      }),

    upgradeResourceState: ({ typeName, version, rawState }) =>
      guard('UpgradeResourceState', async (provider) => {
        const resource = await resourceOf(provider, typeName);
        const request = { version: Number(version), state: readStored(rawState) };
        const { state, diagnostics } = await resource.upgrade(request);
        return {
          upgradedState: writeStored(state, resource.schema),
          diagnostics: diagnosticMessages(diagnostics, resource.schema),
        };
      }),

    readResource: ({ typeName, currentState, private: kept }, call) =>
      guard(
        'ReadResource',
        async (provider) => {
          const resource = await resourceOf(provider, typeName);
          const state = readObject(currentState, resource.schema);
          // Nothing to read.
          if (state === null) return { newState: writeObject(null, resource.schema), private: kept };
          const result = await resource.read({ state, private: bytesOf(kept) }, call);
          return {
            newState: writeObject(result.state, resource.schema),
            private: result.private ?? EMPTY,
            diagnostics: diagnosticMessages(result.diagnostics, resource.schema),
          };
        },
        () => ({ ...(currentState && { newState: currentState }), private: kept }),
      ),

    planResourceChange: (request, call) =>
      guard('PlanResourceChange', async (provider) => {
        const resource = await resourceOf(provider, request.typeName);
        const result = await resource.plan(
          {
            prior: readObject(request.priorState, resource.schema),
            proposed: readObject(request.proposedNewState, resource.schema),
            config: readObject(request.config, resource.schema),
            private: bytesOf(request.priorPrivate),
          },
          call,
        );
        return {
          plannedState: writeObject(result.planned, resource.schema),
          requiresReplace: result.requiresReplace.map(pathMessage),
          plannedPrivate: result.private ?? EMPTY,
          diagnostics: diagnosticMessages(result.diagnostics, resource.schema),
        };
      }),

    applyResourceChange: (request, call) =>
      guard(
        'ApplyResourceChange',
        async (provider) => {
          const resource = await resourceOf(provider, request.typeName);
          const result = await resource.apply(
            {
              prior: readObject(request.priorState, resource.schema),
              planned: readObject(request.plannedState, resource.schema),
              config: readObject(request.config, resource.schema),
              private: bytesOf(request.plannedPrivate),
            },
            call,
          );
          return {
            newState: writeObject(result.state, resource.schema),
            private: result.private ?? EMPTY,
            diagnostics: diagnosticMessages(result.diagnostics, resource.schema),
          };
        },
        // The prior state is the last one known to be true. Without it the host would forget the object.
        () => ({ ...(request.priorState && { newState: request.priorState }), private: request.plannedPrivate }),
      ),

    importResourceState: ({ typeName, id }, call) =>
      guard('ImportResourceState', async (provider) => {
        const resource = await resourceOf(provider, typeName);
        const result = await resource.import(id, call);
        const diagnostics = diagnosticMessages(result.diagnostics, resource.schema);
        if (result.state === null) return { diagnostics };
        const state = writeObject(result.state, resource.schema);
        return { importedResources: [{ typeName, state, private: result.private ?? EMPTY }], diagnostics };
      }),

    moveResourceState: (request) =>
      guard('MoveResourceState', async (provider) => {
        const { targetTypeName, sourceProviderAddress: sourceProvider, sourceTypeName: sourceType } = request;
        const resource = await resourceOf(provider, targetTypeName);
        const result = await resource.move?.({
          sourceProvider,
          sourceType,
          sourceVersion: Number(request.sourceSchemaVersion),
          sourceState: readStored(request.sourceState),
        });
        if (result === undefined) {
          return { diagnostics: diagnosticMessages([cannotMove(sourceType, targetTypeName)], resource.schema) };
        }
        const diagnostics = diagnosticMessages(result.diagnostics, resource.schema);
        if (result.state === null) return { diagnostics };
        return {
          targetState: writeObject(result.state, resource.schema),
          targetPrivate: result.private ?? EMPTY,
          diagnostics,
        };
      }),
  };
}

const EMPTY = new Uint8Array();

/** The protocol does not distinguish empty from absent. */
function bytesOf(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.length === 0 ? undefined : bytes;
}

function resourceOf(provider: ProviderContract, typeName: string): Promise<ResourceType> {
  return named(provider.resources, typeName)();
}

function cannotMove(sourceType: string, targetType: string): ProviderDiagnostic {
  return {
    severity: 'error',
    summary: 'Resource cannot be moved',
    detail: `${targetType} cannot take over a ${sourceType}. Import it, and remove the old one from the state.`,
  };
}
