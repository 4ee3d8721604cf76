/** What a user reads when rights are missing, and whether doing what it says helps. */
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { smallestRoles } from '../../../src/engine/privileges/roles.ts';
import {
  exactGrants,
  firstPicture,
  type Grant,
  type PhaseEnd,
  type Picture,
  runPhase,
  stackOf,
} from './support/bench.ts';
import { SERVERS } from './support/scenarios.ts';

const [server] = SERVERS;
if (!server) throw new Error('there is a server');
const FROM = firstPicture(server.world);

const vm = (name: string, vmid: number, more = '') => `  ${name}:
    name: ${name}
    vmid: ${vmid}
    node: pve1
    clone: { template: 9000 }
    cpu: { cores: 4 }
${more}`;
const phase = (...vms: string[]) => ({ kind: 'apply' as const, stack: stackOf(vms.join('')) });
const texts = (end: PhaseEnd) => end.problems.map(formatDiagnostic);

async function exactly(given: ReturnType<typeof phase>): Promise<Grant[]> {
  const end = await runPhase(FROM, given, { execute: false });
  return exactGrants(end.check?.requirements ?? []);
}

/** An administrator types the commands of the hint. */
function obey(from: Picture, hint: string): Picture {
  const world = structuredClone(from.world);
  const { access } = world;
  for (const line of hint.split('\n')) {
    const role = /^pveum role (?:add|modify) (\S+) (?:--append 1 )?--privs '(.*)'$/.exec(line);
    const acl =
      /^pveum acl modify (\S+) (?:--users '(\S+)' )?(?:--tokens '(\S+)' )?--roles (\S+) --propagate ([01])$/.exec(line);
    if (role) {
      const [, roleid = '', privileges = ''] = role;
      access.roles.set(roleid, { roleid, privileges: new Set(privileges.split(' ')), special: false });
    } else if (acl) {
      const [, path = '', user = '', token = '', role2 = '', propagate] = acl;
      const entry = { path, role: role2, propagate: propagate === '1' };
      access.acl.push({ ...entry, kind: 'user', ugid: user }, { ...entry, kind: 'token', ugid: token });
    } else throw new Error(`not a command: ${line}`);
  }
  return { ...from, world };
}

describe('a token that lacks one privilege', () => {
  it('is reported with its path and the line that needs it', async () => {
    const given = phase(vm('web', 401));
    const grants = await exactly(given);
    const end = await runPhase(FROM, given, {
      grants: grants.filter(({ privilege }) => privilege !== 'VM.Config.CPU'),
    });
    expect(texts(end)).toEqual([
      expect.stringMatching(
        /^error: Privilege missing \[PRIVILEGE_MISSING\]\n {2}at stack\.yaml:9:\d+ — vm\.web\n {2}prov@pve!tok lacks privileges that this plan needs:\n {4}VM\.Config\.CPU on \/vms\/401, for cpu\.cores \(stack\.yaml:9\)\n/,
      ),
    ]);
  });

  it('passes once the commands of the hint have been typed', async () => {
    const given = phase(vm('web', 401));
    const grants = await exactly(given);
    for (const missing of grants.filter(({ privilege }) => privilege !== 'VM.Audit')) {
      const rest = grants.filter((grant) => grant !== missing);
      const end = await runPhase(FROM, given, { grants: rest });
      const mended = obey(end.after, end.problems.map(({ hint }) => hint?.text).join('\n'));
      const again = await runPhase(mended, given, { grants: [] });
      expect(texts(again), missing.privilege).toEqual([]);
      expect(again.outcome).toBe('done');
    }
  });

  it('loses no inherited right when the hint is followed', async () => {
    const given = phase(vm('web', 401));
    const grants = await exactly(given);
    const above = grants.map((grant) =>
      grant.path === '/vms/401' ? { ...grant, path: '/vms', propagate: true } : grant,
    );
    const end = await runPhase(FROM, given, { grants: above.filter(({ privilege }) => privilege !== 'VM.PowerMgmt') });
    const hint = end.problems.map((problem) => problem.hint?.text).join('\n');
    expect(hint).toContain('pveum acl modify /vms ');
    const again = await runPhase(obey(end.after, hint), given, { grants: [] });
    expect(again.outcome).toBe('done');
  });
});

describe('a token that was given nothing', () => {
  it('is reported first, with all commands, and passes once they were run', async () => {
    const given = phase(
      '  box: { name: box, vmid: 401, node: pve1, power: stopped, disks: { scsi0: { storage: nfs, size: 1GiB } }, nics: { net0: { bridge: vmbr0 } } }\n',
    );
    const end = await runPhase(FROM, given, { grants: [] });
    expect(end.writes).toEqual([]);
    expect(end.problems).toHaveLength(1);
    expect(end.problems[0]?.detail.split('\n')[0]).toBe(
      'prov@pve!tok has no privileges at all on what this plan touches. A token with privilege separation needs ACL entries ' +
        'for itself and for its user; one or both have none. It needs:',
    );
    const again = await runPhase(obey(end.after, end.problems[0]?.hint?.text ?? ''), given, { grants: [] });
    expect(texts(again)).toEqual([]);
    expect(again.outcome).toBe('done');
  });

  it('reports that it cannot see its template, not that there is none', async () => {
    const end = await runPhase(FROM, phase(vm('web', 401)), { grants: [] });
    expect(end.problems.map(({ code }) => code)).toEqual(['PRIVILEGE_MISSING']);
    expect(texts(end)[0]).toContain(
      'prov@pve!tok cannot see VM 9000, even if it exists: it lacks VM.Audit on /vms/9000.',
    );
  });
});

describe('several VMs', () => {
  it('are one message if they lack the same privilege', async () => {
    const given = phase(...[401, 402, 404, 405, 406, 407, 408].map((vmid) => vm(`web${vmid}`, vmid)));
    const grants = await exactly(given);
    const end = await runPhase(FROM, given, { grants: grants.filter(({ privilege }) => privilege !== 'VM.PowerMgmt') });
    expect(texts(end)).toEqual([
      expect.stringContaining('VM.PowerMgmt on /vms/401, /vms/402, /vms/404, /vms/405, /vms/406 and 2 more, for power'),
    ]);
  });

  it('cost no request of their own', async () => {
    const given = phase(...[401, 402, 404].map((vmid) => vm(`web${vmid}`, vmid)));
    const grants = await exactly(given);
    const end = await runPhase(FROM, given, { grants, execute: false });
    // The overview, which also says whether the token sees all VMs, and one for the place that only inherits.
    expect(end.questions).toBe(2);
  });
});

describe('a token that asks for more than a VM', () => {
  it('is reported with its line', async () => {
    const given = phase(
      vm('web', 401, '    startup: { order: 1 }\n    agent: { enabled: true }\n    ready: { exec: [["true"]] }\n'),
    );
    const end = await runPhase(FROM, given, { execute: false });
    const strong = (end.check?.requirements ?? []).filter((requirement) => requirement.strong);
    expect(
      strong.map(({ privileges, because }) => [privileges[0], because[0].where.field, because[0].where.line]),
    ).toEqual([
      ['Sys.Modify', 'startup.order', 10],
      ['VM.GuestAgent.Unrestricted', 'ready.exec', 12],
    ]);
  });
});

describe('what only root may set', () => {
  it('is refused with the line and a way out', async () => {
    const end = await runPhase(FROM, phase(vm('web', 401, '    args: -no-hpet\n')));
    expect(end.outcome).toBe('refused');
    expect(end.writes).toEqual([]);
    expect(texts(end)[0]).toMatch(/ROOT_ONLY\]\n {2}at stack\.yaml:10:\d+ — vm\.web\n.*"args"/s);
  });
});

describe('tags', () => {
  const given = phase(vm('web', 401, '    tags: [prod]\n'));
  const reserving: Picture = (() => {
    const world = structuredClone(FROM.world);
    world.datacenter.set('registered-tags', 'prod');
    return { ...FROM, world };
  })();

  it('are not checked where the token may not read which are reserved', async () => {
    const grants = await exactly(given);
    const end = await runPhase(FROM, given, { grants });
    expect(end.outcome).toBe('done');
    expect(end.check?.notChecked.map(({ detail }) => detail)).toEqual([
      'Whether the datacenter reserves tags (prod) could not be checked: the token needs Sys.Audit on /.',
    ]);
  });

  it('need Sys.Modify if they are reserved and the token may read that', async () => {
    const grants = [...(await exactly(given)), { privilege: 'Sys.Audit', path: '/', propagate: false }];
    const end = await runPhase(reserving, given, { grants });
    expect(end.outcome).toBe('refused');
    expect(texts(end).join('\n')).toContain('Sys.Modify on /, for tags (stack.yaml:10)');
    const free = await runPhase(FROM, given, { grants });
    expect(free.outcome).toBe('done');
    expect(free.check?.notChecked).toEqual([]);
  });
});

describe('rights on a pool', () => {
  it('are enough for a VM that is put into it', async () => {
    const given = phase(vm('web', 401, '    pool: lab\n'));
    const plan = await runPhase(FROM, given, { execute: false });
    const viaPool = (plan.check?.requirements ?? []).map((requirement) => {
      const [first, ...others] = requirement.paths;
      return { ...requirement, paths: [others.at(-1) ?? first] as const };
    });
    const grants = exactGrants(viaPool);
    expect(grants.some(({ path }) => path === '/vms/401')).toBe(false);
    const end = await runPhase(FROM, given, { grants });
    expect(texts(end)).toEqual([]);
    expect(end.outcome).toBe('done');
  });
});

describe('a thorough examination', () => {
  it('says of everything that it may not read what that would take', async () => {
    const given = phase(vm('web', 401));
    const end = await runPhase(FROM, given, { grants: await exactly(given), execute: false, thorough: true });
    expect(end.check?.missing).toEqual([]);
    expect(end.check?.notChecked.map(({ detail }) => detail)).toEqual([
      'Names, ids and addresses of other VMs could not be checked: the token needs VM.Audit on /vms.',
      'Quorum, HA and settings of the datacenter could not be checked: the token needs Sys.Audit on /.',
      'Bridges other than those that the token may use could not be checked: the token needs SDN.Audit on /sdn/zones/localnetwork.',
      'Memory and load of node pve1 could not be checked: the token needs Sys.Audit on /nodes/pve1.',
      'Volumes on storage local-lvm could not be checked: the token needs Datastore.Audit on /storage/local-lvm.',
    ]);
  });
});

describe('the smallest roles', () => {
  it('are enough for the whole lifecycle once they are run', async () => {
    const stack = stackOf(vm('web', 401));
    const made = await runPhase(FROM, { kind: 'apply', stack });
    const requirements = made.check?.requirements ?? [];
    const { roles, acl } = smallestRoles(requirements, { version: { version: '9.2.11' }, vms: 'all' });
    const world = structuredClone(FROM.world);
    for (const { name, privileges } of roles) {
      world.access.roles.set(name, { roleid: name, privileges: new Set(privileges), special: false });
    }
    for (const { path, role, propagate } of acl) {
      world.access.acl.push({ path, kind: 'user', ugid: 'prov@pve', role, propagate });
      world.access.acl.push({ path, kind: 'token', ugid: 'prov@pve!tok', role, propagate });
    }
    const applied = await runPhase({ ...FROM, world }, { kind: 'apply', stack }, { grants: [] });
    expect(texts(applied)).toEqual([]);
    const again = await runPhase(applied.after, { kind: 'apply', stack }, { grants: [] });
    expect(again.plan?.steps).toEqual([]);
    expect(again.questions).toBe(0);
    const destroyed = await runPhase(again.after, { kind: 'destroy', stack }, { grants: [] });
    expect(destroyed.outcome).toBe('done');
  });
});
