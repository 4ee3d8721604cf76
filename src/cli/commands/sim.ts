/** `proxwright sim`: serves the simulator over HTTPS until it is stopped. */
import { systemClock } from '../../base/clock.ts';
import { type Random, randomUuid } from '../../base/random.ts';
import { readTextFile } from '../../local/text-file.ts';
import {
  builtInWorld,
  builtInWorldNames,
  createCertificate,
  createSimulator,
  type FaultBoard,
  loadWorld,
  parseRuleFile,
  parseShortForm,
  printShortForm,
  ruleFaults,
  scaledClock,
  seededFaults,
  seededRandom,
  serveSimulator,
  type World,
  whyNever,
} from '../../simulator/index.ts';
import type { PageServer } from '../../ui/server/serve.ts';
import { badOption, type CommandDeps, type ExitCode } from '../command.ts';
import type { SimulatedDeps } from '../ui/simulated.ts';
import { simView } from '../views/sim.ts';

export interface SimOptions {
  readonly listen: string;
  readonly world: string;
  readonly seed: string;
  readonly speed: string;
  readonly faults?: string;
  readonly fetchLoopback?: boolean;
  readonly ui?: boolean;
}

const FASTEST = 1_000;

export async function runSim(options: SimOptions, deps: CommandDeps): Promise<ExitCode> {
  const { terminal, stopRequested } = deps;
  const { host: address, port } = parseListen(options.listen);
  const speed = parseSpeed(options.speed);
  const random = seededRandom(options.seed);
  const clock = speed === 1 ? systemClock : scaledClock(systemClock, speed);
  const faults = await readFaults(options.faults, random.fork('faults'));
  const world = await readWorld(options.world);
  const token = adminToken(world, random.fork('token'));
  const certificate = await createCertificate(address, systemClock.now());
  presentFingerprint(world, certificate.fingerprint);
  const { fetchLoopback = false } = options;
  const simulator = createSimulator({ world, clock, random, log: terminal, fetchLoopback, faults });
  const stopped = stopRequested();
  const server = await serveSimulator(simulator, { host: address, port, certificate, speed }).catch(
    (error: unknown) => {
      throw listenFailure(error, options.listen, port);
    },
  );
  simView(deps).listening({
    PROXMOX_VE_ENDPOINT: server.endpoint,
    PROXMOX_VE_API_TOKEN: token,
    PROXMOX_VE_FINGERPRINT: server.fingerprint,
  });
  const nodes = [...world.nodes.keys()].join(', ');
  terminal.log('info', `A simulated Proxmox VE ${world.version.version} (${nodes}) listens on ${server.endpoint}.`);
  terminal.log('info', `World ${options.world}, seed ${options.seed}, speed ${speed}. Stop it with Ctrl-C.`);
  if (speed !== 1) {
    terminal.log(
      'info',
      `The clock of the simulated servers runs ${speed} times as fast as yours, so the times in answers drift away from your clock.`,
    );
  }
  for (const rule of faults.rules) {
    const why = whyNever(rule, world);
    if (why !== undefined) terminal.log('warn', `The fault ${printShortForm(rule)} cannot strike. ${why}`);
  }
  const page = options.ui ? await servedPage({ simulator, faults, endpoint: server.endpoint, speed }, deps) : undefined;
  if (page) simView(deps).page(page.link);
  await stopped;
  await page?.close();
  await server.close();
  terminal.success('Stopped. The simulated cluster is gone.');
  return 0;
}

async function readWorld(name: string): Promise<World> {
  const now = systemClock.now();
  const builtIn = builtInWorld(name, { now });
  if (builtIn) return builtIn;
  const names = builtInWorldNames().join(', ');
  return loadWorld(await readTextFile(name, 'a world', `Name a file or a built-in world: ${names}.`), name, {
    now,
  });
}

async function servedPage(page: SimulatedDeps, deps: CommandDeps): Promise<PageServer> {
  // Only here: the simulator without a page does not load it.
  const [{ simulatedSource }, { serveSimulated }, { SIMULATED_PAGE }] = await Promise.all([
    import('../ui/simulated.ts'),
    import('../../ui/server/simulated.ts'),
    import('../../ui/page.generated.ts'),
  ]);
  const { clock, random, terminal } = deps;
  return serveSimulated(simulatedSource(page), { files: SIMULATED_PAGE, clock, random, log: terminal });
}

async function readFaults(text: string | undefined, random: Random): Promise<FaultBoard> {
  if (text === undefined) return ruleFaults([], random);
  if (text === 'seeded') return seededFaults(random);
  const rules = /\.(ya?ml|json)$/i.test(text)
    ? parseRuleFile(await readTextFile(text, 'fault rules'), text)
    : parseShortForm(text);
  return ruleFaults(rules, random);
}

/** A token with all privileges, so that the printed lines work. A world without one gets one. */
function adminToken(world: World, random: Random): string {
  const { tokens } = world.access;
  const known = [...tokens.values()].find((token) => token.userid === 'root@pam' && !token.privsep);
  if (known) return `${known.userid}!${known.tokenid}=${known.secret}`;
  const token = { userid: 'root@pam', tokenid: 'sim', secret: randomUuid(random), privsep: false, expire: 0 };
  tokens.set('root@pam!sim', { ...token, comment: 'Created by proxwright sim.' });
  return `root@pam!sim=${token.secret}`;
}

/** Makes the API report the certificate that the server really presents. */
function presentFingerprint(world: World, sslFingerprint: string): void {
  const node = world.nodes.get(world.entryNode);
  if (node) world.nodes.set(node.name, { ...node, sslFingerprint });
}

function parseListen(text: string): { host: string; port: number } {
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(portText);
  if (host !== undefined && port <= 65_535) return { host, port };
  throw badOption('--listen', `"${text}" is not an address with a port.`, 'For example: --listen 127.0.0.1:8006');
}

function parseSpeed(text: string): number {
  const speed = Number(text);
  if (text.trim() !== '' && speed > 0 && speed <= FASTEST) return speed;
  throw badOption('--speed', `"${text}" is not a number above 0 and at most ${FASTEST}.`, 'For example: --speed 20');
}

const LISTEN_PROBLEMS: Readonly<Record<string, (port: number) => readonly [detail: string, hint: string]>> = {
  EADDRINUSE: (port) => [`Port ${port} is in use.`, 'Choose another port, or 0 for any free one.'],
  EACCES: (port) => [`You may not listen on port ${port}.`, 'Choose a port above 1023.'],
  EADDRNOTAVAIL: () => ['This machine does not have that address.', 'For example: --listen 127.0.0.1:8006'],
  ENOTFOUND: () => ['That name does not resolve to an address.', 'For example: --listen 127.0.0.1:8006'],
};

function listenFailure(error: unknown, listen: string, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const problem = LISTEN_PROBLEMS[code === 'EAI_AGAIN' ? 'ENOTFOUND' : code];
  if (!problem) return error;
  const [detail, hint] = problem(port);
  return badOption(`--listen ${listen}`, detail, hint);
}
