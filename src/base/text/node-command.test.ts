import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { apiOf } from '../../simulator/schema/api-of-release.ts';
import { NODE_COMMANDS, nodeCommand, removeRemains, setUuid } from './node-command.ts';

const FACTS = { ...apiOf('8.4'), ...apiOf('9.2') };

/** Each command with the endpoint behind it, and its words that the endpoint does not accept. */
const AGAINST_THE_API = Object.entries(NODE_COMMANDS).flatMap(([name, row]) => {
  if (!('endpoint' in row)) return [];
  const { endpoint, args, options } = row;
  const facts = FACTS[endpoint];
  const given: readonly string[] = options === 'any' ? args : [...args, ...options];
  return [{ name, endpoint, isKnown: facts !== undefined, unknown: given.filter((word) => !facts?.params[word]) }];
});

describe('the commands for a node', () => {
  it.each(AGAINST_THE_API)('$name uses only parameters that $endpoint accepts', ({ isKnown, unknown }) => {
    expect({ isKnown, unknown }).toEqual({ isKnown: true, unknown: [] });
  });

  it('quote every word that a shell would read', () => {
    expect(nodeCommand('pvesm free', ['a:b $(x)'])).toBe("pvesm free 'a:b $(x)'");
    expect(nodeCommand('pveum user token list', ['a;b@pve'])).toBe("pveum user token list 'a;b@pve'");
    expect(nodeCommand('pvesh set', ['/x'], { map: ['node=a,path=/b c', 'node=d'], id: undefined })).toBe(
      "pvesh set /x --map 'node=a,path=/b c' --map node=d",
    );
  });

  it('remove a half-made VM together with the disk that its configuration does not name yet', () => {
    expect(removeRemains(101)).toBe('qm unlock 101 && qm destroy 101 --purge 1 --destroy-unreferenced-disks 1');
  });

  it('give a VM a uuid without dropping the rest of its SMBIOS table', () => {
    expect(setUuid(101, undefined)).toBe('qm set 101 --smbios1 uuid=$(uuidgen)');
    expect(setUuid(101, 'serial=a b')).toBe("qm set 101 --smbios1 'serial=a b,'uuid=$(uuidgen)");
  });

  it('are the ones that the documentation names', async () => {
    const docs = fileURLToPath(new URL('../../../docs', import.meta.url));
    const pages = (await readdir(docs, { recursive: true })).filter((name) => name.endsWith('.md'));
    const texts = await Promise.all(pages.map((name) => readFile(join(docs, name), 'utf8')));
    const removals = texts.flatMap((text) => text.match(/qm destroy \d+ [^`]*/g) ?? []);
    expect(removals.length).toBeGreaterThan(0);
    expect(removals.filter((each) => !removeRemains(101).endsWith(each.trim()))).toEqual([]);
  });
});
