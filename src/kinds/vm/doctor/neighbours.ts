/** Names and addresses that VMs outside the stack already use. */

import { commandText } from '../../../base/hint.ts';
import type { Examined } from '../../doctor/examined.ts';
import { type Finding, findingsOf } from '../../doctor/finding.ts';
import { whereOf } from '../../fields/positions.ts';
import { unlockHint } from '../lock.ts';
import { isHalfMade } from '../observed.ts';
import {
  addressConflicts,
  addressesInFile,
  addressHolders,
  baseOf,
  comparedWith,
  notCompared,
} from '../plan/checks/addresses.ts';

type CheckInput = Pick<Examined, 'stack' | 'state' | 'observed'>;

export function checkNeighbours(examination: CheckInput): Finding[] {
  const say = findingsOf('neighbours');
  const { observed } = examination;
  const clashes = [...sameNames(examination), ...sameAddresses(examination)];
  const hidden = notCompared(observed).map(
    (words): Finding => ({ check: 'neighbours', verdict: 'unknown', words: `Not compared: ${words}.` }),
  );
  if (clashes.length > 0) return [...clashes, ...hidden];
  const [read = 'No other VM was read.'] = comparedWith(observed);
  return [say.good(`No other VM is known to use a name or an address of the stack. ${read}`), ...hidden];
}

function sameNames({ stack, state, observed }: CheckInput): Finding[] {
  const say = findingsOf('neighbours');
  const own = new Set(Object.values(state.vms).map(({ vmid }) => vmid));
  return stack.vms.flatMap((vm): Finding[] => {
    const others = [...observed.guests.values()].filter(({ vmid, name }) => name === vm.fields.name && !own.has(vmid));
    return others.map(({ vmid, node }) => {
      const held = observed.locks.get(vmid);
      return say.warning(`${vm.address} has the name ${vm.fields.name}, which VM ${vmid} on ${node} already has.`, {
        remedy:
          held && isHalfMade(held)
            ? `Choose another name. ${unlockHint(held)}`.trimEnd()
            : state.vms[vm.address]
              ? 'Give one of them another name.' // import takes no second VM for one address
              : `Choose another name, or import that VM: ${commandText('import', vm.address, vmid)}`,
        where: whereOf(vm, 'name'),
      });
    });
  });
}

/** Of all VMs, also of those that the plan leaves as they are. */
function sameAddresses({ stack, state, observed }: CheckInput): Finding[] {
  const say = findingsOf('neighbours');
  const holders = addressHolders({ stack, state, observed });
  return stack.vms
    .flatMap((vm) => addressConflicts(vm, addressesInFile(vm), baseOf(vm, observed), holders))
    .map((problem) => say.of(problem, problem.severity === 'error' ? 'bad' : 'warning'));
}
