import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadStack, resolveStack } from '../../spec/index.ts';
import { MemoryStore } from '../../state/memory-store.ts';
import { testDeps } from '../testing/deps.ts';
import { resolveSecrets } from './secrets.ts';

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-secrets-'));
  writeFileSync(join(directory, 'password'), 'from-file\n');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function stackWith(reference: string, store = new MemoryStore()) {
  const text = `version: 1
stack: demo
vms:
  web:
    count: 2
    name: web-\${number}
    node: pve1
    clone: { template: base }
    cloud_init: { password: ${reference} }
`;
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.yaml'));
  if (!stack) throw new Error(JSON.stringify(diagnostics));
  return { stack, file: 'stack.yaml', directory, store, stateDirectory: directory, warnings: [] };
}

async function passwords(reference: string, environment: Record<string, string> = {}, store = new MemoryStore()) {
  const secrets = await resolveSecrets(stackWith(reference, store), testDeps({ environment }).deps);
  return [...secrets].map(([address, fields]) => {
    const secret = fields.get('cloud_init.password');
    return { address, value: secret?.value.reveal(), digest: secret?.digest };
  });
}

describe('secrets', () => {
  it.each([
    ['{ env: PASSWORD }', 'from-env'],
    ['{ file: ./password }', 'from-file'],
    ['{ command: [echo, from-command] }', 'from-command'],
  ])('come from %s', async (reference, value) => {
    const found = await passwords(reference, { PASSWORD: 'from-env' });
    expect(found.map(({ address, value: text }) => [address, text])).toEqual([
      ['vm.web[1]', value],
      ['vm.web[2]', value],
    ]);
  });

  it('have the same digest with the same salt, and another one in another state', async () => {
    const store = new MemoryStore();
    const digest = async (where = store) => (await passwords('{ env: P }', { P: 'x' }, where))[0]?.digest;
    const first = await digest();
    expect(await digest()).toBe(first);
    expect(await digest(new MemoryStore())).not.toBe(first);
    expect(first).toMatch(/^scrypt:/);
  });

  it('are reported with the line that needs them if they are missing', async () => {
    await expect(passwords('{ env: P }')).rejects.toMatchObject({
      code: 'MISSING_REFERENCE',
      diagnostic: { where: { file: 'stack.yaml', line: 9 }, detail: expect.stringContaining('P') },
    });
  });

  it('do not appear when the command that prints them fails', async () => {
    const failing = passwords('{ command: [sh, -c, "echo topsecret; exit 3"] }');
    const error: unknown = await failing.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'MISSING_REFERENCE', message: expect.stringContaining('"sh"') });
    expect(String(error)).not.toContain('topsecret');
  });
});
