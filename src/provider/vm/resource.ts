/** `proxwright_vm`: the calls of the host, each to its file. */
import { type CtyObject, isObject } from '../cty/value.ts';
import type { HostCapabilities, ProviderDiagnostic, ResourceType } from '../provider.ts';
import { resourceOf } from '../run/resource.ts';
import type { Attributes } from '../schema/model.ts';
import type { SurroundingsOf } from '../surroundings.ts';
import { problemAt } from '../values/diagnostics.ts';
import { VmContext } from './context.ts';
import { createVm } from './create.ts';
import { destroyVm } from './destroy.ts';
import { importVmState, moveVmState, readMovedVm } from './import.ts';
import { planVmChange } from './plan.ts';
import { readVmState } from './read.ts';
import { VM, VM_SCHEMA } from './schema.ts';
import { updateVm } from './update.ts';
import { migrated, VM_MIGRATIONS } from './upgrade.ts';
import { wantedVm, writeOnlyPassword } from './wanted-vm.ts';

export function vmResource(surroundingsOf: SurroundingsOf, context = new VmContext(surroundingsOf)): ResourceType {
  return resourceOf({
    noun: VM.noun,
    schema: VM_SCHEMA,
    validate,
    upgrade: (version, state) => migrated(VM_MIGRATIONS, version, state),
    read: async (request, call) => {
      const during = context.during(call);
      return (await readMovedVm(during, request)) ?? readVmState(during, request);
    },
    plan: (request, call) => planVmChange(context.during(call), request),
    create: ({ planned, config }, call) => createVm(context.during(call), planned, config),
    update: (request, call) => updateVm(context.during(call), request),
    destroy: (request, call) => destroyVm(context.during(call), request.prior, request.private),
    import: (id, call) => importVmState(context.during(call), id),
    move: moveVmState,
  });
}

/** Whether the VM exists is not known here, so nothing is said that holds only for one that does not. */
function validate(config: CtyObject, capabilities: HostCapabilities): ProviderDiagnostic[] {
  const { problems } = wantedVm(config, { exists: true });
  return [...problems, ...writeOnlyProblems(config, capabilities, VM_SCHEMA.attributes)];
}

/** What is wrong with a password that is not to be kept. */
export function writeOnlyProblems(
  config: CtyObject,
  { writeOnlyAttributes }: HostCapabilities,
  attributes: Attributes,
): ProviderDiagnostic[] {
  if (writeOnlyPassword(config) === undefined) return [];
  const cloudInit = isObject(config.cloud_init) ? config.cloud_init : undefined;
  const found: ProviderDiagnostic[] = [];
  if (!writeOnlyAttributes) {
    const detail =
      'This host cannot keep write-only values out of its state. Say where the password is found instead: password = { env = "CI_PASSWORD" }.';
    found.push(problemAt('cloud_init.password_wo', detail, attributes));
  }
  if (cloudInit?.password) {
    const detail = 'password and password_wo exclude each other.';
    found.push(problemAt('cloud_init.password_wo', detail, attributes));
  }
  return found;
}
