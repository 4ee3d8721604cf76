/** What the pages on hand-over and host preparation promise is there: forms, settings, findings of the doctor, a sound playbook. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { FORMATS } from '../src/cli/commands/show/output.ts';
import { k3sScript } from '../src/engine/outputs/hand-over/k3s.ts';
import { rancherScript } from '../src/engine/outputs/hand-over/rancher.ts';
import { talosScript } from '../src/engine/outputs/hand-over/talos.ts';
import { stackOutputs } from '../src/engine/outputs/outputs.ts';
import { STACK, STATE, stackOf, vm } from '../src/engine/outputs/testing/lab.ts';
import { CHECKS } from '../src/kinds/doctor/finding.ts';
import { codeIn, page, root } from './docs-pages.ts';

describe('the page on hand-over', () => {
  it('names every form, and no other', async () => {
    const { text } = await page('docs/guide/hand-over.md');
    const [, table = ''] = text.split('## All forms');
    const [rows = ''] = table.split('With `outputs:');
    const listed = [...rows.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) => codeIn(cell));
    expect(listed.filter((name) => name !== '--format').toSorted()).toEqual(Object.keys(FORMATS).toSorted());
    const used = [...text.matchAll(/--format ([\w-]+)/g)].map(([, name = '']) => name);
    expect(used.filter((name) => !Object.hasOwn(FORMATS, name))).toEqual([]);
  });

  it('names only settings that a script reads', async () => {
    const { text } = await page('docs/guide/hand-over.md');
    const talos = talosScript(stackOutputs(STACK, STATE));
    const servers = stackOutputs(stackOf([vm('server', 1, { guest: 'cloud-init', role: 'server' })]), STATE);
    const scripts = [talos, k3sScript(servers), rancherScript(servers)].join('\n');
    const named = [...text.matchAll(/\b((?:K3S|SSH|RANCHER|TALOS|CERT|WAIT)_[A-Z_]+|KUBECONFIG)\b/g)];
    const settings = new Set(named.map(([, name = '']) => name));
    expect(settings.size).toBeGreaterThan(8);
    expect([...settings].filter((name) => !scripts.includes(`\${${name}:`))).toEqual([]);
  });

  it('names the files that the scripts look for', async () => {
    const { text } = await page('docs/guide/hand-over.md');
    const talos = talosScript(stackOutputs(STACK, STATE));
    const named = codeIn(text).filter((code) => /^(patch-\w+|controlplane|worker)\.yaml$|^bootstrapped$/.test(code));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !talos.includes(name) && name !== 'worker.yaml')).toEqual([]);
  });
});

describe('the page on host preparation', () => {
  it('quotes findings that the doctor has, each under its check', async () => {
    const { text } = await page('docs/guide/host-preparation.md');
    const [, table = ''] = text.split('## What doctor verifies');
    const rows = [...table.matchAll(/^\| `(\w+)` \| `([^`]+)` \|/gm)];
    expect(rows.length).toBeGreaterThan(10);
    const folder = join(root, 'src');
    const checksIn = async (below: string) =>
      (await readdir(join(folder, below)))
        .filter((name) => name.endsWith('.ts') && !name.includes('.test.'))
        .map((name) => `${below}/${name}`);
    const sources = [
      ...(await checksIn('engine/doctor/checks')),
      ...(await checksIn('kinds/vm/doctor')),
      'kinds/image/doctor.ts',
      'kinds/pci-mapping/doctor.ts',
      'kinds/vm/plan/checks/checks.ts',
    ];
    const texts = await Promise.all(sources.map((name) => readFile(join(folder, name), 'utf8')));
    const wrong = rows.filter(([, check, words = '']) => {
      return !CHECKS.some((each) => each === check) || !texts.some((source) => source.includes(words));
    });
    expect(wrong.map(([row]) => row)).toEqual([]);
  });

  it('has a playbook that is YAML, and uses the variables of its host', async () => {
    const { text } = await page('docs/guide/host-preparation.md');
    const blocks = [...text.matchAll(/^```yml\n([\s\S]*?)^```/gm)].map(([, code = '']) => code);
    const [hosts, variables, [play]] = blocks.map((code) => parse(code));
    expect(Object.keys(hosts.proxmox.hosts)).toEqual(['vmhost']);
    for (const name of Object.keys(variables)) expect(JSON.stringify(play.tasks)).toContain(name);
    const handlers = play.handlers.map(({ name }: { name: string }) => name);
    const notified = play.tasks.flatMap(({ notify }: { notify: string[] }) => notify);
    expect([...new Set(notified)].toSorted()).toEqual(handlers.toSorted());
  });
});
