/** `proxwright_vm`: the calls of the host, each to its file. Expected failures come back as diagnostics. */
import { Canceled, ProxwrightError } from '../../base/errors.ts';
import { type CtyObject, isObject } from '../cty/value.ts';
import type { HostCapabilities, ProviderDiagnostic, ResourceType } from '../provider.ts';
import type { SurroundingsOf } from '../surroundings.ts';
import { diagnosticAt, problemAt } from '../values/diagnostics.ts';
import { VmContext } from './context.ts';
import { createVm } from './create.ts';
import { destroyVm } from './destroy.ts';
import { importVmState, moveVmState, readMovedVm } from './import.ts';
import { stopped } from './outcome.ts';
import { planVmChange } from './plan.ts';
import { readVmState } from './read.ts';
import { VM_SCHEMA } from './schema.ts';
import { updateVm } from './update.ts';
import { migrated, VM_MIGRATIONS } from './upgrade.ts';
import { wantedVm, writeOnlyPassword } from './wanted-vm.ts';

export function vmResource(surroundingsOf: SurroundingsOf): ResourceType {
  const context = new VmContext(surroundingsOf);
  return {
    schema: VM_SCHEMA,
    validate: async (config, capabilities) => validate(config, capabilities),
    upgrade: async ({ version, state }) => ({ state: migrated(VM_MIGRATIONS, version, state), diagnostics: [] }),
    read: (request) =>
      orDiagnostics(
        async () => (await readMovedVm(context, request)) ?? readVmState(context, request),
        (diagnostics) => ({ state: request.state, private: request.private, diagnostics }),
      ),
    plan: (request) =>
      orDiagnostics(
        () => planVmChange(context, request),
        (diagnostics) => ({
          planned: request.prior ?? request.proposed,
          requiresReplace: [],
          private: request.private,
          diagnostics,
        }),
      ),
    apply: (request) =>
      orDiagnostics(
        async () => {
          const { prior, planned, config } = request;
          if (prior && (!planned || !config)) return destroyVm(context, prior, request.private);
          if (!planned || !config) return { state: null, private: undefined, diagnostics: [] };
          return prior
            ? updateVm(context, { prior, planned, config, private: request.private })
            : createVm(context, planned, config);
        },
        (diagnostics) => ({ state: request.prior, private: request.private, diagnostics }),
      ),
    import: (id) => orDiagnostics(() => importVmState(context, id), nothing),
    move: (request) => orDiagnostics(() => moveVmState(request), nothing),
  };
}

function nothing(diagnostics: readonly ProviderDiagnostic[]) {
  return { state: null, private: undefined, diagnostics };
}

async function orDiagnostics<Result>(
  work: () => Promise<Result>,
  failed: (diagnostics: readonly ProviderDiagnostic[]) => Result,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Canceled) return failed([stopped()]);
    if (!(error instanceof ProxwrightError)) throw error;
    return failed([diagnosticAt(error.diagnostic, VM_SCHEMA.attributes)]);
  }
}

/** Whether the VM exists is not known here, so nothing is said that holds only for one that does not. */
function validate(config: CtyObject, { writeOnlyAttributes }: HostCapabilities): ProviderDiagnostic[] {
  const { problems } = wantedVm(config, { exists: true });
  const cloudInit = isObject(config.cloud_init) ? config.cloud_init : undefined;
  const isWriteOnly = writeOnlyPassword(config) !== undefined;
  const found = [...problems];
  if (isWriteOnly && !writeOnlyAttributes) {
    const detail =
      'This host cannot keep write-only values out of its state. Say where the password is found instead: password = { env = "CI_PASSWORD" }.';
    found.push(problemAt('cloud_init.password_wo', detail, VM_SCHEMA.attributes));
  }
  if (isWriteOnly && cloudInit?.password) {
    const detail = 'password and password_wo exclude each other.';
    found.push(problemAt('cloud_init.password_wo', detail, VM_SCHEMA.attributes));
  }
  return found;
}
