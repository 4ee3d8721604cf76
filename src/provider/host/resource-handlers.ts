/** The calls about resources. */

import type { Provider } from '../protocol/generated/tfplugin6.generated.ts';
import type { Provider as ProviderContract, ProviderDiagnostic, ResourceType } from '../provider.ts';
import { pathMessage } from './diagnostics.ts';
import { type Guard, messages, named } from './guard.ts';
import type { Handlers } from './routes.ts';
import { readConfig, readObject, readStored, writeObject, writeStored } from './values.ts';

export type ResourceCall =
  | 'validateResourceConfig'
  | 'upgradeResourceState'
  | 'readResource'
  | 'planResourceChange'
  | 'applyResourceChange'
  | 'importResourceState'
  | 'moveResourceState';

export function resourceHandlers(guard: Guard): Pick<Handlers<typeof Provider>, ResourceCall> {
  return {
    validateResourceConfig: ({ typeName, config, clientCapabilities }) =>
      guard('ValidateResourceConfig', async (provider) => {
        const resource = resourceOf(provider, typeName);
        const diagnostics = await resource.validate(readConfig(config, resource.schema), {
          writeOnlyAttributes: clientCapabilities?.writeOnlyAttributesAllowed ?? false,
        });
        return { diagnostics: messages(diagnostics, resource.schema) };
      }),

    upgradeResourceState: ({ typeName, version, rawState }) =>
      guard('UpgradeResourceState', async (provider) => {
        const resource = resourceOf(provider, typeName);
        const request = { version: Number(version), state: readStored(rawState) };
        const { state, diagnostics } = await resource.upgrade(request);
        return {
          upgradedState: writeStored(state, resource.schema),
          diagnostics: messages(diagnostics, resource.schema),
        };
      }),

    readResource: ({ typeName, currentState, private: kept }) =>
      guard(
        'ReadResource',
        async (provider) => {
          const resource = resourceOf(provider, typeName);
          const state = readObject(currentState, resource.schema);
          // The host has nothing to be read.
          if (state === null) return { newState: writeObject(null, resource.schema), private: kept };
          const result = await resource.read({ state, private: bytesOf(kept) });
          return {
            newState: writeObject(result.state, resource.schema),
            private: result.private ?? EMPTY,
            diagnostics: messages(result.diagnostics, resource.schema),
          };
        },
        () => ({ ...(currentState && { newState: currentState }), private: kept }),
      ),

    planResourceChange: (request) =>
      guard('PlanResourceChange', async (provider) => {
        const resource = resourceOf(provider, request.typeName);
        const result = await resource.plan({
          prior: readObject(request.priorState, resource.schema),
          proposed: readObject(request.proposedNewState, resource.schema),
          config: readObject(request.config, resource.schema),
          private: bytesOf(request.priorPrivate),
        });
        return {
          plannedState: writeObject(result.planned, resource.schema),
          requiresReplace: result.requiresReplace.map(pathMessage),
          plannedPrivate: result.private ?? EMPTY,
          diagnostics: messages(result.diagnostics, resource.schema),
        };
      }),

    applyResourceChange: (request) =>
      guard(
        'ApplyResourceChange',
        async (provider) => {
          const resource = resourceOf(provider, request.typeName);
          const result = await resource.apply({
            prior: readObject(request.priorState, resource.schema),
            planned: readObject(request.plannedState, resource.schema),
            config: readObject(request.config, resource.schema),
            private: bytesOf(request.plannedPrivate),
          });
          return {
            newState: writeObject(result.state, resource.schema),
            private: result.private ?? EMPTY,
            diagnostics: messages(result.diagnostics, resource.schema),
          };
        },
        // What stood before is the last thing known to be true; without it the host would forget the object.
        () => ({ ...(request.priorState && { newState: request.priorState }), private: request.plannedPrivate }),
      ),

    importResourceState: ({ typeName, id }) =>
      guard('ImportResourceState', async (provider) => {
        const resource = resourceOf(provider, typeName);
        const result = await resource.import(id);
        const diagnostics = messages(result.diagnostics, resource.schema);
        if (result.state === null) return { diagnostics };
        const state = writeObject(result.state, resource.schema);
        return { importedResources: [{ typeName, state, private: result.private ?? EMPTY }], diagnostics };
      }),

    moveResourceState: (request) =>
      guard('MoveResourceState', async (provider) => {
        const { targetTypeName, sourceProviderAddress: sourceProvider, sourceTypeName: sourceType } = request;
        const resource = resourceOf(provider, targetTypeName);
        if (resource.move === undefined) {
          return { diagnostics: messages([cannotMove(sourceType, targetTypeName)], resource.schema) };
        }
        const result = await resource.move({
          sourceProvider,
          sourceType,
          sourceVersion: Number(request.sourceSchemaVersion),
          sourceState: readStored(request.sourceState),
        });
        const diagnostics = messages(result.diagnostics, resource.schema);
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

/** The protocol cannot tell empty from absent. */
function bytesOf(bytes: Uint8Array): Uint8Array | undefined {
  return bytes.length === 0 ? undefined : bytes;
}

function resourceOf(provider: ProviderContract, typeName: string): ResourceType {
  return named(provider.resources, typeName);
}

function cannotMove(sourceType: string, targetType: string): ProviderDiagnostic {
  return {
    severity: 'error',
    summary: 'Resource cannot be moved',
    detail: `${targetType} does not know how to take over a ${sourceType}. Import it, and remove the old one from the state.`,
  };
}
