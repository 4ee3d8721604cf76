/** Addresses given on the command line: each must mean something, because a typing error would silently do nothing. */
import { type Address, covers } from '../base/address.ts';
import { closest } from '../base/closest.ts';
import { SpecError } from '../base/errors.ts';

export function checkSelectors(option: string, selectors: readonly string[], addresses: Iterable<string>): void {
  const known = [...addresses] as Address[]; // of the file and the state
  for (const selector of selectors) {
    if (known.some((address) => covers(selector, address))) continue;
    const groups = known.map((address) => address.replace(/\[.*$/, ''));
    const guess = closest(selector, [...new Set([...groups, ...known])]);
    throw new SpecError({
      code: 'MISSING_REFERENCE',
      where: { file: `${option} ${selector}` },
      detail: `No VM of this stack has the address "${selector}".`,
      hint: guess ? `Did you mean "${guess}"?` : 'An address looks like vm.web or vm.worker[2].',
    });
  }
}
