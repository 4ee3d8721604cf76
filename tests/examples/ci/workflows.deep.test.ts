/**
 * The CI examples, step by step as the systems run them: the built command, a simulated cluster behind HTTPS, and stand-ins
 * for the programs that talk to GitHub and GitLab.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from '../../e2e/built-command.ts';
import { type Cluster, makeProject, type Project, stackText, startCluster } from '../../e2e/project.ts';
import { type Forge, openForge, US } from './forge.ts';
import { type JobDeps, type JobEnd, runPipelineJob, runWorkflow } from './jobs.ts';

const SPEED = 60;
const MARKER = '<!-- proxwright plan lab -->';

const SYSTEMS: readonly (readonly [name: string, run: (job: string, deps: JobDeps) => Promise<JobEnd>])[] = [
  ['GitHub', (job, deps) => runWorkflow(`${job}.yaml`, deps)],
  ['GitLab', runPipelineJob],
];

beforeAll(() => ensureBuilt());

describe.each(SYSTEMS)('on %s, the example', (_, run) => {
  let cluster: Cluster;
  let forge: Forge;
  let project: Project;
  let settings: Record<string, string>;
  const stack = (count: number) => stackText({ name: 'lab', firstId: 4500, count });
  const job = (name: string, other: Record<string, string> = {}) => {
    // A checkout leaves nothing of an earlier job.
    for (const file of ['plan.md', 'plan.json', 'drift.txt', 'drift.md', 'indented.txt']) {
      rmSync(join(project.directory, file), { force: true });
    }
    return run(name, { forge, directory: project.directory, settings: { ...settings, ...other } });
  };
  const ours = () => forge.state.comments.filter(({ author }) => author === US);
  const ids = () => [...cluster.world.vms.keys()].filter((id) => id >= 4500 && id < 4600);

  beforeAll(async () => {
    cluster = await startCluster(SPEED);
    forge = openForge();
    project = makeProject(stack(2), {});
    const {
      PROXMOX_VE_ENDPOINT = '',
      PROXMOX_VE_FINGERPRINT = '',
      PROXMOX_VE_API_TOKEN: token = '',
    } = cluster.environment;
    settings = {
      PROXMOX_VE_ENDPOINT,
      PROXMOX_VE_FINGERPRINT,
      PROXMOX_VE_API_TOKEN: token,
      PROXMOX_VE_APPLY_TOKEN: token,
      PROXMOX_VE_AUDIT_TOKEN: token,
      PROXWRIGHT_STATE: 'local',
      PROXWRIGHT_PLAN_KEY: 'the key of this repository',
    };
  });
  afterAll(async () => {
    project?.remove();
    forge?.remove();
    await cluster?.close();
  });

  it('shows a plan as one comment, which the next push replaces', async () => {
    forge.change(({ comments }) => comments.push({ id: 1, author: 'eve', body: `${MARKER}\nnot ours`, isOpen: true }));
    const first = await job('plan');
    expect(first.ok, first.output).toBe(true);
    expect(ours()).toMatchObject([{ body: expect.stringContaining('**2 to create, 0 to change, 0 to delete.**') }]);
    expect(ours()[0]?.body.startsWith(`${MARKER}\n`)).toBe(true);
    const [before] = ours();
    project.write('stack.yaml', stack(3));
    expect((await job('plan')).ok).toBe(true);
    expect(ours()).toMatchObject([{ id: before?.id, body: expect.stringContaining('**3 to create') }]);
    expect(forge.state.comments[0]?.body).toBe(`${MARKER}\nnot ours`);
    expect(ids()).toEqual([]);
  });

  it('says in the same comment that a plan failed', async () => {
    project.write('stack.yaml', stack(3).replace('memory:', 'memry:'));
    expect((await job('plan')).ok).toBe(false);
    expect(ours()).toMatchObject([{ body: expect.stringContaining('The plan failed. [The job](https://') }]);
    project.write('stack.yaml', stack(2));
    expect((await job('plan')).ok).toBe(true);
    expect(ours()).toHaveLength(1);
  });

  it('applies nothing without a review, and no plan that was signed elsewhere', async () => {
    forge.change((state) => {
      state.isMerged = false;
    });
    const unreviewed = await job('apply');
    expect(unreviewed).toMatchObject({ ok: false, output: expect.stringContaining('no plan for it was reviewed') });
    forge.change((state) => {
      state.isMerged = true;
    });
    const foreign = await job('apply', { PROXWRIGHT_PLAN_KEY: 'the key of another repository' });
    expect(foreign).toMatchObject({ ok: false, output: expect.stringContaining('PLAN_UNTRUSTED') });
    expect(ids()).toEqual([]);
  });

  it('says that a merge request without a successful plan has to be applied by hand', async () => {
    const { artifact = '' } = forge.state;
    forge.change((state) => {
      delete state.artifact;
    });
    expect(await job('apply')).toMatchObject({ ok: false, output: expect.stringContaining('has no successful plan') });
    forge.change((state) => {
      Object.assign(state, { artifact, hasMergedResults: true });
    });
  });

  it('applies the saved plan after the merge, and refuses it the second time', async () => {
    const applied = await job('apply');
    expect(applied.ok, applied.output).toBe(true);
    expect(ids()).toEqual([4500, 4501]);
    const again = await job('apply');
    expect(again).toMatchObject({ ok: false, output: expect.stringContaining('PLAN_STALE') });
    expect(again.output).toMatch(/runs since: \S+ \(apply by alice\)/);
  });

  it('keeps one issue while there is drift, and closes it afterwards', async () => {
    expect((await job('drift')).ok).toBe(true);
    expect(forge.state.issues).toEqual([]);
    const vm = cluster.outside.node('pve1').vm(4500);
    await vm.config.put({ memory: 2048 });
    for (const _night of [1, 2]) {
      const night = await job('drift');
      expect(night.ok, night.output).toBe(true);
    }
    expect(forge.state.issues).toMatchObject([{ title: 'Drift in lab', isOpen: true }]);
    expect(forge.state.issues[0]?.body).toMatch(/^ {4} {4}memory {2}2GiB {2}\(applied: 4GiB\)$/m);
    await vm.config.put({ memory: 4096 });
    expect((await job('drift')).ok).toBe(true);
    expect(forge.state.issues).toMatchObject([{ isOpen: false }]);
  });

  it('keeps the issue within what the system accepts, however long the drift is', async () => {
    const command = join(forge.programs, 'proxwright');
    const real = readFileSync(command, 'utf8');
    writeFileSync(command, '#!/bin/sh\nyes x | head -n 400000\nexit 2\n');
    const long = await job('drift');
    expect(long.ok, long.output.slice(-1000)).toBe(true);
    expect(forge.state.issues.at(-1)).toMatchObject({ isOpen: true, body: expect.stringContaining('    x\n    x\n') });
    writeFileSync(command, real);
    expect((await job('drift')).ok).toBe(true);
    expect(forge.state.issues.at(-1)).toMatchObject({ isOpen: false });
  });

  it('opens no issue if the comparison itself fails', async () => {
    const before = forge.state.issues;
    expect((await job('drift', { PROXMOX_VE_FINGERPRINT: Array(32).fill('00').join(':') })).ok).toBe(false);
    expect(forge.state.issues).toEqual(before);
  });

  it('tries the stack on a simulator of its own', async () => {
    const directory = join(project.directory, 'elsewhere');
    mkdirSync(directory);
    const alone = makeProject(stack(1), {}, directory);
    const tried = await run('simulator', { forge, directory: alone.directory, settings: {} });
    expect(tried.ok, tried.output).toBe(true);
    expect(tried.output).toContain('No changes.');
    expect(tried.output).toContain('Destroyed: 1 VM');
    rmSync(directory, { recursive: true, force: true });
  });
});
