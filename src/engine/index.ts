/** The public face of the engine: `import { loadStack, Session } from 'proxwright/engine'`. */
export type { Address } from '../base/address.ts';
export { DEFAULT_RETRY, type RetryContext, type RetryPolicy, retryWhileBusy } from '../base/retry.ts';
export type { PortProbe } from '../base/transport.ts';
export type { Difference } from '../kinds/change.ts';
export { type Change, isEmpty, type Plan } from '../kinds/change.ts';
export { type Finding, isHealthy } from '../kinds/doctor/finding.ts';
export { IdReservations } from '../kinds/ids.ts';
export type { Observed } from '../kinds/observed.ts';
export type { StackState } from '../kinds/recorded.ts';
export type { Step } from '../kinds/step.ts';
export type { VmFields, VmFieldsInput } from '../kinds/vm/fields/index.ts';
export type { VmRecord } from '../kinds/vm/record.ts';
export { fieldsOfVm } from '../kinds/vm/take-over/fields.ts';
export {
  loadStack,
  type Resolution,
  type ResolvedStack,
  type ResolvedVm,
  resolveStack,
  stackJsonSchema,
} from '../spec/index.ts';
export type { ResourceOutcome, RunEvent } from '../state/events.ts';
export { diagnose } from './doctor/diagnose.ts';
export { WireWatch } from './doctor/examination.ts';
export { type ExamineInput, examine } from './doctor/examine.ts';
export type { ExecuteResult } from './execute.ts';
export { RunLimits } from './limits.ts';
export { type ObserveInput, observe } from './observe.ts';
export { readOutput, type StackOutputs, stackOutputs } from './outputs/outputs.ts';
export { type DestroyInput, type PlanInput, type PlanResult, planDestroy, planStack } from './plan.ts';
export { assumedNeeds } from './privileges/assumed.ts';
export { checkPrivileges, type PrivilegeCheck } from './privileges/check.ts';
export { pveumCommands } from './privileges/pveum.ts';
export { requirementsOf } from './privileges/requirements.ts';
export { smallestRoles } from './privileges/roles.ts';
export { explainUnseen } from './privileges/unseen.ts';
export { describeRun, type RunRecord } from './record/run-record.ts';
export { type Activity, type RunListener, RunMemory } from './run-memory.ts';
export { runStep } from './run-step.ts';
export { type PlanOptions, Session, type SessionDeps, type SessionInput } from './session.ts';
