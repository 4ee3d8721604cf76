/** Documents that their guest would pass over without a word are refused before anything is made. */
import { ProxwrightError } from '../../base/errors.ts';
import type { Secret } from '../../base/secret.ts';
import type { ResolvedVm } from '../stack.ts';
import { userDataProblem } from './seed/documents.ts';
import { whereOf } from './where.ts';

/** `path` is the field that the value was read for. */
export function refuseUnread(vm: ResolvedVm, path: string, value: Secret): void {
  const detail = path === 'cloud_init.user_data' ? userDataProblem(vm.fields.guest, value.reveal()) : undefined;
  if (detail !== undefined) throw new ProxwrightError({ code: 'BAD_VALUE', where: whereOf(vm, path), detail });
}
