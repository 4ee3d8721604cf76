import { describe, expect, it } from 'vitest';
import type { Guest } from '../../../kinds/vm/adopt/survey.ts';
import { isChosen, unmatched } from '../../../kinds/vm/adopt/survey.ts';
import { testDeps } from '../../testing/deps.ts';
import { adoptView } from '../../views/adopt.ts';
import { choiceOf } from './adopt.ts';

const guest = (vmid: number, name: string, type = 'qemu', isTemplate = false): Guest => ({
  vmid,
  name,
  type,
  isTemplate,
  node: 'pve1',
  isRunning: false,
  pool: undefined,
  tags: [],
});
const GUESTS = [guest(101, 'web-1'), guest(102, 'web-2'), guest(200, 'db'), guest(300, 'dns', 'lxc')];

async function chosen(answer: string | undefined): Promise<readonly number[]> {
  const { deps } = testDeps({});
  const asking = { ...deps, canAsk: true, ask: async () => answer };
  const choice = await choiceOf({}, GUESTS, asking, adoptView(asking));
  return GUESTS.filter((each) => isChosen(each, choice)).map(({ vmid }) => vmid);
}

describe('the question which VMs to adopt', () => {
  it.each([
    ['all', [101, 102, 200, 300]],
    ['web-*', [101, 102]],
    ['200', [200]],
    ['100-199', [101, 102]],
    ['web-1, 200', [101, 200]],
    ['  web-?  db ', [101, 102, 200]],
    ['nothing-of-this', []],
  ])('takes %s for an answer', async (answer, expected) => {
    expect(await chosen(answer)).toEqual(expected);
  });

  it.each(['', '   ', undefined])('is canceled by no answer: %j', async (answer) => {
    await expect(chosen(answer)).rejects.toMatchObject({ code: 'CANCELED' });
  });

  it('refuses a range that ends before it begins', async () => {
    await expect(chosen('200-100')).rejects.toMatchObject({ code: 'BAD_VALUE' });
  });
});

describe('a choice that matches nothing', () => {
  const nothing = { pools: [], tags: [], nodes: [], names: [], ids: [] };
  it.each([
    [{ names: ['WEB-*', 'db'] }, ['No VM has a name like "WEB-*". Upper and lower case count.']],
    [{ pools: ['prod'] }, ['No VM is in the pool "prod".']],
    [{ tags: ['blue'], nodes: ['pve1', 'pve9'] }, ['No VM has the tag "blue".', 'No VM is on the node "pve9".']],
    [
      {
        ids: [
          [1, 9],
          [101, 101],
          [7, 7],
        ] as const,
      },
      ['No VM has an id from 1 to 9.', 'No VM has the id 7.'],
    ],
    [{ names: ['web-?'], ids: [[200, 300]] as const }, []],
  ])('is reported: %j', (choice, expected) => {
    expect(unmatched(GUESTS, { ...nothing, ...choice })).toEqual(expected);
  });
});
