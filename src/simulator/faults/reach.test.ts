import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultWorld } from '../index.ts';
import { FAULT_DESCRIPTIONS } from './described.ts';
import { TASK_TYPES, whyNever } from './reach.ts';
import { parseShortForm } from './short-form.ts';

const world = defaultWorld();
const why = (text: string) => parseShortForm(text).map((rule) => whyNever(rule, world))[0];

describe('a rule that cannot strike', () => {
  it.each([
    ['cut-after:POST clones@1', 'No request has a path that fits "clones". Did you mean "clone"?'],
    ['lock:/qemu/*/config', 'No request has a path that fits "/qemu/*/config". Did you mean "config"?'],
    [
      'refuse=500:zzzzzz',
      'No request has a path that fits "zzzzzz". The pattern is the end of a path, such as qemu/*/config.',
    ],
    ['cut-after:DELETE clone', 'No DELETE request has such a path; there is POST.'],
    ['lock:GET config', 'The fault lock strikes only requests that change a VM.'],
    ['agent-silent:config', 'The fault agent-silent strikes only requests to the guest agent.'],
    ['task-fail=40:qmclon@1', 'No task has the type "qmclon". Did you mean "qmclone"?'],
    ['disk-full=tank', 'There is no storage "tank". Storages: local, local-lvm, nfs.'],
    ['unreachable:nodes/pve7/**', 'There is no node "pve7". Nodes: pve1, pve2.'],
    ['lock:qemu/4711/config', 'There is no VM 4711 now. The rule strikes once there is one.'],
  ])('%s', (text, words) => {
    expect(why(text)).toBe(words);
  });
});

describe('a rule that can strike', () => {
  it.each([
    ...Object.values(FAULT_DESCRIPTIONS).map(({ example }) => example),
    'lock:qemu/9000/config@2x3',
    'refuse=500',
    'refuse=500:POST',
    'cut-before:/nodes/{node}/qemu/*/status/start',
    'cut-before:/nodes/**/start',
    'task-fail:qm*',
    'unreachable:nodes/pve1/**',
    'task-unknown',
  ])('%s', (text) => {
    expect(why(text)).toBeUndefined();
  });
});

it('knows every type of task that the simulator starts', () => {
  const sources = ['api', 'vm'].flatMap((folder) => {
    const root = join('src/simulator', folder);
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
    return files.filter((file) => /(?<!\.test)\.ts$/.test(file)).map((file) => join(root, file));
  });
  const started = sources.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bfork(?:Power)?\((?:[\w.]+, )?'([a-z]+)'/g)].map(([, type = '']) => type),
  );
  expect(started.length).toBeGreaterThan(15);
  expect(started.filter((type) => !TASK_TYPES.includes(type))).toEqual([]);
});
