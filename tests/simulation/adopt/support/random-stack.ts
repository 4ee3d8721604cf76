/** Random stack files as people write them: defaults, groups with count or each, ranges of ids and addresses, overrides. */
import { seededRandom } from '../../../../src/simulator/index.ts';

export interface RandomStack {
  /** Without `version` and `stack`. */
  readonly text: string;
  readonly count: number;
}

const NAMES = ['web', 'db', 'worker', 'control', 'cache', 'mail', 'build', 'queue', 'edge', 'log'];
const NUMBER = `$${'{number}'}`;
const EACH = `$${'{each}'}`;

/** The VMs get ids from `firstId` on; `count` is about `size`. */
export function randomStack(seed: number, size: number, firstId = 1_000): RandomStack {
  const random = seededRandom(`stack ${seed} of ${size}`);
  const draw = (below: number) => Math.floor(random.next() * below);
  const pick = <Item>(items: readonly [Item, ...Item[]]): Item => items[draw(items.length)] ?? items[0];
  const chance = (percent: number) => draw(100) < percent;
  const node = pick(['pve1', 'pve1', 'pve2']);
  const defaults = [
    '  ownership: off',
    '  power: stopped',
    `  node: ${node}`,
    `  clone: { template: ${pick(['ubuntu-24.04', 'talos-v1.12.4-base'])}, mode: linked }`,
    `  memory: ${pick(['1GiB', '2GiB', '4GiB'])}`,
    ...(chance(50) ? [`  cpu: { cores: ${1 + draw(4)} }`] : []),
    ...(chance(30) ? ['  on_boot: true'] : []),
    ...(chance(30) ? ['  cloud_init: { dns: { servers: [10.1.0.1], domain: lab.example.org } }'] : []),
  ];
  const groups: string[] = [];
  let [count, id] = [0, firstId];
  for (let index = 0; count < size; index++) {
    const [plain = 'vm', round] = [NAMES[index % NAMES.length], Math.floor(index / NAMES.length)];
    const name = round === 0 ? plain : `${plain}-${String.fromCharCode(96 + round)}`;
    const members = Math.min(size - count, chance(25) ? 1 : 2 + draw(Math.max(2, Math.ceil(size / 4))));
    const isSingle = members === 1;
    const first = 1 + draw(20);
    const isEach = !isSingle && chance(30);
    const net = Math.floor(index / 250);
    const last = Math.floor(index) % 250;
    const address = (member: number) => `10.${20 + net}.${last}.${10 + member}`;
    const range = isSingle ? `address: ${address(0)}/16` : `addresses: ${address(0)}-${address(members - 1)}/16`;
    const isStatic = members < 200 && chance(60);
    groups.push(
      `  ${name}:`,
      ...(isSingle
        ? [`    name: ${name}`, `    vmid: ${id}`]
        : isEach
          ? [
              `    each: [${Array.from({ length: members }, (_, member) => first + member * 2).join(', ')}]`,
              `    name: ${name}-${EACH}`,
              `    vmids: ${id}-${id + members - 1}`,
            ]
          : [`    count: ${members}`, `    name: ${name}-${NUMBER}`, `    vmids: ${id}-${id + members - 1}`]),
      `    nics: { net0: { bridge: vmbr0, ipv4: ${isStatic ? `{ ${range}, gateway: 10.${20 + net}.255.1 }` : 'dhcp'} } }`,
      ...(chance(60) ? [`    tags: [${[name, ...(chance(50) ? ['prod'] : [])].join(', ')}]`] : []),
      ...(chance(40) ? [`    memory: ${pick(['3GiB', '8GiB'])}`] : []),
      ...(chance(40) ? [`    disks: { scsi0: { size: ${8 + draw(40)}GiB } }`] : []),
      ...(chance(20) ? ['    cpu: { cores: 8, type: host }'] : []),
      ...(chance(15) ? [`    description: Servers for ${name}.`] : []),
      ...(!isSingle && chance(30) ? [`    overrides: { ${1 + draw(members)}: { memory: 6GiB } }`] : []),
    );
    count += members;
    id += members + draw(3);
  }
  const limits = 'rollout: { limits: { vms: 400, group_size: 400, clones_per_node: 50, clones_per_storage: 50 } }';
  return { text: `${limits}\ndefaults:\n${defaults.join('\n')}\nvms:\n${groups.join('\n')}\n`, count };
}

/** Lines that say something, of the parts that describe VMs. */
export function linesOf(text: string): number {
  let isCounted = false;
  return text.split('\n').filter((line) => {
    if (/^\S/.test(line) && !line.startsWith('#')) isCounted = /^(defaults|vms):/.test(line);
    return isCounted && line.trim() !== '' && !line.trim().startsWith('#');
  }).length;
}
