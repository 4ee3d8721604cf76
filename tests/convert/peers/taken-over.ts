/**
 * An estate that another provider makes on a simulated cluster, and what becomes of it: converted, planned, applied without a
 * request that writes, planned again without the `moved` blocks, and destroyed by our provider.
 */
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { runConvert } from '../../../src/cli/commands/convert.ts';
import { testDeps } from '../../../src/cli/testing/deps.ts';
import type { HostProgram } from '../../../src/provider/testing/terraform.ts';
import type { World } from '../../../src/simulator/index.ts';
import { ADMIN, type Change, problems, Scene } from '../../provider/terraform/support/scene.ts';
import { peerWorld, WAITING } from './peer-world.ts';
import { overridesFor, type Peer } from './peers.ts';
import { writeRecorded } from './recorded.ts';

export interface TakenOver {
  /** What the conversion says, one line each. */
  readonly findings: readonly string[];
  readonly exitCode: number;
  readonly planned: readonly Change[];
  /** Requests of the apply that are no reads. */
  readonly written: readonly string[];
  /** Configurations of VMs that the apply changed. */
  readonly changedVms: readonly string[];
  /** Codes of the plan after the apply, and of the one without the `moved` blocks. */
  readonly plansAfter: readonly (number | null)[];
  /** What the cluster has after the destroy and did not have before, and the other way round. */
  readonly leftOver: readonly string[];
  /** How many resources of the other provider there were. */
  readonly made: number;
}

export interface TakeOverOptions {
  readonly host: HostProgram;
  readonly peers: readonly Peer[];
  /** With the files of the estate. */
  readonly estate: string;
  /** By root's password, which may do what no token may. */
  readonly asRoot: boolean;
}

/** Of the documented cluster. */
const ROOT = {
  PROXMOX_VE_API_TOKEN: '',
  PROXMOX_VE_USERNAME: 'root@pam',
  PROXMOX_VE_PASSWORD: 'proxwright',
  TF_VAR_root_password: 'proxwright',
};

const HA_ROUND_MS = 10_000;

export async function takeOver({ host, peers, estate, asRoot }: TakeOverOptions): Promise<TakenOver> {
  const tools = await mkdtemp(join(tmpdir(), 'proxwright-peers-'));
  const name = basename(dirname(estate));
  const scene = await Scene.open({
    host,
    world: peerWorld(name),
    environment: { TF_CLI_CONFIG_FILE: await overridesFor(peers, tools), ...(asRoot && ROOT) },
  });
  try {
    return await inScene(scene, estate, WAITING[name] ?? []);
  } finally {
    await scene.close();
    await rm(tools, { recursive: true, force: true });
  }
}

/** Volumes that wait for a VM are destroyed with it. */
async function inScene(scene: Scene, estate: string, waiting: readonly string[]): Promise<TakenOver> {
  const { directory } = scene.workspace;
  await cp(estate, directory, { recursive: true });
  const [token = '', secret = ''] = ADMIN.split('=');
  Object.assign(scene.environment, {
    TF_VAR_endpoint: scene.server.endpoint,
    TF_VAR_token_id: token,
    TF_VAR_token_secret: secret,
  });
  const run = (...args: string[]) => scene.run(args, scene.environment);
  const ended = async (what: string, ...args: string[]) => {
    const result = await run(...args);
    if (problems(result).length === 0) return result;
    const said = result.diagnostics.map(
      ({ summary, detail = '', range }) => `${range?.start.line}: ${summary}: ${detail}`,
    );
    throw new Error(`${what}:\n${said.join('\n') || result.stdout + result.stderr}`);
  };
  const hasModules = (await readdir(directory, { withFileTypes: true })).some((entry) => entry.isDirectory());
  const modules = async () => (hasModules ? void (await ended('get', 'get')) : undefined);

  const before = inventory(scene.world);
  const expected = new Set([...before].filter((each) => !waiting.some((volume) => each.endsWith(` ${volume}`))));
  await modules();
  // One after the other: clones at the same time wait for the lock of the storage, and the other provider does not repeat them.
  await ended('the other provider', 'apply', '-json', '-input=false', '-auto-approve', '-parallelism=1');
  // What the other provider could only upload by SSH.
  await rm(join(directory, 'first-import.tf'), { force: true });
  const made = (await scene.workspace.state()).size;
  if (process.env.PROXWRIGHT_RECORD_ESTATES !== undefined) {
    const state = await readFile(join(directory, 'terraform.tfstate'), 'utf8');
    await writeRecorded(join(estate, '..', 'made.json'), state, scene.world, before);
  }
  // The HA manager starts and stops VMs some rounds after a request; that is no change of the apply.
  while (!isHaAtRest(scene.world)) await scene.simulator.runtime.clock.sleep(HA_ROUND_MS);
  const configs = vmConfigs(scene.world);

  const { deps } = testDeps({ directory, json: true });
  const said: unknown[] = [];
  const exitCode = await runConvert(
    '.',
    { inPlace: true, state: 'terraform.tfstate' },
    {
      ...deps,
      terminal: { ...deps.terminal, data: (value: unknown) => void said.push(value) },
    },
  );
  const { findings } = said[0] as { findings: readonly Record<string, unknown>[] };

  await modules();
  const planned = await scene.changes();
  const written: string[] = [];
  scene.before = ({ method, body }, line) => {
    // A login changes nothing.
    if (method !== 'GET' && line !== 'POST /access/ticket') written.push(`${line} ${String(body ?? '')}`);
    return undefined;
  };
  await ended('the apply', 'apply', '-json', '-input=false', '-auto-approve');
  scene.before = () => undefined;
  const after = vmConfigs(scene.world);
  const changedVms = [...configs].filter(([name, text]) => after.get(name) !== text).map(([name]) => name);

  const plansAfter = [(await scene.plan()).code];
  for (const entry of await readdir(directory, { recursive: true })) {
    if (entry.endsWith('proxwright-moved.tf')) await rm(join(directory, entry));
  }
  plansAfter.push((await scene.plan()).code);
  await ended('the destroy', 'destroy', '-json', '-input=false', '-auto-approve');
  return {
    findings: findings.map(
      ({ kind, file, line, subject, what, why }) => `${kind} ${file}:${line} ${subject} ${what}: ${why}`,
    ),
    exitCode,
    planned,
    written,
    changedVms,
    plansAfter,
    leftOver: difference(expected, inventory(scene.world)),
    made,
  };
}

function isHaAtRest({ ha, vms }: World): boolean {
  return [...ha.resources].every(([sid, options]) => {
    const service = ha.services.get(sid);
    const isRunning = vms.get(service?.vmid ?? 0)?.process !== undefined;
    const requested = options.get('state') ?? 'started';
    if (requested === 'ignored') return true;
    return requested === 'started'
      ? service?.state === 'started' && isRunning
      : service?.state === 'stopped' && !isRunning;
  });
}

function vmConfigs(world: World): ReadonlyMap<string, string> {
  return new Map(
    [...world.vms.values()].map(({ vmid, node, config, process }) => {
      const lines = [...config.current].map(([key, value]) => `${key}: ${value}`).sort();
      return [String(vmid), [node, process ? 'running' : 'stopped', ...lines].join('\n')];
    }),
  );
}

/** VMs and volumes. */
function inventory(world: World): ReadonlySet<string> {
  const volumes = [...world.storages.values()].flatMap((storage) =>
    [...storage.volumes].flatMap(([node, each]) =>
      [...each.values()].map(({ name }) => `volume ${storage.id} ${node} ${name}`),
    ),
  );
  return new Set([...volumes, ...[...world.vms.keys()].map((vmid) => `vm ${vmid}`)]);
}

function difference(before: ReadonlySet<string>, after: ReadonlySet<string>): readonly string[] {
  return [
    ...[...before].filter((each) => !after.has(each)).map((each) => `gone: ${each}`),
    ...[...after].filter((each) => !before.has(each)).map((each) => `left: ${each}`),
  ];
}
