/** Everything that is wrong with a field row, by the facts of Proxmox's API and by what the simulator does. */
import { vmFieldRows, wireRows } from '../../../src/kinds/vm/fields/rows.ts';
import { factProblems } from './api-truth.ts';
import { behaviourProblems } from './behaviour.ts';

export const BOUND_PATHS: readonly string[] = wireRows().map(({ path }) => path);

export async function rowProblems(path: string): Promise<string[]> {
  const row = wireRows().find((each) => each.path === path);
  const schema = vmFieldRows().find((each) => each.path === path)?.schema;
  if (!row || !schema) return [`${path} is not bound to Proxmox`];
  const problems = factProblems(row, schema);
  // What the server does not know need not be sent to it.
  return problems.length > 0 ? problems : behaviourProblems(row);
}
