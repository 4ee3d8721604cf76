/** Addresses given on the command line: each must mean something, because a typing error would silently do nothing. */
import { type Address, covers } from '../base/address.ts';
import { closest } from '../base/closest.ts';
import { ProxwrightError } from '../base/errors.ts';

export function checkSelectors(option: string, selectors: readonly string[], addresses: Iterable<string>): void {
  const known = [...addresses] as Address[]; // of the file and the state
  for (const selector of selectors) {
    // An image is named without the nodes that are to have it.
    if (known.some((address) => covers(selector, address) || covers(address, selector as Address))) continue;
    const groups = known.map((address) => address.replace(/\[.*$/, ''));
    const guess = closest(selector, [...new Set([...groups, ...known])]);
    throw new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where: { file: `${option} ${selector}` },
      detail: `Nothing in this stack has the address "${selector}".`,
      hint: guess
        ? `Did you mean "${guess}"?`
        : 'An address looks like vm.web, vm.worker[2], template.debian-12 or image.debian.',
    });
  }
}
