/** Whether a template that stands is still the one its configuration asks for. */
import { type CtyObject, type CtyValue, isObject, UNKNOWN } from '../cty/value.ts';
import { equalValues } from '../values/equal.ts';
import type { TemplatePrivate } from './private-state.ts';
import { USER_ATTRIBUTES } from './schema.ts';

export interface Standing {
  readonly prior: CtyObject;
  readonly planned: CtyObject;
  readonly kept: TemplatePrivate;
  /** Undefined while it is not known. */
  readonly recipe: string | undefined;
}

export function isOutdated({ prior, planned, kept, recipe }: Standing): boolean {
  if (kept.changed) return true;
  const before: CtyValue = prior.recipe ?? null;
  // One that was taken over says nothing of its recipe: what can be read of it decides.
  if (before === null) return Object.keys(USER_ATTRIBUTES).some((name) => contradicts(planned[name], prior[name]));
  return before !== recipe;
}

/** The configuration says something, and the template is something else. */
function contradicts(wanted: CtyValue | undefined, present: CtyValue | undefined): boolean {
  // A device that the template does not have.
  if (present === undefined) return wanted !== undefined && wanted !== null;
  if (wanted === undefined || wanted === null || present === null || equalValues(wanted, present)) return false;
  if (wanted === UNKNOWN || !isObject(wanted) || !isObject(present)) return true;
  return Object.keys(wanted).some((name) => contradicts(wanted[name], present[name]));
}
