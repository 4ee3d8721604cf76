/** A cluster, a stack and a token for the doctor, and an administrator who runs the commands that it prints. */

import { diagnose } from '../../../../src/engine/doctor/diagnose.ts';
import { type Examination, WireWatch } from '../../../../src/engine/doctor/examination.ts';
import { examine } from '../../../../src/engine/doctor/examine.ts';
import type { CheckName, Finding } from '../../../../src/kinds/doctor/finding.ts';
import { emptyState, type StackState } from '../../../../src/kinds/recorded.ts';
import { createPve, parseToken } from '../../../../src/pve/index.ts';
import {
  buildWorld,
  createSimulator,
  seededRandom,
  VirtualClock,
  type World,
  type WorldFile,
} from '../../../../src/simulator/index.ts';
import { LAB_WORLD } from '../../engine/support/lab-world.ts';
import { resolved } from '../../engine/support/scene.ts';

const ADMIN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
export const WEAK = 'prov@pve!tok';
const SECRET = '00000000-0000-4000-8000-0000000000aa';

export interface Visit {
  readonly findings: readonly Finding[];
  readonly examination: Examination;
  /** Everything that is not a GET; the doctor sends none. */
  readonly writes: readonly string[];
  of(check: CheckName): readonly Finding[];
}

export function labWorld(change: (file: WorldFile) => WorldFile = (file) => file): World {
  const file = change(LAB_WORLD);
  const users = { ...file.users, 'prov@pve': { tokens: { tok: { secret: SECRET, privsep: true } } } };
  return buildWorld({ ...file, users }, { now: new VirtualClock().now(), file: 'clinic' });
}

export interface VisitOptions {
  readonly as?: 'admin' | 'weak';
  readonly state?: StackState;
  readonly now?: number;
  /** Of the server, beside the one here. */
  readonly skewMs?: number;
}

export async function visit(world: World, stackText: string, options: VisitOptions = {}): Promise<Visit> {
  const clock = new VirtualClock(options.now);
  const simulator = createSimulator({ world: structuredClone(world), clock, random: seededRandom('clinic') });
  const transport = simulator.transport();
  const wire = new WireWatch(clock);
  const writes: string[] = [];
  const pve = createPve({
    transport: wire.watch({
      send: async (request, sendOptions) => {
        if (request.method !== 'GET') writes.push(`${request.method} ${request.target}`);
        const response = await transport.send(request, sendOptions);
        if (options.skewMs === undefined) return response;
        const date = new Date(clock.now() + options.skewMs).toUTCString();
        return { ...response, headers: { ...response.headers, date } };
      },
      close: () => transport.close(),
    }),
    endpoint: 'https://pve1.lab:8006',
    credentials: parseToken(options.as === 'weak' ? `${WEAK}=${SECRET}` : ADMIN),
    clock,
    random: seededRandom('client'),
  });
  const stack = resolved(stackText);
  const state = options.state ?? emptyState(stack.name);
  const trust = { kind: 'none' } as const;
  const examination = await clock.run(() =>
    examine({ pve, stack, state, secrets: new Map(), now: clock.now(), trust, wire }),
  );
  const findings = diagnose(examination);
  return { findings, examination, writes, of: (check) => findings.filter((finding) => finding.check === check) };
}

/** An administrator types the commands. */
export function obey(world: World, commands: string): World {
  const { access, ...rest } = structuredClone(world);
  for (const line of commands.split('\n')) {
    const role = /^pveum role (?:add|modify) (\S+) (?:--append 1 )?--privs '(.*)'$/.exec(line);
    const acl =
      /^pveum acl modify (\S+) (?:--users '(\S+)' )?(?:--tokens '(\S+)' )?--roles (\S+) --propagate ([01])$/.exec(line);
    if (role) {
      const [, roleid = '', privileges = ''] = role;
      const before = access.roles.get(roleid)?.privileges ?? [];
      access.roles.set(roleid, { roleid, privileges: new Set([...before, ...privileges.split(' ')]), special: false });
    } else if (acl) {
      const [, path = '', user = '', token = '', roleid = '', propagate] = acl;
      const entry = { path, role: roleid, propagate: propagate === '1' };
      access.acl.push({ ...entry, kind: 'user', ugid: user }, { ...entry, kind: 'token', ugid: token });
    } else throw new Error(`not a command: ${line}`);
  }
  return { access, ...rest };
}

export const STACK = (more = '') => `version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 401
    node: pve1
    guest: cloud-init
    clone: { template: ubuntu-24.04 }
    cpu: { cores: 2 }
    memory: 2GiB
    nics: { net0: { bridge: vmbr0, ipv4: { address: 10.0.30.11/24 } } }
    disks: { scsi0: { size: 8GiB } }
${more}`;
