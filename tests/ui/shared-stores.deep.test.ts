/**
 * The page on shared stores, each on a real server: another machine applies, this one watches. With several stacks in the
 * directory, each has its own views. The page takes no lock.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandDeps } from '../../src/cli/command.ts';
import { runApply } from '../../src/cli/commands/change/apply.ts';
import { createPageSource } from '../../src/cli/ui/source.ts';
import type { PageSource } from '../../src/ui/server/source.ts';
import { type Bench, openBench } from '../simulation/support/command-bench.ts';
import { HTTP, POSTGRES, S3, type StoreKind, type StoreScene, saySkipped } from '../stores/stores.ts';

const stackOf = (name: string, vmid: number) => `version: 1
stack: ${name}
vms:
  web: { name: ${name}-web, vmid: ${vmid}, node: pve1, guest: plain, clone: { template: ubuntu-24.04 } }
`;

/** An address of the HTTP store holds one state; the others keep stacks apart by name. */
const STACKS: Readonly<Record<string, readonly string[]>> = { HTTP: ['lab'] };

describe.each<StoreKind>([HTTP, POSTGRES, S3])('the page on $name', (kind) => {
  if (kind.missing !== undefined) saySkipped(`the page on ${kind.name}`, kind.missing);
  const names = STACKS[kind.name] ?? ['lab', 'shop'];
  let scene: StoreScene;
  let here: Bench;
  let elsewhere: Bench;
  beforeAll(async () => {
    if (kind.missing !== undefined) return;
    scene = await kind.start();
    here = await openBench('', [], { ...scene.environment, PROXWRIGHT_STATE: scene.address });
    for (const [index, name] of names.entries()) {
      mkdirSync(join(here.directory, name));
      here.write(`${name}/stack.yaml`, stackOf(name, 601 + index));
    }
    elsewhere = here.copy();
  });
  afterAll(async () => {
    await here?.close();
    await scene?.stop();
  });

  /** Until the command ends, which is when the page is closed. */
  const watching = (look: (source: PageSource) => Promise<void>) =>
    here.run(async (deps: CommandDeps) => {
      await look(await createPageSource({}, deps));
      return 0;
    });

  it.skipIf(kind.missing !== undefined)('shows what another machine applies, for every stack', async () => {
    const { code, said } = await watching(async (source) => {
      expect((await source.stacks()).map(({ id, file }) => [id, file])).toEqual(
        names.map((name) => [name, join(name, 'stack.yaml')]),
      );
      for (const name of names) {
        expect(await source.pulse(name)).toEqual({ ok: true, value: 'none' });
        expect(await source.view(name, 'plan')).toMatchObject({ ok: true, value: { changes: [{ kind: 'create' }] } });
        const file = join(name, 'stack.yaml');
        const applied = await elsewhere.run((deps) => runApply(undefined, { yes: true, file }, deps));
        expect(applied, applied.said).toMatchObject({ code: 0 });
        expect(await source.view(name, 'plan')).toMatchObject({ ok: true, value: { steps: 0 } });
        expect(await source.view(name, 'drift')).toEqual({ ok: true, value: [] });
        const outputs = JSON.stringify(await source.view(name, 'outputs'));
        expect(outputs).toContain(`${name}-web`);
        for (const other of names) if (other !== name) expect(outputs).not.toContain(`${other}-web`);
        const cluster = await source.view(name, 'cluster');
        const guests = cluster?.ok ? cluster.value.nodes.flatMap((node) => node.guests) : [];
        const ours = guests.filter(({ address }) => address !== undefined);
        expect(ours.map((guest) => guest.name)).toEqual([`${name}-web`]);
        const runs = await source.view(name, 'runs');
        // The journals of an HTTP store stay on the machine that wrote them.
        if (kind.name === 'HTTP') expect(runs).toEqual({ ok: true, value: [] });
        else {
          expect(runs).toMatchObject({ ok: true, value: [{ command: 'apply', outcome: 'done' }] });
          expect(await source.run(name, 'last')).toMatchObject({ chart: { outcome: 'done' } });
          expect(await source.report(name, 'last')).toContain('<svg');
        }
      }
    });
    expect(code, said).toBe(0);
  });

  it.skipIf(kind.missing !== undefined)('takes no lock: it reads while another run holds it', async () => {
    const store = await scene.open('lab');
    const since = new Date().toISOString();
    const lock = await store.lock({
      runId: 'held',
      who: 'operator',
      host: 'elsewhere',
      pid: 1,
      since,
      command: 'apply',
    });
    const { code, said } = await watching(async (source) => {
      for (const view of ['plan', 'cluster', 'drift', 'outputs', 'doctor', 'runs'] as const) {
        expect(await source.view('lab', view), view).toMatchObject({ ok: true });
      }
      expect((await store.holder())?.owner.runId).toBe('held');
    });
    expect(code, said).toBe(0);
    lock.assertHeld();
    await lock.release();
    await store.close?.();
  });
});
