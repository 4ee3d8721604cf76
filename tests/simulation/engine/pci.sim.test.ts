/** Devices named by their address: the mapping a token needs is found, or made before the VMs that use it, and never removed. */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { parseToken } from '../../../src/pve/index.ts';
import { failuresOf } from './support/invariants.ts';
import { unmappedWorld } from './support/lab-world.ts';
import { Scene, type SceneOptions } from './support/scene.ts';

const MAPPING = 'proxwright-0000-01-00-10de-2204';
const entry = (node: string) => `id=10de:2204,iommugroup=14,node=${node},path=0000:01:00,subsystem-id=1458:403b`;

const scene = (options: SceneOptions = {}) => new Scene({ world: unmappedWorld, ...options });

const vm = (name: string, node: string, device: string, vmid: number) =>
  `${name}: { name: ${name}, vmid: ${vmid}, node: ${node}, machine: q35, clone: { template: ubuntu-24.04 }, pci: { hostpci0: { device: "${device}", pcie: true } } }`;
const stack = (...vms: string[]) => `
version: 1
stack: lab
vms:
${vms.map((each) => `  ${each}`).join('\n')}
`;
const ONE = stack(vm('gpu', 'pve1', '0000:01:00', 401));
const TWO = stack(vm('gpu', 'pve1', '0000:01:00', 401), vm('other', 'pve2', '01:00', 402));

describe('a device named by its address', () => {
  it('gets a mapping before its VM is made, which starts; the second plan is empty', async () => {
    const { apply, plan, ...rest } = bench();
    const end = await apply(ONE);
    expect(failuresOf(end)).toEqual([]);
    if (end.kind !== 'ended') throw new Error('not applied');
    expect(end.plan.steps.slice(0, 3).map(({ id, needs }) => [id, needs])).toEqual([
      [`pci.${MAPPING}/map`, []],
      ['vm.gpu/reserve', [`pci.${MAPPING}/map`]],
      ['vm.gpu/clone', ['vm.gpu/reserve']],
    ]);
    expect(rest.mappings()).toEqual({ [MAPPING]: [entry('pve1')] });
    expect(rest.scene.world.vms.get(401)).toMatchObject({ process: expect.anything() });
    expect(rest.scene.world.vms.get(401)?.config.current.get('hostpci0')).toBe(`mapping=${MAPPING},pcie=1`);
    expect(await plan(ONE)).toMatchObject({ plan: { steps: [] } });
  });

  it('shares one mapping with a device in the same place of another node', async () => {
    const { apply, mappings, scene: at } = bench();
    expect(failuresOf(await apply(TWO))).toEqual([]);
    expect(mappings()).toEqual({ [MAPPING]: [entry('pve1'), entry('pve2')] });
    expect(at.writes().filter((line) => line.includes('/mapping/'))).toEqual(['POST /cluster/mapping/pci']);
  });

  it('adds its node to the mapping that an earlier apply made', async () => {
    const { apply, plan, mappings } = bench();
    await apply(ONE);
    expect(failuresOf(await apply(TWO))).toEqual([]);
    expect(mappings()).toEqual({ [MAPPING]: [entry('pve1'), entry('pve2')] });
    expect(await plan(TWO)).toMatchObject({ plan: { steps: [] } });
  });

  it('gets its mapping again when another client removed it', async () => {
    const { apply, mappings, scene: at } = bench();
    await apply(ONE);
    at.world.mappings.pci.clear();
    const end = await apply(ONE);
    expect(end).toMatchObject({ plan: { steps: [{ action: 'pci.map' }] } });
    expect(mappings()).toEqual({ [MAPPING]: [entry('pve1')] });
  });

  it('keeps its mapping when the stack is destroyed', async () => {
    const { apply, mappings, scene: at } = bench();
    await apply(ONE);
    expect(failuresOf(await at.destroy(ONE))).toEqual([]);
    expect(mappings()).toEqual({ [MAPPING]: [entry('pve1')] });
    expect(at.requests.filter(({ method }) => method === 'DELETE').map(({ target }) => target)).toEqual([
      expect.stringContaining('/qemu/401'),
    ]);
  });

  it('is refused with both ways out where the token may not make a mapping, before anything is made', async () => {
    const credentials = parseToken('deploy@pve!ci=00000000-0000-4000-8000-000000000003');
    const { apply, scene: at } = bench({ credentials });
    const end = await apply(ONE);
    if (end.kind !== 'refused') throw new Error('not refused');
    const text = end.problems.map(formatDiagnostic).join('\n');
    expect(text).toContain('Mapping.Modify on /mapping/pci');
    expect(text).toContain('Or create it as root: pvesh create /cluster/mapping/pci');
    expect(text).toMatch(/stack\.yaml:\d+:\d+ — vm\.gpu/);
    expect(at.writes()).toEqual([]);
  });

  it('is refused with both lines if two VMs have it', async () => {
    const { apply, scene: at } = bench();
    const end = await apply(stack(vm('gpu', 'pve1', '0000:01:00', 401), vm('other', 'pve1', '01:00.1', 402)));
    if (end.kind !== 'refused') throw new Error('not refused');
    const text = end.problems.map(formatDiagnostic).join('\n');
    expect(text).toMatch(/at stack\.yaml:6:\d+ — vm\.other/);
    expect(text).toContain('vm.gpu (stack.yaml:5)');
    expect(at.writes()).toEqual([]);
  });

  it('costs a plan without changes nothing but the list of mappings', async () => {
    const { apply, plan, scene: at } = bench();
    await apply(ONE);
    await plan(ONE);
    const asked = at.requests.map(({ target }) => target.split('?')[0]);
    expect(asked.filter((target) => /mapping|hardware|permissions/.test(target ?? ''))).toEqual([
      '/api2/json/cluster/mapping/pci',
    ]);
  });
});

/** The first `times` attempts to make a mapping end with these words. */
function refusing(words: string, times: number): SceneOptions {
  let left = times;
  const message = `create hardware mapping failed: ${words}`;
  return {
    disguise: (transport) => ({
      ...transport,
      send: async (request, options) => {
        const isStruck = request.method === 'POST' && request.target.endsWith('/cluster/mapping/pci') && left-- > 0;
        if (!isStruck) return transport.send(request, options);
        return {
          status: 500,
          reason: message,
          headers: {},
          body: JSON.stringify({ data: null, message: `${message}\n` }),
        };
      },
    }),
  };
}

describe('making a mapping', () => {
  it('fails with the words of the server, does not begin the VMs that need it, and leaves the others alone', async () => {
    const { apply, scene: at } = bench(refusing('it is not my day', 1));
    const plain = 'plain: { name: plain, vmid: 404, node: pve1, clone: { template: ubuntu-24.04 } }';
    const end = await apply(stack(vm('gpu', 'pve1', '0000:01:00', 401), plain));
    if (end.kind !== 'ended' || !end.result) throw new Error('not applied');
    const { outcomes, problems } = end.result;
    expect(Object.fromEntries(outcomes)).toEqual({
      [`pci.${MAPPING}`]: 'failed',
      'vm.gpu': 'skipped',
      'vm.plain': 'done',
    });
    expect([...problems.values()].map(({ detail }) => detail)).toEqual([expect.stringContaining('it is not my day')]);
    expect(at.world.vms.has(401)).toBe(false);
    expect(failuresOf(await apply(stack(vm('gpu', 'pve1', '0000:01:00', 401), plain)))).toEqual([]);
  });

  it('waits for a lock as long as the stack allows', async () => {
    const lock = "cfs-lock 'file-mapping_pci_cfg' error: got lock request timeout";
    const { apply, mappings } = bench(refusing(lock, 3));
    expect(failuresOf(await apply(ONE))).toEqual([]);
    expect(mappings()).toEqual({ [MAPPING]: [entry('pve1')] });
    const exhausted = await bench(refusing(lock, 100)).apply(ONE);
    expect(failuresOf(exhausted).join()).toContain('CLUSTER_LOCKED');
  });

  it('is looked up and not repeated if its answer is lost', async () => {
    const {
      apply,
      mappings,
      scene: at,
    } = bench({
      faults: [{ kind: 'cut-after', match: { method: 'POST', path: 'mapping/pci' }, at: 1 }],
    });
    expect(failuresOf(await apply(ONE))).toEqual([]);
    expect(mappings()).toEqual({ [MAPPING]: [entry('pve1')] });
    expect(at.writes().filter((line) => line.includes('/mapping/'))).toEqual(['POST /cluster/mapping/pci']);
    expect(at.faults.strikes).toHaveLength(1);
  });
});

describe('trouble with the connection', () => {
  it.each(['unreachable', 'proxy-timeout', 'cut-before', 'cut-after', 'daemon-down'] as const)(
    'is survived or reported while a mapping is read and created, and corrected by the next apply: %s',
    async (kind) => {
      let strikes = 0;
      for (const at of [1, 2, 3, 4]) {
        const {
          apply,
          plan,
          mappings,
          scene: here,
        } = bench({ faults: [{ kind, match: { path: 'mapping/pci' }, at }] });
        await apply(ONE);
        strikes += here.faults.strikes.length;
        here.faults.stop();
        await here.clock.advance(600_000);
        expect(failuresOf(await apply(ONE)), `place ${at}`).toEqual([]);
        expect(mappings()).toEqual({ [MAPPING]: [entry('pve1')] });
        expect(here.tasks('qmclone')).toEqual(['OK']);
        expect(await plan(ONE)).toMatchObject({ plan: { steps: [] } });
      }
      expect(strikes).toBeGreaterThan(2);
    },
  );
});

describe('a run that dies while it makes a mapping', () => {
  it('is resumed: one mapping, one VM, an empty plan', async () => {
    const probe = bench();
    await probe.apply(ONE);
    const points = [...probe.scene.points];
    const near = points.flatMap((point, index) => (/mapping\/pci|pci\.proxwright/.test(point) ? [index + 1] : []));
    const firstClone = points.findIndex((point) => point.includes('/clone'));
    const dangerous = points.map((_, index) => index + 1).filter((at) => at <= firstClone + 1);
    expect(near.length).toBeGreaterThan(2);
    for (const at of dangerous) {
      const { scene: again, apply, plan, mappings } = bench();
      again.killAt = at;
      expect(await apply(ONE), `killed at ${at}`).toMatchObject({ kind: 'killed' });
      expect(failuresOf(await apply(ONE)), `killed at ${points[at - 1]}`).toEqual([]);
      expect(mappings()).toEqual({ [MAPPING]: [entry('pve1')] });
      expect(again.tasks('qmclone')).toEqual(['OK']);
      expect(await plan(ONE)).toMatchObject({ plan: { steps: [] } });
    }
  });
});

function bench(options: SceneOptions = {}) {
  const at = scene(options);
  return {
    scene: at,
    apply: (text: string) => at.apply(text),
    plan: (text: string) => at.plan(text),
    mappings: () => Object.fromEntries([...at.world.mappings.pci].map(([id, { map }]) => [id, map])),
  };
}
