/**
 * A VM whose successor is made before it goes (`create_before_destroy`). The host tells a provider neither that it is so nor
 * of the VM that is to go, so the two are told apart by what they are called: by their name, or by their id.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SMALL, vm } from './support/hcl.ts';
import { ONE_HOST } from './support/hosts.ts';
import { type Installed, installProvider } from './support/installed.ts';
import { problems, Scene, warnings } from './support/scene.ts';

const FIRST_IN = '  lifecycle {\n    create_before_destroy = true\n  }\n';
const web = (more: object) => vm('web', { ...SMALL, ...more }, FIRST_IN);

let provider: Installed;
beforeAll(async () => {
  provider = await installProvider();
});
afterAll(() => provider.remove());

describe.each(ONE_HOST)('a successor that comes first under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host, installation: provider.installation });
  });

  afterEach(() => scene.close());

  it('is made beside the old one where it has an id or a name of its own', async () => {
    await scene.settle(web({ vmid: 410 }));
    await scene.write(web({ vmid: 411 }));
    expect(await scene.changes()).toMatchObject([{ actions: ['create', 'delete'], changed: ['vmid'] }]);
    expect(warnings(await scene.plan()).join()).not.toContain('create_before_destroy');
    await scene.settle(web({ vmid: 411 }));
    expect(scene.ours()).toMatchObject([{ vmid: 411, name: 'web', running: true }]);

    await scene.settle(web({ vmid: 412, name: 'web-2' }));
    expect(scene.ours()).toMatchObject([{ vmid: 412, name: 'web-2', running: true }]);
    expect([scene.taskCount('qmclone'), scene.taskCount('qmdestroy'), scene.orphans()]).toEqual([3, 2, []]);
  });

  it('is refused where nothing tells the two apart, with the ways out, and nothing is touched', async () => {
    await scene.settle(web({}));
    const [before] = scene.ours();
    const linked = { clone: { template: 'ubuntu-24.04', mode: 'linked' } };
    await scene.settle(web({ clone: { template: 'ubuntu-24.04', mode: 'full' } }));
    await scene.write(web(linked));
    expect(JSON.stringify((await scene.plan()).diagnostics)).toContain(
      'with create_before_destroy, the new VM needs another name, or a different vmid',
    );
    const refused = await scene.apply();
    expect(problems(refused)).toEqual([expect.stringContaining('A VM of this name is not in the state')]);
    expect(JSON.stringify(refused.diagnostics)).toContain(
      'remove create_before_destroy, or give the new one another name, or a different vmid',
    );
    expect(scene.ours()).toEqual([before]);
    expect((await scene.state()).get('proxwright_vm.web')).toMatchObject({ vmid: before?.vmid });

    // Each way out is one.
    await scene.settle(web({ ...linked, name: 'web-2' }));
    expect(scene.ours()).toMatchObject([{ name: 'web-2' }]);
    await scene.settle(vm('web', { ...SMALL, name: 'web-2', clone: { template: 'ubuntu-24.04', mode: 'full' } }));
    expect(scene.ours()).toMatchObject([{ name: 'web-2' }]);
    expect(scene.orphans()).toEqual([]);
  });

  it('may share its name with a VM of another state where both have ids, which the plan says', async () => {
    await scene.settle(web({ vmid: 410 }));
    expect((await scene.run(['state', 'rm', 'proxwright_vm.web'])).code).toBe(0);
    await scene.write(web({ vmid: 410 }));
    expect(problems(await scene.plan())).toEqual([expect.stringContaining('A VM of this name is not in the state')]);
    await scene.write(web({ vmid: 411 }));
    expect(warnings(await scene.plan())).toEqual([
      expect.stringContaining('Another VM has this name: VM 410 on pve1 is also called "web"'),
    ]);
    await scene.settle(web({ vmid: 411 }));
    expect(scene.ours().map(({ vmid }) => vmid)).toEqual([410, 411]);
    expect(problems(await scene.destroy())).toEqual([]);
    expect(scene.ours().map(({ vmid }) => vmid)).toEqual([410]);
  });
});
