/** What the actions of a VM receive; those of a template too, because a template is a VM until it is converted. */
import type { Action, RecordedContext } from '../../action.ts';
import type { VmObserved } from '../observed.ts';
import type { VmRecord } from '../record.ts';

export type VmContext = RecordedContext<VmRecord, VmObserved>;

export type VmAction<Input> = Action<Input, VmContext>;
