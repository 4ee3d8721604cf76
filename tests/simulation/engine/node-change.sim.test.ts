/** A file that names another node moves the VM there; what keeps it is refused in the plan, with its line. */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import type { WorldFile } from '../../../src/simulator/index.ts';
import { placesOf, settled } from './support/five-nodes.ts';
import { failuresOf } from './support/invariants.ts';
import { type RunEnd, Scene } from './support/scene.ts';

const stack = (more: string, node = 'pve1') => `
version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 401
    node: ${node}
    guest: cloud-init
    clone: { template: ubuntu-24.04 }
    ${more}
`;

const textOf = (end: RunEnd) => (end.kind === 'refused' ? end.problems.map(formatDiagnostic).join('\n') : end.kind);
const currentOf = ({ world }: Scene) => world.vms.get(401)?.config.current as Map<string, string>; // VM 401 exists

/** The refusal of a plan after `node` changed to pve2. */
async function refusal(
  more: string,
  change: (scene: Scene) => void = () => {},
  world?: (file: WorldFile) => WorldFile,
): Promise<string> {
  const scene = new Scene({ from: await settled(stack(more), world) });
  change(scene);
  const end = await scene.apply(stack(more, 'pve2'));
  expect(scene.writes()).toEqual([]);
  return textOf(end);
}

describe('a VM whose node changes in the file', () => {
  it('moves while it runs, with its local disks, and the plan says so', async () => {
    const scene = new Scene({ from: await settled(stack('')) });
    const end = await scene.apply(stack('', 'pve2'));
    expect(failuresOf(end)).toEqual([]);
    expect(end.kind === 'ended' && end.plan.changes[0]?.notes).toEqual([
      'it moves while it runs',
      expect.stringMatching(/^local disks are copied to pve2: .*iB to local-lvm$/),
    ]);
    expect(placesOf(scene, [401])).toEqual(['web pve2']);
    expect(scene.tasks('qmshutdown')).toEqual([]);
    expect(await scene.plan(stack('', 'pve2'))).toMatchObject({ plan: { steps: [] } });
  });

  it.each([
    ['usb0', 'host=1-2', 'uses usb0, a device of its node: host=1-2.', 'apply those first, with node: pve1'],
    ['hostpci0', '0000:01:00.0', 'uses hostpci0, a device of its node (PCI passthrough)', 'Use a mapping'],
    ['amd-sev', 'type=std', 'has its memory encrypted by AMD SEV (amd-sev)', 'restart: when_needed'],
    ['parent', 'before', 'has snapshots, and Proxmox does not copy scsi0', 'restart: when_needed'],
    ['lock', 'backup', 'is locked (backup)', 'remove the lock: qm unlock 401. Then run the command again.'],
  ])('is refused before anything happens if it cannot move: %s', async (key, value, what, hint) => {
    const text = await refusal('', (scene) => currentOf(scene).set(key, value));
    expect(text).toContain(`The file moves it to pve2, but VM 401 on pve1 ${what}`);
    expect(text).toContain(hint);
    expect(text).not.toContain('--allow-restart');
  });

  it('is refused with the line of an ISO file on storage of its node', async () => {
    const text = await refusal('disks: { ide0: { iso: "local:iso/debian-13.1.0-amd64-netinst.iso" } }');
    expect(text).toContain('VM 401 on pve1 has local:iso/debian-13.1.0-amd64-netinst.iso in ide0');
    expect(text).toContain('stack.yaml:11');
  });

  it('is refused with the field that puts its cloud-init files on storage of its node', async () => {
    const text = await refusal('cloud_init: { user_data: { text: "#cloud-config\\n" }, storage: local }');
    expect(text).toContain('VM 401 on pve1 has its cloud-init files in local:iso/proxwright-web-');
    expect(text).toContain('cloud_init.storage: …');
    expect(text).toContain('stack.yaml:11');
  });

  it('is refused with the line of a local disk under HA', async () => {
    const text = await refusal('ha: { state: started }');
    expect(text).toContain('the HA manager does not copy local disks while a VM runs: scsi0 on "local-lvm".');
    expect(text).toContain('stack.yaml:11');
  });

  it('is refused under HA also if the file says nothing about HA', async () => {
    const scene = new Scene({ from: await settled(stack('ha: { state: started }')) });
    expect(textOf(await scene.apply(stack('', 'pve2')))).toContain('is under HA');
    expect(scene.writes()).toEqual([]);
  });

  it('is refused where the new node lacks the storage of a disk', async () => {
    const only = (file: WorldFile): WorldFile => ({
      ...file,
      storages: {
        ...file.storages,
        'local-lvm': { ...file.storages?.['local-lvm'], type: 'lvmthin', nodes: ['pve1'] },
      },
    });
    const text = await refusal('', () => {}, only);
    expect(text).toContain('pve2 cannot take VM 401 on pve1: Its storage "local-lvm" is disabled.');
    expect(text).toContain('stack.yaml:8');
  });

  it('is refused where the new node does not exist', async () => {
    const scene = new Scene({ from: await settled(stack('')) });
    expect(textOf(await scene.apply(stack('', 'pve22')))).toContain('There is no node "pve22"');
  });

  const clipboard = (machine: string) => `vga: { type: std, clipboard: vnc }\n    machine: ${machine}`;

  it('is refused with a VNC clipboard on an older machine version, also by drain', async () => {
    const text = await refusal(clipboard('q35'));
    expect(text).toContain('VM 401 on pve1 has a VNC clipboard, and Proxmox does not move it while it runs');
    expect(text).toContain('stack.yaml:11');
    const scene = new Scene({ from: await settled(stack(clipboard('q35'))) });
    const drained = await scene.relocate(stack(clipboard('q35')), { relocation: { kind: 'drain', node: 'pve1' } });
    expect(textOf(drained)).toContain('has a VNC clipboard');
    expect(scene.writes()).toEqual([]);
  });

  it('moves with a VNC clipboard from machine version 10.1 on', async () => {
    const newer = (file: WorldFile): WorldFile => ({ ...file, version: { version: '9.2', qemu: '10.1.2' } });
    const scene = new Scene({ from: await settled(stack(clipboard('q35')), newer) });
    expect(failuresOf(await scene.apply(stack(clipboard('q35'), 'pve2')))).toEqual([]);
    expect(placesOf(scene, [401])).toEqual(['web pve2']);
    expect(await refusal(clipboard('pc-q35-9.2'), () => {}, newer)).toContain('has a VNC clipboard');
  });

  it('is shut down, moved and started if it may restart, and started by the next run if this one is killed before', async () => {
    const more = `${clipboard('q35')}\n    restart: when_needed`;
    const from = await settled(stack(more));
    const whole = new Scene({ from });
    const end = await whole.apply(stack(more, 'pve2'));
    expect(failuresOf(end)).toEqual([]);
    expect(end.kind === 'ended' && end.plan.steps.map(({ action }) => action)).toEqual([
      'vm.stop',
      'vm.migrate',
      'vm.verify',
      'vm.start',
      'vm.ready',
    ]);
    // Stopped and moved; only the start is still to come.
    const verified = whole.points.indexOf('after append learned vm.web/verify');
    expect(verified).toBeGreaterThan(0);
    const scene = new Scene({ from });
    scene.killAt = verified + 1;
    await scene.apply(stack(more, 'pve2'));
    expect(placesOf(scene, [401])).toEqual(['web pve2 stopped']);
    expect(failuresOf(await scene.apply(stack(more, 'pve2')))).toEqual([]);
    expect(placesOf(scene, [401])).toEqual(['web pve2']);
    expect(await scene.plan(stack(more, 'pve2'))).toMatchObject({ plan: { steps: [] } });
  });

  it('is shut down once if the file also says that it is stopped', async () => {
    const more = `${clipboard('q35')}\n    restart: when_needed`;
    const scene = new Scene({ from: await settled(stack(more)) });
    const off = stack(`${more}\n    power: stopped`, 'pve2');
    expect(failuresOf(await scene.apply(off))).toEqual([]);
    expect(placesOf(scene, [401])).toEqual(['web pve2 stopped']);
    expect(scene.tasks('qmshutdown')).toEqual(['OK']);
    expect(await scene.plan(off)).toMatchObject({ plan: { steps: [] } });
  });
});
