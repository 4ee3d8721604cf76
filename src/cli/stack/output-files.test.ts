import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stackOutputs } from '../../engine/outputs/outputs.ts';
import { STACK, STATE } from '../../engine/outputs/testing/lab.ts';
import { writeOutputFiles } from './output-files.ts';

const OUTPUTS = stackOutputs(STACK, STATE);

let directory: string;
let umask: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-files-'));
  umask = process.umask(0o022);
});
afterEach(() => {
  process.umask(umask);
  rmSync(directory, { recursive: true, force: true });
});

const write = (files: string | undefined = 'out') =>
  writeOutputFiles({ stack: { ...STACK, outputs: { files } }, directory }, OUTPUTS);
const modeOf = (name: string) => statSync(join(directory, name)).mode & 0o777;

describe('the files of a stack', () => {
  it('are written to its directory, readable for all, scripts executable', async () => {
    const names = await write();
    expect(names).toContain(join('out', 'vm_101_ip.txt'));
    expect(readdirSync(join(directory, 'out')).sort()).toEqual(names.map((name) => name.slice('out/'.length)).sort());
    expect(readFileSync(join(directory, 'out/vm_101_ip.txt'), 'utf8')).toBe('10.0.20.11\n');
    expect(JSON.parse(readFileSync(join(directory, 'out/outputs.json'), 'utf8'))).toEqual(OUTPUTS.values);
    expect(modeOf('out/outputs.json')).toBe(0o644);
    expect(modeOf('out/talos.sh')).toBe(0o755);
  });

  it('respect the umask', async () => {
    process.umask(0o077);
    await write();
    expect(modeOf('out/outputs.json')).toBe(0o600);
    expect(modeOf('out/talos.sh')).toBe(0o700);
  });

  it('are replaced atomically, so that an open reader keeps the old text', async () => {
    mkdirSync(join(directory, 'out'));
    const path = join(directory, 'out/outputs.json');
    writeFileSync(path, 'old');
    chmodSync(path, 0o400);
    const before = statSync(path).ino;
    await write();
    expect(statSync(path).ino).not.toBe(before);
    expect(modeOf('out/outputs.json')).toBe(0o644);
  });

  it('leave no partial file behind if one cannot be written', async () => {
    mkdirSync(join(directory, 'out/outputs.env'), { recursive: true });
    await expect(write()).rejects.toMatchObject({
      diagnostic: { code: 'UNWRITABLE_FILE', where: { file: join('out', 'outputs.env') } },
    });
    expect(readdirSync(join(directory, 'out')).sort()).toEqual(['outputs.env', 'outputs.json']);
  });

  it('are not written if the stack asks for none', async () => {
    expect(await writeOutputFiles({ stack: { ...STACK, outputs: {} }, directory }, OUTPUTS)).toEqual([]);
    expect(readdirSync(directory)).toEqual([]);
  });
});
