/**
 * Notes of a plan about fields that count only when a VM is created, and so change nothing in an existing one. Pure.
 */
import { nodeCommand } from '../../../base/text/node-command.ts';
import { shellWord } from '../../../base/text/shell.ts';
import type { Change } from '../../change.ts';
import type { Observed } from '../../observed.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import type { VmRecord } from '../record.ts';
import type { ResolvedVm } from '../stack.ts';
import { templatesNamed } from './choices/choose-template.ts';
import type { VmPlanInput } from './desired-vm.ts';

export function notesOn({ vm, observed }: VmPlanInput, recorded: VmRecord, actual: VmObserved): string[] {
  return [
    ...templateNote(vm, recorded, observed),
    ...idNote(vm, actual),
    ...poolNote(vm, actual, observed),
    ...unusedNote(vm, actual),
  ];
}

export function withNotes(notes: readonly string[]): Pick<Change, 'notes'> {
  return notes.length > 0 ? { notes } : {};
}

/** A VM does not follow its template by default: that would destroy its disks. */
function templateNote({ address, fields }: ResolvedVm, { source }: VmRecord, { guests }: Observed): string[] {
  const reference = fields.clone?.template;
  if (reference === undefined || !source) return [];
  const candidates = templatesNamed(reference, guests, fields.node);
  if (candidates.some(({ vmid }) => vmid === source.vmid)) return [];
  // If the template is not listed yet, or hidden, only its name can be compared.
  if (candidates.length === 0 && (reference === source.reference || reference === source.vmid)) return [];
  const [now] = candidates;
  const next = now ? `${now.name ?? reference} (${now.vmid})` : String(reference);
  return [
    `made from template ${source.reference} (${source.vmid}); the template is now ${next}. The VM stays as it is. To follow, replace it (--replace ${shellWord(address)}), which destroys its disks except those with keep: true, or let its group follow (update.replace: when_template_changes)`,
  ];
}

function idNote({ fields }: ResolvedVm, { vmid }: VmObserved): string[] {
  if (fields.vmid === undefined || fields.vmid === vmid) return [];
  return [`the file says vmid ${fields.vmid}; an existing VM keeps its id`];
}

/** After a rollback, a disk that the snapshot did not have: its old volume is never reused silently for the new one. */
function unusedNote({ fields }: ResolvedVm, actual: VmObserved): string[] {
  const values = effectiveValues(actual);
  const unused = [...values].filter(([key]) => /^unused\d+$/.test(key));
  const made = Object.entries(fields.disks ?? {}).filter(
    ([slot, { remove, iso }]) => remove !== true && iso === undefined && !values.has(slot),
  );
  const [[slot] = []] = made;
  const [[key, volume] = []] = unused;
  if (slot === undefined || key === undefined) return [];
  return [
    `${made.map(([each]) => each).join(', ')}: a new, empty volume. Volumes that no drive uses stay with their data: ${unused.map((each) => each.join(': ')).join(', ')}. To use one instead, attach it before the apply: ${nodeCommand('qm set', [actual.vmid], { [slot]: volume })}`,
  ];
}

function poolNote({ fields }: ResolvedVm, { vmid }: VmObserved, { guests }: Observed): string[] {
  const now = guests.get(vmid)?.pool;
  // A token without Pool.Audit does not see the pool of a guest.
  if (fields.pool === undefined || now === undefined || now === fields.pool) return [];
  return [`in pool ${now}; the file says ${fields.pool}, which counts only when a VM is created`];
}
