/**
 * Estates as the real providers made them, recorded: converted to a stack with their state, and planned on a cluster that has
 * the same VMs. The plan is empty, and the report is the one of the run with the real provider.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fieldsOf } from '../../../src/cli/commands/convert.ts';
import { convertFiles, readState, stackOf } from '../../../src/convert/index.ts';
import { buildWorld, type WorldFile } from '../../../src/simulator/index.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../../src/spec/index.ts';
import { StackScene } from '../../simulation/support/stack-scene.ts';
import { peerWorldFile } from './peer-world.ts';
import { type RecordedEstate, readRecorded } from './recorded.ts';

const ESTATES = resolve(import.meta.dirname, 'estates');
const recorded = readdirSync(ESTATES).filter((name) => existsSync(join(ESTATES, name, 'made.json')));

/** What convert reads of a directory; the import blocks were for the first apply only. */
function filesOf(name: string): ReadonlyMap<string, string> {
  const tree = join(ESTATES, name, 'tree');
  const entries = readdirSync(tree, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  const read = paths.filter((path) => /\.(tf|tfvars)$/.test(path) && !path.endsWith('first-import.tf'));
  return new Map(read.map((path) => [relative(tree, path), readFileSync(path, 'utf8')]));
}

function worldOf(name: string, { vms, volumes }: RecordedEstate): WorldFile {
  const file = peerWorldFile(name);
  const storages = Object.entries(file.storages ?? {}).map(([id, storage]): [string, typeof storage] => {
    const more = volumes
      .filter((each) => each.storage === id)
      .map(({ name, node, bytes: size }) => ({ name, node, size }));
    return [id, { ...storage, volumes: [...(storage.volumes ?? []), ...more] }];
  });
  return { ...file, storages: Object.fromEntries(storages), vms: { ...file.vms, ...vms } };
}

/** Their whole take-over by Terraform was run, too. */
const reported = recorded.filter((name) => existsSync(join(ESTATES, name, 'report.txt')));
/** They have images, files or templates, which are no VMs to import. */
const MORE_THAN_VMS = ['bpg-images', 'bpg-snippets', 'bpg-talos'];
const planned = recorded.filter((name) => !MORE_THAN_VMS.includes(name));

describe('a recorded estate of another provider', () => {
  it.each(reported)('%s is converted with the report that its real run had', async (name) => {
    const { resources } = await readRecorded(join(ESTATES, name, 'made.json'));
    const state = readState(JSON.stringify({ resources }));
    const { findings } = convertFiles(filesOf(name), state);
    const lines = findings.map(
      ({ kind, file, line, subject, what, why }) => `${kind} ${file}:${line} ${subject} ${what}: ${why}`,
    );
    const [report = ''] = readFileSync(join(ESTATES, name, 'report.txt'), 'utf8').split('\n\n');
    expect(['Findings:', ...lines].join('\n')).toBe(report);
  });

  it.each(planned)('%s is a stack with an empty plan, once its VMs are imported', async (name) => {
    const made = await readRecorded(join(ESTATES, name, 'made.json'));
    const text = stackTextOf(name, made);
    const lab = new StackScene([], ({ now }) => buildWorld(worldOf(name, made), { now, file: 'recorded' }));
    await lab.run(async () => {
      const stack = stackIn(text);
      for (const vm of stack.vms) await lab.import(stack, vm.fields.vmid ?? 0, { address: vm.address });
      const { changes } = await lab.plan(stack);
      const differences = changes.flatMap(({ address, kind, differences: paths }) =>
        kind === 'none' ? [] : [`${address} ${kind}: ${paths.map(({ path }) => path).join(', ')}`],
      );
      expect(differences).toEqual([]);
      expect(stack.vms.length).toBe(Object.keys(made.vms).length);
    });
  });

  it.each(MORE_THAN_VMS)('%s is a valid stack with every VM that is no template', async (name) => {
    const made = await readRecorded(join(ESTATES, name, 'made.json'));
    const machines = Object.entries(made.vms).filter(([, { config }]) => config.template !== '1');
    const { vms } = stackIn(stackTextOf(name, made));
    expect(vms.map(({ fields }) => String(fields.vmid)).sort()).toEqual(machines.map(([vmid]) => vmid).sort());
  });

  it('is one of several', () => {
    expect(recorded.length).toBeGreaterThanOrEqual(10);
  });
});

function stackTextOf(name: string, { resources }: RecordedEstate): string {
  const files = filesOf(name);
  const state = readState(JSON.stringify({ resources }));
  const { changed } = convertFiles(files, state);
  return stackOf({ files: new Map([...files, ...changed]), name: 'lab', fieldsOf, ...(state && { state }) }).text;
}

function stackIn(text: string): ResolvedStack {
  const environment = { TF_VAR_endpoint: '', TF_VAR_token_id: '', TF_VAR_token_secret: '' };
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.yaml'), { environment });
  if (!stack) throw new Error(`${diagnostics.map(({ detail }) => detail).join('\n')}\n${text}`);
  return stack;
}
