/** The doctor on a simulated cluster: its findings, that it only reads, and that its remedies work. */
import { describe, expect, it } from 'vitest';
import { isHealthy } from '../../../src/kinds/doctor/finding.ts';
import type { World } from '../../../src/simulator/index.ts';
import { MemoryStore } from '../../../src/state/memory-store.ts';
import { readState } from '../../../src/state/state-file.ts';
import { LAB_WORLD } from '../engine/support/lab-world.ts';
import { firstPicture, runPhase } from '../privileges/support/bench.ts';
import { labWorld as anyWorld, obey, STACK, type Visit, visit, WEAK } from './support/clinic.ts';

const faults = ({ findings }: Visit) => findings.filter(({ verdict }) => verdict === 'bad');
const words = (visited: Visit) => faults(visited).map((finding) => finding.words);

function changed(world: World, vmid: number, change: (config: Map<string, string>) => void): World {
  const copy = structuredClone(world);
  const vm = copy.vms.get(vmid);
  if (!vm) throw new Error(`there is no VM ${vmid}`);
  const current = new Map(vm.config.current);
  change(current);
  copy.vms.set(vmid, { ...vm, config: { ...vm.config, current } });
  return copy;
}

describe.each(['9.2', '8.4'])('on Proxmox VE %s', (version) => {
  const labWorld = () => anyWorld((file) => ({ ...file, version }));

  describe('an administrator in a healthy cluster', () => {
    it('reports that the stack is ready to apply, and changes nothing', async () => {
      const visited = await visit(labWorld(), STACK());
      expect(words(visited)).toEqual([]);
      expect(visited.findings.map(({ verdict }) => verdict)).not.toContain('unknown');
      expect(visited.writes).toEqual([]);
      expect(new Set(visited.findings.map(({ check }) => check))).toEqual(
        new Set([
          ...['endpoint', 'certificate', 'version', 'token', 'clock', 'latency', 'privileges', 'plan', 'template'],
          ...['storage', 'capacity', 'neighbours', 'quorum'],
        ]),
      );
    });

    it('reports a wrong clock', async () => {
      const { of } = await visit(labWorld(), STACK(), { skewMs: 3_600_000 });
      expect(of('clock')).toMatchObject([{ verdict: 'warning', words: expect.stringContaining('ahead of') }]);
    });
  });

  describe('an applied stack', () => {
    it('has nothing to do, asks for no rights, and does not take its own VMs for others', async () => {
      const { world, now, documents } = firstPicture({ ...LAB_WORLD, version });
      const { after, outcome } = await runPhase({ world, now, documents }, { kind: 'apply', stack: STACK() });
      expect(outcome).toBe('done');
      const store = new MemoryStore();
      for (const [name, text] of after.documents) await store.write(name, text);
      const visited = await visit(after.world, STACK(), { state: await readState(store, 'lab'), now: after.now });
      expect(words(visited)).toEqual([]);
      expect(visited.of('plan')).toMatchObject([{ words: '1 VM, nothing to do.' }]);
      expect(visited.of('storage')).toMatchObject([{ words: expect.stringContaining('creates no disks') }]);
      expect(visited.of('capacity')[0]?.words).toContain('0 B planned');
      expect(visited.of('neighbours')).toMatchObject([{ verdict: 'good' }]);
    });
  });

  describe('a token with no rights at all', () => {
    it('gets that finding first, with the commands that fix it; after them the next check passes', async () => {
      const before = await visit(labWorld(), STACK(), { as: 'weak' });
      const [first] = before.findings;
      expect(first).toMatchObject({ check: 'privileges', verdict: 'bad' });
      expect(first?.words).toContain(`${WEAK} has no privileges at all`);
      expect(first?.remedy).toMatch(/^pveum role add /);
      expect(isHealthy(before.findings)).toBe(false);
      const after = await visit(obey(labWorld(), first?.remedy ?? ''), STACK(), { as: 'weak' });
      expect(words(after)).toEqual([]);
      expect(after.writes).toEqual([]);
    });

    it('needs less where the file says which template and which storage', async () => {
      const stack = STACK().replace('template: ubuntu-24.04', 'template: 9000, storage: local-lvm');
      const [first] = (await visit(labWorld(), stack, { as: 'weak' })).findings;
      const paths = [...(first?.remedy ?? '').matchAll(/pveum acl modify (\S+)/g)].map(([, path]) => path);
      expect([...new Set(paths)]).toEqual(['/vms/9000', '/vms/401', '/storage/local-lvm', '/sdn/zones/localnetwork']);
      const after = await visit(obey(labWorld(), first?.remedy ?? ''), stack, { as: 'weak' });
      expect(words(after)).toEqual([]);
    });

    it('also reports mistakes in the file', async () => {
      const stack = STACK().replace('node: pve1', 'node: pve7');
      const visited = await visit(labWorld(), stack, { as: 'weak' });
      expect(visited.findings[0]?.check).toBe('privileges');
      expect(words(visited)).toContainEqual(expect.stringContaining('There is no node "pve7"'));
    });
  });

  describe('a token with too little', () => {
    it('gets the missing privilege and its path, and the command that fixes it', async () => {
      const [first] = (await visit(labWorld(), STACK(), { as: 'weak' })).findings;
      const weak = obey(labWorld(), (first?.remedy ?? '').replace(' VM.PowerMgmt', ''));
      const visited = await visit(weak, STACK(), { as: 'weak' });
      expect(visited.of('privileges')[0]).toMatchObject({
        verdict: 'bad',
        details: [expect.stringContaining('VM.PowerMgmt on /vms/401')],
      });
      const mended = obey(weak, visited.of('privileges')[0]?.remedy ?? '');
      expect(words(await visit(mended, STACK(), { as: 'weak' }))).toEqual([]);
    });

    it('gets what was not checked, and the privilege for it', async () => {
      const [first] = (await visit(labWorld(), STACK(), { as: 'weak' })).findings;
      const { findings } = await visit(obey(labWorld(), first?.remedy ?? ''), STACK(), { as: 'weak' });
      const unknown = findings.filter(({ verdict }) => verdict === 'unknown').map((finding) => finding.words);
      expect(unknown).toContain('Quorum: not checked, the token needs Sys.Audit on /.');
      expect(unknown).toContain('Memory and cores of pve1: not checked, the token needs Sys.Audit on /nodes/pve1.');
      expect(unknown.filter((each) => each.includes('Sys.Audit on /nodes/pve1'))).toHaveLength(1);
    });
  });

  describe('a template', () => {
    it('is found before it is cloned if it has lost its disk', async () => {
      const world = changed(labWorld(), 9000, (config) => {
        config.set('unused0', (config.get('scsi0') ?? '').split(',')[0] ?? '');
        config.delete('scsi0');
        config.delete('boot');
      });
      expect(words(await visit(world, STACK().replace(/ {4}disks.*\n/, '')))).toContainEqual(
        expect.stringContaining('has a detached disk'),
      );
    });

    it('is found before it is cloned if its volume is gone', async () => {
      const world = changed(labWorld(), 9000, (config) => {
        config.set('scsi0', (config.get('scsi0') ?? '').replace('disk-0', 'disk-7'));
      });
      expect(words(await visit(world, STACK()))).toContainEqual(expect.stringContaining('has no such volume'));
    });
  });

  describe('the cluster', () => {
    it('is reported if one of its VMs has an address of the stack', async () => {
      const world = changed(labWorld(), 150, (config) => config.set('ipconfig0', 'ip=10.0.30.11/24'));
      expect(words(await visit(world, STACK()))).toEqual([
        'Everything that the file refers to exists, but an address is in use: see other VMs.',
        '10.0.30.11 of vm.web is already the address of VM 150 (others-150) on pve1, according to its configuration.',
      ]);
    });

    it('is reported if it is too small', async () => {
      const visited = await visit(labWorld(), STACK().replace('memory: 2GiB', 'memory: 900GiB'));
      expect(visited.of('capacity')).toMatchObject([
        { verdict: 'warning', words: expect.stringContaining('overcommitted') },
      ]);
      const wide = await visit(labWorld(), STACK().replace('cores: 2', 'cores: 64'));
      expect(words(wide)).toEqual([expect.stringContaining('Proxmox will not start it')]);
    });

    it('is asked for every thing that the file names', async () => {
      const stack = STACK().replace('bridge: vmbr0', 'bridge: vmbr9').replace('ubuntu-24.04', 'ubuntu-24.05');
      expect((await visit(labWorld(), stack)).of('plan').map(({ verdict, where }) => [verdict, where?.line])).toEqual([
        ['bad', 9],
        ['bad', 12],
      ]);
    });
  });
});
