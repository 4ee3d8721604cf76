import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stackOutputs } from '../../../engine/outputs/outputs.ts';
import { STACK, STATE } from '../../../engine/outputs/testing/lab.ts';
import { testDeps } from '../../testing/deps.ts';
import { address, change, planOf } from '../../testing/plans.ts';
import { askToProceed, writeOutputFiles } from './apply-steps.ts';

const volume = (slot: string) => ({ slot, volume: `tank:vm-401-${slot}`, sizeBytes: 1024 ** 3 });
const replace = (name: string, ...slots: string[]) =>
  change({ address: address(`vm.${name}`), kind: 'replace', name, destroys: slots.map(volume) });

async function asked(
  plan: ReturnType<typeof planOf>,
  answer: string,
): Promise<{ question: string; isAccepted: boolean }> {
  let question = '';
  const { deps } = testDeps({
    canAsk: true,
    ask: async (text) => {
      question = text;
      return answer;
    },
  });
  const isAccepted = await askToProceed({}, plan, deps).then(
    () => true,
    () => false,
  );
  return { question, isAccepted };
}

describe('the question before an apply', () => {
  it('accepts a yes for a plan that destroys nothing', async () => {
    const plan = planOf([change({ address: address('vm.web'), kind: 'update' })]);
    expect(await asked(plan, 'y')).toMatchObject({ isAccepted: true });
    expect(await asked(plan, '')).toMatchObject({ isAccepted: false });
  });

  it('asks for the name of the VM whose volumes are destroyed, and does not accept a plain yes', async () => {
    const plan = planOf([replace('web', 'scsi0', 'scsi1')]);
    expect(await asked(plan, 'y')).toMatchObject({ isAccepted: false, question: expect.stringContaining('2 volumes') });
    expect(await asked(plan, 'web')).toMatchObject({ isAccepted: true });
  });

  it('asks for the name of the stack if several VMs lose volumes', async () => {
    const plan = planOf([replace('web', 'scsi0'), replace('db', 'scsi0')]);
    expect(await asked(plan, 'web')).toMatchObject({ isAccepted: false });
    expect(await asked(plan, 'demo')).toMatchObject({ isAccepted: true });
  });
});

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
