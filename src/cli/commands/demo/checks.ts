/** What the demo checks at the end, by reading from the server and from each guest's agent again. */
import type { MachineView } from '../../../kinds/shown.ts';
import { parseDrive } from '../../../kinds/vm/config/disks.ts';
import { propertyOf } from '../../../kinds/vm/config/parts.ts';
import { readVm, type VmObserved } from '../../../kinds/vm/observed.ts';
import type { Pve } from '../../../pve/index.ts';
import type { ResolvedStack, ResolvedVm } from '../../../spec/index.ts';
import type { DemoCheck, DemoVm } from '../../views/demo.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

export async function checkDemoVm(
  pve: Pve,
  stack: ResolvedStack,
  view: MachineView,
  template: VmObserved,
): Promise<DemoVm | undefined> {
  const vm = stack.vms.find(({ address }) => address === view.address);
  if (!vm || view.vmid === null) return undefined;
  const observed = await readVm(pve, view.node, view.vmid);
  const { agent } = pve.node(view.node).vm(view.vmid);
  const [interfaces, hostName] = await Promise.all([agent.networkGetInterfaces(), agent.getHostName()]);
  const addresses = interfaces
    .filter(({ name }) => name !== 'lo')
    .flatMap((each) => each['ip-addresses'] ?? [])
    .filter((each) => each['ip-address-type'] === 'ipv4')
    .map((each) => `${each['ip-address']}/${each.prefix}`);
  return {
    name: view.name,
    vmid: view.vmid,
    checks: [
      ...configurationChecks(vm, observed, template),
      check('address', staticAddress(vm), addresses.join(' ')),
      check('host name', vm.fields.name, hostName),
    ],
  };
}

function configurationChecks({ fields }: ResolvedVm, { current }: VmObserved, template: VmObserved): DemoCheck[] {
  const { memory = 0, cpu, disks, nics } = fields;
  const card = propertyOf('net0', current.get('net0'));
  const net0 = nics?.net0;
  const diskGib = (values: ReadonlyMap<string, string>) =>
    `${(parseDrive('scsi0', values.get('scsi0') ?? '').sizeBytes ?? 0) / GIB} GiB`;
  const memoryOf = (values: ReadonlyMap<string, string>) => propertyOf('memory', values.get('memory')).get('current');
  return [
    check('memory', `${memory / MIB}`, memoryOf(current) ?? '', memoryOf(template.current)),
    check('cores', `${cpu?.cores ?? ''}`, current.get('cores') ?? '', template.current.get('cores')),
    check('disk', `${(disks?.scsi0?.size ?? 0) / GIB} GiB`, diskGib(current), diskGib(template.current)),
    check('bridge', net0?.bridge ?? '', card.get('bridge') ?? ''),
    check('VLAN', `${net0?.vlan ?? ''}`, card.get('tag') ?? 'none'),
  ];
}

function staticAddress({ fields }: ResolvedVm): string {
  const ipv4 = fields.nics?.net0?.ipv4;
  return typeof ipv4 === 'object' ? ipv4.address : '';
}

function check(what: string, desired: string, observed: string, template?: string): DemoCheck {
  const differs = template !== undefined && template !== desired;
  return { what, desired, observed, isGood: desired === observed, ...(differs && { template }) };
}
