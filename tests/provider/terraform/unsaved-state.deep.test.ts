/**
 * The host is killed after the last write to the server and before it has written its state: a complete VM that no state
 * knows. It is never made twice, what stands is named, and an import is the way out, also to destroy it.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SMALL, vm } from './support/hcl.ts';
import { ONE_HOST } from './support/hosts.ts';
import { type Installed, installProvider } from './support/installed.ts';
import { pidOf } from './support/provider-process.ts';
import { problems, Scene } from './support/scene.ts';

const APPLY = ['apply', '-json', '-input=false', '-auto-approve'];
const WEB = vm('web', { ...SMALL, vmid: 410, cpu: { cores: 4 } });
const DB = vm('db', { ...SMALL, name: 'db', vmid: 411 });

let provider: Installed;
let scene: Scene;
beforeAll(async () => {
  provider = await installProvider();
});
afterEach(() => scene.close());
afterAll(() => provider.remove());

/** Applies, and kills the host and its provider once the notes of `web` no longer say that it is incomplete. */
async function killedAfterLastWrite(): Promise<void> {
  const running = scene.start(APPLY);
  let isStruck = false;
  scene.after = async (_, line) => {
    if (isStruck || !/^PUT .*\/qemu\/410\/config$/.test(line)) return undefined;
    if (/incomplete/.test(scene.configOf('web').get('description') ?? 'incomplete')) return undefined;
    isStruck = true;
    process.kill(-pidOf(running), 'SIGKILL');
    return 'cut';
  };
  expect((await running.result).code).not.toBe(0);
  expect(isStruck).toBe(true);
  scene.after = () => undefined;
}

const idsOf = (s: Scene) => s.ours().map(({ vmid }) => vmid);

describe.each(ONE_HOST)('a VM that $name $version was killed over before it wrote its state', (host) => {
  it('outlives a destroy of the empty state, is named by the next plan, and goes once it was imported', async () => {
    scene = await Scene.open({ host, installation: provider.installation });
    await scene.write(WEB);
    await killedAfterLastWrite();
    expect([...(await scene.state()).keys()]).toEqual([]);
    // The host asks no provider about an empty state.
    expect((await scene.run(['destroy', '-auto-approve', '-input=false'])).code).toBe(0);
    expect(idsOf(scene)).toEqual([410]);
    const errors = (await scene.plan()).diagnostics.filter(({ severity }) => severity === 'error');
    expect(errors).toHaveLength(1);
    const detail = errors[0]?.detail ?? '';
    expect(detail).toContain('VM 410 (web) on pve1');
    expect(detail).toMatch(/terraform import ADDRESS NODE\/VMID.*To destroy it, import it first/s);
    expect((await scene.run(['import', '-input=false', 'proxwright_vm.web', 'pve1/410'])).code).toBe(0);
    expect(problems(await scene.apply())).toEqual([]);
    expect((await scene.plan()).code).toBe(0);
    expect(scene.taskCount('qmclone')).toBe(1);
    expect((await scene.run(['destroy', '-auto-approve', '-input=false'])).code).toBe(0);
    expect(idsOf(scene)).toEqual([]);
  });

  it('stops a destroy of the others with the way out, and does not keep them from being destroyed', async () => {
    scene = await Scene.open({ host, installation: provider.installation });
    await scene.write(DB);
    expect(problems(await scene.apply())).toEqual([]);
    await scene.write(DB, WEB);
    await killedAfterLastWrite();
    const refused = await scene.run(['destroy', '-auto-approve', '-input=false']);
    expect(refused.code).toBe(1);
    expect(`${refused.stdout}${refused.stderr}`.replace(/[\s│]+/g, ' ')).toContain('terraform destroy -refresh=false');
    expect(idsOf(scene).sort()).toEqual([410, 411]);
    expect((await scene.run(['destroy', '-auto-approve', '-input=false', '-refresh=false'])).code).toBe(0);
    expect(idsOf(scene)).toEqual([410]);
  });
});
