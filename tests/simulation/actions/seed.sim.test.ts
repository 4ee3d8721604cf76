/** Seeds in a storage: uploaded once, always recorded, and removed with their VM. */
import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../../src/base/errors.ts';
import { Secret } from '../../../src/base/secret.ts';
import type { VmAction, VmContext } from '../../../src/kinds/vm/actions/context.ts';
import { removeSeeds, type SeedInput, sendSeed, type UnseedInput } from '../../../src/kinds/vm/actions/disks/seed.ts';
import type { SeedFields } from '../../../src/kinds/vm/seed/fields.ts';
import { Bench, CLONE, desiredEntries, PASSWORD, WEB } from './bench.ts';

const FIELDS: SeedFields = {
  name: 'web',
  guest: 'cloud-init',
  nics: { net0: { ipv4: { address: '10.0.20.11/24', gateway: '10.0.20.1' } } },
  user: 'ops',
  hasPassword: true,
  own: ['user_data'],
};
const INPUT: SeedInput = { storage: 'local', fields: FIELDS };
const FIRST = '#cloud-config\n# hunter2\n';
const SECOND = '#cloud-config\n# hunter3\n';
const UPLOAD = { method: 'POST', path: '/nodes/*/storage/*/upload' } as const;
const REMOVAL = { method: 'DELETE', path: '/nodes/*/storage/*/content/*/*' } as const;

const FAULTS = ['cut-before', 'cut-after', 'proxy-timeout', 'unreachable'] as const;

/** One step, as the engine would run it, with this as user data. */
async function step<Input>(
  bench: Bench,
  name: string,
  action: VmAction<Input>,
  input: Input,
  userData = FIRST,
): Promise<void> {
  const record = bench.records.get(WEB);
  if (!record) throw new Error('there is no VM yet');
  record.open = { action: name, intent: undefined, upid: undefined };
  const context: VmContext = {
    ...bench.context(),
    secret: (key) => new Secret(key === 'cloud_init.user_data' ? userData : PASSWORD),
  };
  await action(context, JSON.parse(JSON.stringify(input)) as Input);
  record.open = undefined;
}

const seed = (bench: Bench, userData?: string, fields = FIELDS) =>
  step(bench, 'vm.seed', sendSeed, { ...INPUT, fields }, userData);
const unseed = (bench: Bench, input: UnseedInput = {}) => step(bench, 'vm.unseed', removeSeeds, input);

/** Puts what is recorded into the drive. */
async function attach(bench: Bench): Promise<void> {
  const file = recorded(bench)?.seed?.volid ?? '';
  await bench.step('vm.configure', { desired: desiredEntries({ ide0: { kind: 'cdrom', set: {}, file } }) });
}

function recorded(bench: Bench) {
  return bench.records.get(WEB)?.recorded;
}

/** Seeds that lie in any storage of any node. */
function files(bench: Bench): string[] {
  return [...bench.world.storages.values()].flatMap((storage) =>
    [...storage.volumes.values()].flatMap((perNode) =>
      [...perNode.values()].flatMap(({ name }) => (name.includes('proxwright-') ? [`${storage.id}:${name}`] : [])),
    ),
  );
}

async function cloned(...faults: ConstructorParameters<typeof Bench>): Promise<Bench> {
  const bench = new Bench(...faults);
  await bench.run('vm.clone', CLONE);
  bench.requests.length = 0;
  return bench;
}

describe('vm.seed', () => {
  it('uploads the volume with its checksum and records it', async () => {
    const bench = await cloned();
    await bench.clock.run(() => seed(bench));
    expect(bench.sent()).toEqual([
      'GET /nodes/pve1/qemu/101/pending',
      'GET /nodes/pve1/storage/local/content',
      'POST /nodes/pve1/storage/local/upload',
    ]);
    expect(files(bench)).toEqual([expect.stringMatching(/^local:iso\/proxwright-web-[0-9a-f]{16}\.iso$/)]);
    expect(recorded(bench)?.seed).toEqual({
      node: 'pve1',
      volid: files(bench)[0],
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(recorded(bench)?.oldSeeds).toEqual([]);
  });

  it('sends nothing a second time', async () => {
    const bench = await cloned();
    await bench.clock.run(() => seed(bench));
    bench.requests.length = 0;
    await bench.clock.run(() => seed(bench));
    expect(bench.writes()).toEqual([]);
  });

  it('records neither cloud-init files nor passwords', async () => {
    const bench = await cloned();
    await bench.clock.run(() => seed(bench));
    expect(JSON.stringify([...bench.records.values(), bench.logs])).not.toMatch(/hunter2|correct horse/);
  });

  it('sends a file again that has not arrived whole', async () => {
    const bench = await cloned();
    await bench.clock.run(() => seed(bench));
    const volume = [...(bench.world.storages.get('local')?.volumes.get('pve1')?.values() ?? [])].find(({ name }) =>
      name.includes('proxwright-'),
    );
    if (!volume) throw new Error('the seed is not there');
    volume.sizeBytes = 4096;
    bench.requests.length = 0;
    await bench.clock.run(() => seed(bench));
    expect(bench.writes()).toEqual(['POST /nodes/pve1/storage/local/upload']);
  });

  it.each([...FAULTS, 'upload-cut'] as const)('survives %s', async (kind) => {
    const bench = await cloned([{ kind, match: UPLOAD, at: 1 }]);
    await bench.clock.run(() => seed(bench));
    expect(bench.faults.strikes).toHaveLength(1);
    expect(files(bench)).toEqual([recorded(bench)?.seed?.volid]);
  });

  it('says what the server says where it may not', async () => {
    const bench = await cloned([
      {
        kind: 'refuse',
        match: UPLOAD,
        status: 403,
        message: 'Permission check failed (/storage/local, Datastore.AllocateTemplate)',
      },
    ]);
    const failure = await bench.clock.run(() => seed(bench)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ProxwrightError);
    expect(failure).toMatchObject({ code: 'PRIVILEGE_MISSING' });
    expect(recorded(bench)?.seed).toBeUndefined();
  });
});

describe('a seed that has changed', () => {
  it('is another file; the first one goes once no drive holds it', async () => {
    const bench = await cloned();
    await bench.clock.run(async () => {
      await seed(bench);
      await attach(bench);
      await seed(bench, SECOND);
    });
    const [first, second] = [recorded(bench)?.oldSeeds?.[0]?.volid, recorded(bench)?.seed?.volid];
    expect(files(bench).sort()).toEqual([first, second].sort());

    await bench.clock.run(() => unseed(bench));
    expect(files(bench)).toHaveLength(2);
    expect(recorded(bench)?.oldSeeds).toHaveLength(1);

    await bench.clock.run(async () => {
      await attach(bench);
      await unseed(bench);
    });
    expect(files(bench)).toEqual([second]);
    expect(recorded(bench)?.oldSeeds).toEqual([]);
  });

  it('uses the first file again if it is what it was at first', async () => {
    const bench = await cloned();
    await bench.clock.run(async () => {
      await seed(bench);
      await seed(bench, SECOND);
      bench.requests.length = 0;
      await seed(bench);
    });
    expect(bench.writes()).toEqual([]);
    expect(files(bench)).toContain(recorded(bench)?.seed?.volid);
    expect(recorded(bench)?.oldSeeds).toHaveLength(1);
    expect(recorded(bench)?.oldSeeds?.[0]?.volid).not.toBe(recorded(bench)?.seed?.volid);
  });
});

describe('vm.unseed', () => {
  it('takes the last one too where the VM is to have none', async () => {
    const bench = await cloned();
    await bench.clock.run(async () => {
      await seed(bench);
      await unseed(bench, { all: true });
    });
    expect(files(bench)).toEqual([]);
  });

  it('keeps a record of one that it may not remove, and names it', async () => {
    const message = 'Permission check failed (/storage/local, Datastore.Allocate)';
    const bench = await cloned([{ kind: 'refuse', match: REMOVAL, status: 403, message }]);
    await bench.clock.run(async () => {
      await seed(bench);
      await seed(bench, SECOND);
      await unseed(bench);
    });
    const kept = recorded(bench)?.oldSeeds?.[0]?.volid;
    expect(files(bench)).toContain(kept);
    expect(bench.logs.filter(({ level }) => level === 'warn').map((line) => line.message)).toEqual([
      expect.stringContaining(`On pve1: pvesm free ${kept}`),
    ]);
  });

  it.each(FAULTS)('survives %s', async (kind) => {
    const bench = await cloned([{ kind, match: REMOVAL, at: 1 }]);
    await bench.clock.run(async () => {
      await seed(bench);
      await seed(bench, SECOND);
      await unseed(bench);
    });
    expect(bench.faults.strikes).toHaveLength(1);
    expect(files(bench)).toEqual([recorded(bench)?.seed?.volid]);
    expect(recorded(bench)?.oldSeeds).toEqual([]);
  });
});

describe('the seeds of a VM', () => {
  it('go with it', async () => {
    const bench = await cloned();
    await bench.clock.run(async () => {
      await seed(bench);
      await attach(bench);
      await seed(bench, SECOND);
      await bench.step('vm.destroy', { stop: 'refuse' });
    });
    expect(files(bench)).toEqual([]);
  });

  it('do not keep it from going where they may not be removed', async () => {
    const message = 'Permission check failed (/storage/local, Datastore.Allocate)';
    const bench = await cloned([{ kind: 'refuse', match: REMOVAL, status: 403, message }]);
    await bench.clock.run(async () => {
      await seed(bench);
      await bench.step('vm.destroy', { stop: 'refuse' });
    });
    expect(bench.world.vms.has(101)).toBe(false);
    expect(bench.logs.some((line) => line.message.includes('pvesm free local:iso/proxwright-web-'))).toBe(true);
  });
});

describe('a kill at any point', () => {
  // Hashing a password is slow on purpose, and this is done often.
  const fields = { ...FIELDS, hasPassword: false };

  async function life(bench: Bench): Promise<void> {
    await seed(bench, FIRST, fields);
    await attach(bench);
    await seed(bench, SECOND, fields);
    await attach(bench);
    await unseed(bench);
  }

  it('leaves the new seed of a change in the drive, and nothing else in the storage', async () => {
    const whole = await cloned();
    await whole.mortally(() => life(whole));
    expect(whole.points).toBeGreaterThan(30);
    for (let killAt = 1; killAt <= whole.points; killAt++) {
      const bench = await cloned();
      bench.killAt = killAt;
      await bench.mortally(() => life(bench));
      await bench.clock.run(async () => {
        await bench.takeUp();
        await life(bench);
      });
      expect(files(bench), `point ${killAt}`).toEqual([recorded(bench)?.seed?.volid]);
      expect(bench.config('ide0'), `point ${killAt}`).toContain(files(bench)[0]);
    }
  });

  it('leaves nothing of a destroyed VM in the storage', async () => {
    const end = (bench: Bench) => bench.step('vm.destroy', { stop: 'refuse' });
    const prepared = async () => {
      const bench = await cloned();
      await bench.clock.run(async () => {
        await seed(bench, FIRST, fields);
        await seed(bench, SECOND, fields);
      });
      return bench;
    };
    const whole = await prepared();
    await whole.mortally(() => end(whole));
    expect(whole.points).toBeGreaterThan(10);
    for (let killAt = 1; killAt <= whole.points; killAt++) {
      const bench = await prepared();
      bench.killAt = killAt;
      await bench.mortally(() => end(bench));
      await bench.clock.run(async () => {
        if ((await bench.takeUp()) !== 'gone' && recorded(bench)) await end(bench);
      });
      expect(bench.world.vms.has(101), `point ${killAt}`).toBe(false);
      expect(files(bench), `point ${killAt}`).toEqual([]);
    }
  });
});
