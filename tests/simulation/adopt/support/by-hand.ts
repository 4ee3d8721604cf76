/** Random VMs as people create them by hand: odd names, notes with any text, several cards and disks, HA, snapshots, pending changes. */
import { seededRandom } from '../../../../src/simulator/index.ts';
import type { StackScene } from '../../support/stack-scene.ts';

const NAMES = ['pbx', 'Nextcloud', 'win-dc', 'test', 'old.example.org', 'jump-host', 'n8n', 'k8s-1a'];
/** What no comment, line of YAML or reference may be broken by. */
const NOTES = [
  'Made by hand.',
  '# not a comment\nstack: other\n',
  `a: b\n  - c: $${'{var.secret}'} $$${'{x}'} %{if}\n`,
  '"quotes" \'and\' `ticks`\t\\',
  '\u001b[31mred\u001b[0m \u202eback',
  '---\n...\n|\n>',
  'trailing blanks   \n\n\nend',
  '=: 0x1F null ~ yes',
];

/** Ids from `firstId` on. */
export async function makeClutter(lab: StackScene, seed: number, count: number, firstId: number): Promise<void> {
  const random = seededRandom(`clutter ${seed}`);
  const draw = (below: number) => Math.floor(random.next() * below);
  const pick = <Item>(items: readonly [Item, ...Item[]] | readonly Item[]): Item => items[draw(items.length)] as Item;
  const chance = (percent: number) => draw(100) < percent;
  const { pve } = lab;
  for (let index = 0; index < count; index++) {
    const vmid = firstId + index;
    const isNumbered = chance(50);
    const name = isNumbered ? `${pick(['srv', 'lab-', 'ci0'])}${1 + draw(count)}` : pick(NAMES);
    const isCloudInit = chance(50);
    await lab.makeByHand(vmid, {
      ...(chance(90) && { name }),
      memory: pick([512, 1024, 4096, 1536]),
      cores: 1 + draw(4),
      ...(chance(50) && { ostype: pick(['l26', 'win11', 'other']) }),
      ...(chance(40) && { description: pick(NOTES) }),
      ...(chance(40) && { tags: pick(['prod', 'a;b', 'Prod;web', 'x.y+z']) }),
      ...(chance(30) && { onboot: 1 }),
      ...(chance(30) && { agent: pick(['1', '0', 'enabled=1,fstrim_cloned_disks=1']) }),
      ...(chance(20) && { startup: 'order=2,up=30' }),
      ...(chance(20) && { bios: 'ovmf', efidisk0: 'local-lvm:1,efitype=4m,pre-enrolled-keys=1' }),
      ...(chance(20) && { machine: pick(['q35', 'pc-q35-9.2']) }),
      ...(chance(20) && { cpu: pick(['host', 'x86-64-v3', 'kvm64,flags=+aes']) }),
      scsihw: pick(['virtio-scsi-single', 'virtio-scsi-pci', 'lsi']),
      ...(chance(90) && { scsi0: `local-lvm:${1 + draw(3)}${chance(50) ? ',discard=on,iothread=1' : ''}` }),
      ...(chance(20) && { virtio1: 'nfs:1,format=qcow2,cache=writeback' }),
      ...(chance(90) && {
        net0: `${pick(['virtio', 'e1000'])},bridge=${pick(['vmbr0', 'vmbr1'])}${chance(30) ? ',tag=30' : ''}`,
      }),
      ...(chance(20) && { net1: 'virtio,bridge=vmbr1,link_down=1' }),
      ...(isCloudInit && {
        ide2: 'local-lvm:cloudinit',
        ipconfig0: pick([
          'ip=dhcp',
          `ip=10.77.${Math.floor(index / 250)}.${1 + (index % 250)}/16,gw=10.77.255.1`,
          'ip6=auto',
        ]),
        ciuser: 'admin',
        ...(chance(50) && { cipassword: 'Secret-of-the-guest' }),
      }),
      ...(!isCloudInit && chance(20) && { ide2: 'local:iso/debian-13.1.0-amd64-netinst.iso,media=cdrom' }),
      ...(chance(10) && { localtime: 1 }),
      ...(chance(10) && { tablet: 0 }),
    });
    const vm = pve.node('pve1').vm(vmid);
    if (chance(10)) await pve.tasks.wait(await vm.snapshots.create({ snapname: 'before' }));
    if (chance(15)) {
      await pve.tasks.wait(await vm.status.start());
      // It waits for a restart.
      await vm.config.put({ cores: 6 });
    }
    if (chance(10)) lab.edit(vmid, 'args', '-device virtio-rng-pci');
    if (chance(5)) lab.lockVm(vmid, pick(['backup', 'snapshot', 'migrate', 'suspended']));
  }
}
