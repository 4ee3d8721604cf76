/** The converted trees that are committed, before a real host: it accepts every file that has no resources of the former provider. */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ONE_HOST } from '../provider/terraform/support/hosts.ts';
import { Scene } from '../provider/terraform/support/scene.ts';

const TREES = resolve(import.meta.dirname, 'trees');

/** What asks for other providers, or for a module of another server. */
const NEEDS_MORE = /"(?:proxmox_|null_resource)|source\s*=\s*"(?:git::|bpg|telmate)/i;

function isAlone(name: string): boolean {
  const after = join(TREES, name, 'after');
  const files = readdirSync(after, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.every((entry) => !NEEDS_MORE.test(readFileSync(join(entry.parentPath, entry.name), 'utf8')));
}

let scene: Scene | undefined;
afterEach(() => scene?.close());

describe.each(ONE_HOST)('a converted tree under $name $version', (host) => {
  it.for(readdirSync(TREES).filter(isAlone))('%s is valid', async (name) => {
    scene = await Scene.open({ host });
    const { directory } = scene.workspace;
    cpSync(join(TREES, name, 'before'), directory, { recursive: true });
    cpSync(join(TREES, name, 'after'), directory, { recursive: true });
    const { stdout } = await scene.run(['validate', '-json'], scene.environment);
    const { diagnostics } = JSON.parse(stdout) as {
      diagnostics: { severity: string; summary: string; detail: string }[];
    };
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  });

  it('is one of several', () => {
    expect(readdirSync(TREES).filter(isAlone).length).toBeGreaterThanOrEqual(4);
  });
});
