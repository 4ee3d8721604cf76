/** Each step of a file with exactly what it says it needs, with each alternative, and without any one of them. */
import { describe, expect, it } from 'vitest';
import {
  type FileActionName,
  type FileInputs,
  type FileStep,
  fileStep,
  needsOfFileStep,
} from '../../../src/kinds/image/steps.ts';
import type { Need, PrivilegeNeed } from '../../../src/kinds/privileges/need.ts';
import { FileBench, IMAGE, PLACE, remoteFile, SHA256, URL_OF_IMAGE } from './bench.ts';

const SECRET = '00000000-0000-4000-8000-0000000000aa';
const USER = 'prov@pve';
const PRINCIPAL = `${USER}!tok`;
const TOKEN = `${PRINCIPAL}=${SECRET}`;
const FETCH = { ...PLACE, url: URL_OF_IMAGE, sha256: SHA256 };
const SEND = { ...PLACE, origin: { kind: 'file', path: 'noble.qcow2' } } as const;

interface Case {
  readonly name: string;
  readonly step: FileStep;
  /** Another file has the same name. */
  readonly occupied?: boolean;
}

const stepOf = <Name extends FileActionName>(action: Name, input: FileInputs[Name]) =>
  fileStep(IMAGE, action, input) as FileStep; // one of the union by construction

const CASES: readonly Case[] = [
  { name: 'fetch', step: stepOf('image.fetch', FETCH) },
  { name: 'fetch in place of another', step: stepOf('image.fetch', { ...FETCH, replace: true }), occupied: true },
  { name: 'send', step: stepOf('image.send', SEND) },
  { name: 'remove', step: stepOf('image.remove', PLACE) },
];

function privilegesOf(step: FileStep): PrivilegeNeed[] {
  return needsOfFileStep(step).filter((need: Need): need is PrivilegeNeed => need.kind === 'privilege');
}

/** What a token with just these can do. */
async function attempt({ step, occupied }: Case, needs: readonly PrivilegeNeed[]): Promise<string> {
  const bench = new FileBench();
  if (occupied) await bench.run('image.fetch', { ...FETCH, url: await otherImage(bench), sha256: '0'.repeat(64) });
  if (step.action === 'image.remove') await bench.run('image.send', SEND);
  else bench.files.clear();
  grant(bench, needs);
  bench.pve = bench.connect(TOKEN);
  try {
    await bench.run(step.action, step.input as FileInputs[typeof step.action]); // action and input come from one step
    return 'done';
  } catch (error) {
    return String(error instanceof Error && 'code' in error ? error.code : error);
  }
}

async function otherImage(bench: FileBench): Promise<string> {
  const url = 'https://images.example/other.qcow2';
  bench.world.downloads.set(url, remoteFile({ checksums: { sha256: '0'.repeat(64) } }));
  return url;
}

function grant(bench: FileBench, needs: readonly PrivilegeNeed[]): void {
  const { access } = bench.world;
  const user = {
    userid: USER,
    enable: true,
    expire: 0,
    details: new Map(),
    groups: new Set<string>(),
    password: undefined,
  };
  access.users.set(USER, user);
  access.tokens.set(PRINCIPAL, {
    userid: USER,
    tokenid: 'tok',
    secret: SECRET,
    privsep: true,
    expire: 0,
    comment: undefined,
  });
  for (const [index, { privileges, paths }] of needs.entries()) {
    const role = `Test${index}`;
    const { path } = paths[0];
    access.roles.set(role, { roleid: role, privileges: new Set([privileges[0]]), special: false });
    access.acl.push({ path, kind: 'user', ugid: USER, role, propagate: false });
    access.acl.push({ path, kind: 'token', ugid: PRINCIPAL, role, propagate: false });
  }
}

describe.each(CASES)('$name', (each) => {
  const needs = privilegesOf(each.step);

  it('passes with exactly what it needs', async () => {
    expect(await attempt(each, needs)).toBe('done');
  });

  it('does not pass without any one of it', async () => {
    for (const missing of needs) {
      const rest = needs.filter((need) => need !== missing);
      expect(await attempt(each, rest), missing.privileges.join()).not.toBe('done');
    }
  });

  it('passes with each alternative', async () => {
    for (const need of needs) {
      const others = needs.filter((other) => other !== need);
      if (need.instead) expect(await attempt(each, [...others, ...need.instead])).toBe('done');
      for (const privilege of need.privileges.slice(1)) {
        expect(await attempt(each, [...others, { ...need, privileges: [privilege] }]), privilege).toBe('done');
      }
    }
  });
});
