/** The commands themselves, in this process: a simulated server behind HTTPS, a directory with a stack file, a terminal in memory. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { ProxwrightError } from '../../../src/base/errors.ts';
import { OWN_LANGUAGE } from '../../../src/base/hint.ts';
import type { ExitCode } from '../../../src/cli/command.ts';
import { AlreadyShown } from '../../../src/cli/command.ts';
import { runApply } from '../../../src/cli/commands/change/apply.ts';
import { runPlan } from '../../../src/cli/commands/change/plan.ts';
import { runDoctor } from '../../../src/cli/commands/check/doctor.ts';
import { runPermissions } from '../../../src/cli/commands/permissions/permissions.ts';
import { testDeps } from '../../../src/cli/testing/deps.ts';
import {
  createSimulator,
  type SimulatorServer,
  scaledClock,
  seededRandom,
  serveSimulator,
} from '../../../src/simulator/index.ts';
import { labWorld, STACK } from './support/clinic.ts';

const ADMIN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
const WEAK = 'prov@pve!tok=00000000-0000-4000-8000-0000000000aa';
const LOCK = 'provider "registry.terraform.io/telmate/proxmox" {\n  version = "2.9.14"\n}\n';

let server: SimulatorServer;
let directory: string;
const world = () => labWorld((file) => file);
let served: ReturnType<typeof world>;

beforeEach(async () => {
  served = world();
  const clock = scaledClock(systemClock, 50);
  server = await serveSimulator(createSimulator({ world: served, clock, random: seededRandom('commands') }), {
    host: '127.0.0.1',
    port: 0,
  });
  directory = mkdtempSync(join(tmpdir(), 'proxwright-doctor-'));
  writeFileSync(join(directory, 'stack.yaml'), STACK());
});

afterEach(async () => {
  await server.close();
  rmSync(directory, { recursive: true, force: true });
});

interface Ended {
  readonly code: ExitCode;
  readonly out: string;
  readonly problems: string;
}

type Command = (deps: ReturnType<typeof testDeps>['deps']) => Promise<ExitCode>;

async function run(
  command: Command,
  environment: Readonly<Record<string, string | undefined>> = {},
  json = false,
): Promise<Ended> {
  const lines: string[] = [];
  const problems: string[] = [];
  const { deps } = testDeps({
    clock: systemClock,
    directory,
    json,
    environment: {
      PROXMOX_VE_ENDPOINT: server.endpoint,
      PROXMOX_VE_FINGERPRINT: server.fingerprint,
      PROXMOX_VE_API_TOKEN: WEAK,
      ...environment,
    },
    terminal: {
      log: () => {},
      success: () => {},
      result: (line) => lines.push(line),
      data: (value, indent) => lines.push(JSON.stringify(value, undefined, indent)),
      diagnostic: (diagnostic) => problems.push(formatDiagnostic(diagnostic)),
      language: OWN_LANGUAGE,
    },
  });
  const code = await command(deps).catch((error: unknown): ExitCode => {
    if (error instanceof ProxwrightError) problems.push(formatDiagnostic(error.diagnostic));
    else if (!(error instanceof AlreadyShown)) throw error;
    return 1;
  });
  return { code, out: lines.join('\n'), problems: problems.join('\n') };
}

describe('doctor', () => {
  it('exits with 0 if the stack is ready to apply, and names the pinned certificate', async () => {
    const { code, out } = await run((deps) => runDoctor({}, deps), { PROXMOX_VE_API_TOKEN: ADMIN });
    expect(code).toBe(0);
    expect(out).toContain(`fingerprint: "${server.fingerprint}"`);
    expect(out.split('\n').at(-1)).toMatch(/^Ready to apply/);
  });

  it('exits with 1 for a token without privileges, in its first line', async () => {
    const { code, out } = await run((deps) => runDoctor({}, deps));
    expect(code).toBe(1);
    expect(out.split('\n')[0]).toMatch(/^✗ privileges {3}prov@pve!tok has no privileges at all/);
  });

  it('shows the line to paste if the certificate is not trusted', async () => {
    const { code, out } = await run((deps) => runDoctor({}, deps), { PROXMOX_VE_FINGERPRINT: undefined });
    expect(code).toBe(1);
    expect(out).toContain(`connection: { fingerprint: "${server.fingerprint}" }`);
  });

  it('reports only a missing server or a wrong token', async () => {
    const unreachable = await run((deps) => runDoctor({}, deps), { PROXMOX_VE_ENDPOINT: 'https://127.0.0.1:9' });
    expect(unreachable.out).toMatch(/^✗ endpoint .*could not be reached/);
    const wrong = await run((deps) => runDoctor({}, deps), { PROXMOX_VE_API_TOKEN: `${WEAK.slice(0, -1)}b` });
    expect(wrong.out).toMatch(/^✗ token /);
  });

  it('prints its findings as JSON', async () => {
    const { out } = await run((deps) => runDoctor({}, deps), {}, true);
    expect(JSON.parse(out)).toMatchObject({
      stack: 'lab',
      ok: false,
      findings: [{ check: 'privileges', verdict: 'bad' }, {}, {}, {}, {}, {}, {}, {}],
    });
  });

  it('checks Terraform files beside the stack before an upgrade', async () => {
    writeFileSync(join(directory, '.terraform.lock.hcl'), LOCK);
    const { code, out } = await run((deps) => runDoctor({ upgradeTo: '9' }, deps), { PROXMOX_VE_API_TOKEN: ADMIN });
    expect(code).toBe(1);
    expect(out).toContain('telmate/proxmox 2.9.14 requires the privilege VM.Monitor');
    expect(out).toContain('.terraform.lock.hcl:1');
    const bad = await run((deps) => runDoctor({ upgradeTo: 'nine' }, deps));
    expect(bad).toMatchObject({ code: 1, problems: expect.stringContaining('--upgrade-to 9') });
  });
});

describe('permissions', () => {
  it('prints a script with comments', async () => {
    const { code, out } = await run((deps) => runPermissions({ lifecycle: true }, deps));
    expect(code).toBe(0);
    const lines = out.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.filter((line) => !/^pveum (role|acl) /.test(line))).toEqual([]);
    expect(out).toContain('# Missing today:');
  });

  it('offers the command for an exact answer only if the token could not see everything', async () => {
    const offer = "# For an exact answer, use an administrator's token: PROXMOX_VE_API_TOKEN=";
    const blind = await run((deps) => runPermissions({ lifecycle: true }, deps));
    expect(blind.out).toContain(offer);
    expect(blind.out).toContain("proxwright permissions --lifecycle --for 'prov@pve!tok'");
    const named = await run((deps) => runPermissions({ lifecycle: true, for: 'prov@pve!tok' }, deps));
    expect(named.out).not.toContain(offer);
  });

  it('needs no server with --pve, and marks the placeholder for the token', async () => {
    const nowhere = { PROXMOX_VE_ENDPOINT: undefined, PROXMOX_VE_API_TOKEN: undefined };
    const nine = await run((deps) => runPermissions({ lifecycle: true, pve: '9.2', for: 'ci@pve!run' }, deps), nowhere);
    expect(nine).toMatchObject({ code: 0, out: expect.stringContaining("--tokens 'ci@pve!run'") });
    expect(nine.out).toContain('VM.GuestAgent.Audit');
    const named = { lifecycle: true, pve: '9.2', for: 'deploy@pve!proxwright' };
    expect((await run((deps) => runPermissions(named, deps), nowhere)).out).not.toContain('is a placeholder');
    const eight = await run((deps) => runPermissions({ lifecycle: true, pve: '8.4' }, deps), nowhere);
    expect(eight.out).toContain('VM.Monitor');
    expect(eight.out).not.toContain('GuestAgent');
    expect(eight.out).toContain('--for');
  });

  it("applies with an administrator's token, which is not printed; then doctor and plan pass", async () => {
    const before = await run((deps) => runApply(undefined, { yes: true }, deps));
    expect(before).toMatchObject({ code: 1, problems: expect.stringContaining('[PRIVILEGE_MISSING]') });
    const options = { lifecycle: true, apply: true, yes: true, name: 'samsara_iac' };
    const applied = await run((deps) => runPermissions(options, deps), { PROXMOX_VE_ADMIN_TOKEN: ADMIN });
    expect(applied.code).toBe(0);
    expect(applied.out).toContain('+ role samsara_iac-VM');
    expect(applied.out).not.toContain(ADMIN.split('=')[1]);
    expect(await run((deps) => runDoctor({}, deps))).toMatchObject({ code: 0 });
    const again = await run((deps) => runPermissions({ ...options, apply: false }, deps));
    expect(again.out).not.toContain('# Missing today:');
    // Now that it is read, the template asks for less.
    expect(again.out).toContain('pveum acl modify /storage/local-lvm');
  });

  it('adds to an existing role, and keeps its other privileges', async () => {
    const privileges = new Set(['VM.Audit', 'VM.Backup']);
    served.access.roles.set('lab-VM', { roleid: 'lab-VM', privileges, special: false });
    const options = { lifecycle: true, apply: true, yes: true, name: 'lab' };
    const { out } = await run((deps) => runPermissions(options, deps), { PROXMOX_VE_ADMIN_TOKEN: ADMIN });
    expect(out).toMatch(/^~ role lab-VM: .*\+VM\.Allocate.* \(keeps VM\.Backup\)$/m);
    expect(served.access.roles.get('lab-VM')?.privileges).toContain('VM.Backup');
  });

  it('asks before it applies', async () => {
    const options = { lifecycle: true, apply: true };
    const { code, problems } = await run((deps) => runPermissions(options, deps), { PROXMOX_VE_ADMIN_TOKEN: ADMIN });
    expect({ code, problems }).toEqual({ code: 1, problems: expect.stringContaining('--yes') });
    expect(served.access.roles.has('Proxwright-VM')).toBe(false);
  });

  it('says that root has all privileges', async () => {
    const { out } = await run((deps) => runPermissions({}, deps), { PROXMOX_VE_API_TOKEN: ADMIN });
    expect(out).toContain('# root@pam has all privileges');
    expect(out).not.toMatch(/^pveum/m);
  });

  it('explains how to provide the administrator token', async () => {
    const { code, problems } = await run((deps) => runPermissions({ apply: true, yes: true }, deps));
    expect(code).toBe(1);
    expect(problems).toContain('PROXMOX_VE_ADMIN_TOKEN');
  });

  it('shows how to give up Administrator', async () => {
    for (const [kind, ugid] of [
      ['user', 'prov@pve'],
      ['token', 'prov@pve!tok'],
    ] as const) {
      served.access.acl.push({ path: '/', kind, ugid, role: 'Administrator', propagate: true });
    }
    const { out } = await run((deps) => runPermissions({ lifecycle: true }, deps));
    expect(out).toContain('# More than needed today:');
    expect(out).toContain("#   pveum acl delete / --users 'prov@pve' --roles Administrator");
    expect(out).toContain("#   pveum acl delete / --tokens 'prov@pve!tok' --roles Administrator");
  });
});

describe('plan and apply', () => {
  it('warn about missing privileges, and refuse before they change anything', async () => {
    const options = { lifecycle: true, apply: true, yes: true };
    await run((deps) => runPermissions(options, deps), { PROXMOX_VE_ADMIN_TOKEN: ADMIN });
    const role = served.access.roles.get('Proxwright-VM');
    if (!role) throw new Error('the role was made');
    role.privileges.delete('VM.PowerMgmt');
    const planned = await run((deps) => runPlan({}, deps));
    expect(planned).toMatchObject({ code: 0, problems: expect.stringContaining('warning: Privilege missing') });
    const vms = served.vms.size;
    const applied = await run((deps) => runApply(undefined, { yes: true }, deps));
    expect(applied).toMatchObject({ code: 1, problems: expect.stringContaining('VM.PowerMgmt on /vms/401') });
    await run((deps) => runPlan({ out: 'plan.json' }, deps));
    const fromFile = await run((deps) => runApply('plan.json', { yes: true }, deps));
    expect(fromFile).toMatchObject({ code: 1, problems: expect.stringContaining('VM.PowerMgmt on /vms/401') });
    expect(served.vms.size).toBe(vms);
  });
});
