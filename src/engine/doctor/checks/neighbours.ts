/** Names and addresses that VMs outside the stack already use. */
import { counted } from '../../../base/units.ts';
import { propertyOf } from '../../../kinds/vm/parts.ts';
import { staticAddresses } from '../../../kinds/vm/ready/checks.ts';
import { whereOf } from '../../../kinds/vm/where.ts';
import type { Examination } from '../examination.ts';
import { type Finding, findingsOf } from '../finding.ts';

type Seen = Pick<Examination, 'stack' | 'state' | 'observed' | 'neighbours'>;

export function checkNeighbours(examination: Seen): Finding[] {
  const say = findingsOf('neighbours');
  const { neighbours } = examination;
  const clashes = [...sameNames(examination), ...sameAddresses(examination)];
  const hidden = neighbours.isComplete
    ? []
    : [say.unread('Names and addresses of VMs that the token does not see', 'VM.Audit on /vms, propagated')];
  const unread =
    neighbours.unread === 0
      ? []
      : [say.warning(`The addresses of ${counted(neighbours.unread, 'other VM')} were not read.`)];
  if (clashes.length > 0) return [...clashes, ...hidden, ...unread];
  const words = `${counted(neighbours.vms.size, 'other VM')} read; none uses a name or address of the stack.`;
  return [...(neighbours.vms.size > 0 || neighbours.isComplete ? [say.good(words)] : []), ...hidden, ...unread];
}

function sameNames({ stack, state, observed }: Seen): Finding[] {
  const say = findingsOf('neighbours');
  const own = new Set(Object.values(state.vms).map(({ vmid }) => vmid));
  return stack.vms.flatMap((vm): Finding[] => {
    const others = [...observed.guests.values()].filter(({ vmid, name }) => name === vm.fields.name && !own.has(vmid));
    return others.map(({ vmid, node }) =>
      say.warning(`${vm.address} has the name ${vm.fields.name}, which VM ${vmid} on ${node} already has.`, {
        remedy: `Choose another name, or import that VM: proxwright import '${vm.address}' ${vmid}`,
        where: whereOf(vm, 'name'),
      }),
    );
  });
}

function sameAddresses({ stack, neighbours }: Seen): Finding[] {
  const say = findingsOf('neighbours');
  const taken = new Map<string, { vmid: number; name: string }>();
  for (const { vmid, current, template } of neighbours.vms.values()) {
    if (template) continue;
    for (const [key, text] of current) {
      if (!/^ipconfig\d+$/.test(key)) continue;
      const addresses = ['ip', 'ip6'].map((part) =>
        propertyOf(key, text)
          .get(part)
          ?.replace(/\/\d+$/, '')
          .toLowerCase(),
      );
      for (const address of addresses) {
        if (address !== undefined) taken.set(address, { vmid, name: current.get('name') ?? '(no name)' });
      }
    }
  }
  return stack.vms.flatMap((vm) =>
    Object.entries(vm.fields.nics ?? {}).flatMap(([slot, nic]) =>
      staticAddresses(nic).flatMap((address): Finding[] => {
        const holder = taken.get(address.toLowerCase());
        if (!holder) return [];
        return [
          say.bad(`${address} of ${vm.address} is already the address of VM ${holder.vmid} (${holder.name}).`, {
            remedy: 'Give one of them another address.',
            where: whereOf(vm, `nics.${slot}`),
          }),
        ];
      }),
    ),
  );
}
