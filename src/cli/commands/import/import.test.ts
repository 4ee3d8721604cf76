import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { toAddress } from '../../../base/address.ts';
import { loadStack, resolveStack } from '../../../spec/index.ts';
import { stackLines, withLines } from './import.ts';

const FIELDS = { name: 'old', node: 'pve1', vmid: 700 };
const head = (rest: string) => `version: 1\nstack: lab\n${rest}`;

function addressOf(text: string) {
  const address = toAddress(text);
  if (!address) throw new Error(`${text} is no address`);
  return address;
}

function printed(address: string, file: string): unknown {
  return parse(stackLines(addressOf(address), FIELDS, head(file)).join('\n')).vms;
}

/** What the file says about the address once it contains the lines. */
function pasted(address: string, file: string, name = 'stack.yaml') {
  const text = withLines(head(file), name, addressOf(address), FIELDS);
  const { stack, diagnostics } = resolveStack(loadStack(text, name));
  return stack?.vms.find((vm) => vm.address === address)?.fields ?? diagnostics.map(({ detail }) => detail);
}

describe('the lines for an imported VM', () => {
  it.each([
    ['a single VM', 'vm.old', 'vms: {}', { old: FIELDS }],
    ['the first of a group that does not exist yet', 'vm.old[1]', 'vms: {}', { old: { count: 1, ...FIELDS } }],
    [
      'one more member of a group, whose count has to grow',
      'vm.old[2]',
      'vms: { old: { count: 1, name: "n-$${number}", node: pve1 } }',
      { old: { count: 2, overrides: { 2: FIELDS } } },
    ],
    [
      'a member that the group has',
      'vm.old[2]',
      'vms: { old: { count: 3, name: "n-$${number}", node: pve1 } }',
      { old: { overrides: { 2: FIELDS } } },
    ],
    ['an element of a group that does not exist yet', 'vm.old["a"]', 'vms: {}', { old: { each: ['a'], ...FIELDS } }],
    [
      'one more element of a group',
      'vm.old["b"]',
      'vms: { old: { each: [a], name: "n-$${each}", node: pve1 } }',
      { old: { each: ['a', 'b'], overrides: { 2: FIELDS } } },
    ],
  ])('are those of %s', (_, address, file, expected) => {
    const text = file.replaceAll('$${', () => `$${'{'}`);
    expect(printed(address, text)).toEqual(expected);
    expect(pasted(address, text)).toMatchObject(FIELDS);
  });

  it('fit into a file without VMs, with comments, and in JSON', () => {
    expect(pasted('vm.old', '')).toMatchObject(FIELDS);
    expect(pasted('vm.old', 'vms: # none yet\n')).toMatchObject(FIELDS);
    const text = JSON.stringify({ version: 1, stack: 'lab', vms: {} });
    const json = withLines(text, 'stack.json', addressOf('vm.old'), FIELDS);
    expect(JSON.parse(json)).toEqual({ version: 1, stack: 'lab', vms: { old: FIELDS } });
  });

  it('do not make a file valid that lacks the other members of the group', () => {
    expect(pasted('vm.old[2]', 'vms: {}')).toEqual(expect.arrayContaining([expect.stringContaining('missing')]));
  });
});
