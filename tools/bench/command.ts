/** What the command costs on this machine: its start, and the memory of a large plan. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { serveSimulator } from '../../src/simulator/http/server.ts';
import { createSimulator, seededRandom, systemClock } from '../../src/simulator/index.ts';
import type { Figure } from './engine.ts';
import { childrenCpuMs } from './measure.ts';
import { plannedWorld } from './planned-world.ts';
import { TOKEN } from './requests.ts';

const COMMAND = fileURLToPath(new URL('../../bin/proxwright.js', import.meta.url));
const BUILT = fileURLToPath(new URL('../../dist/cli/main.cjs', import.meta.url));
const PLAN_PROGRAM = fileURLToPath(new URL('./plan-memory.ts', import.meta.url));
const STACK = fileURLToPath(new URL('../../examples/ubuntu/stack.yaml', import.meta.url));
const STARTS = 25;
/** The shell counts in hundredths of a second, which is too coarse for a single start. */
const STARTS_PER_READING = 5;
const MANY = 5_000;
const MIB = 1024 ** 2;

export async function benchCommand(): Promise<readonly Figure[]> {
  return [
    startUp(['--version'], 1.5),
    startUp(['--help'], 2),
    startUp(['validate', '-f', STACK], 3),
    await planMemory(),
  ];
}

/**
 * Starts in turn, so that both meet the same machine. The fastest of each count: a busy machine only ever adds to a start, and not
 * by the same share. What V8 compiles is kept after the first one, which is not counted.
 */
function startUp(args: readonly string[], limit: number): Figure {
  const aim = `≤ ${limit} × node -e 0`;
  const figure = `start-up of ${args[0]}`;
  if (!existsSync(BUILT)) return { figure, measured: 'not built: npm run build', aim, isMet: false };
  const firstMs = timed([COMMAND, ...args]);
  const times = { bare: [] as number[], command: [] as number[] };
  const cpu = { bare: [] as number[], command: [] as number[] };
  for (let turn = 0; turn < STARTS; turn++) {
    times.bare.push(timed(['-e', '0']));
    times.command.push(timed([COMMAND, ...args]));
    if (turn % STARTS_PER_READING !== 0) continue;
    cpu.bare.push(cpuTime(['-e', '0']));
    cpu.command.push(cpuTime([COMMAND, ...args]));
  }
  const [bareMs, commandMs] = [Math.min(...times.bare), Math.min(...times.command)];
  const ratio = commandMs / bareMs;
  const cpuRatio = Math.min(...cpu.command) / Math.min(...cpu.bare);
  const measured = `${commandMs.toFixed(0)} ms = ${ratio.toFixed(2)} × ${bareMs.toFixed(0)} ms; CPU ${cpuRatio.toFixed(2)} × (the first: ${firstMs.toFixed(0)} ms)`;
  return { figure, measured, aim, isMet: ratio <= limit };
}

function timed(args: readonly string[]): number {
  const startedAt = performance.now();
  const { status } = spawnSync(process.execPath, args, { stdio: 'ignore', env: ENVIRONMENT });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`);
  return performance.now() - startedAt;
}

/** The shell counts what Node cannot ask for: the processor time of several starts, their threads included. */
function cpuTime(args: readonly string[]): number {
  const again = Array.from({ length: STARTS_PER_READING }, () => '"$@" >/dev/null 2>&1;').join(' ');
  const counted = ['-c', `${again} times`, 'sh', process.execPath, ...args];
  return childrenCpuMs(spawnSync('sh', counted, { encoding: 'utf8', env: ENVIRONMENT }).stdout);
}

/** Reading extra certificates costs every Node the same, which would make the ratio look better. */
const { NODE_EXTRA_CA_CERTS: _, ...ENVIRONMENT } = process.env;

/** In a process of its own: the simulated cluster is not part of what planning costs. */
async function planMemory(): Promise<Figure> {
  const clock = systemClock;
  const world = plannedWorld(MANY, clock.now());
  const simulator = createSimulator({ world, clock, random: seededRandom('bench') });
  const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
  try {
    const { maxRssBytes, seconds, changes } = await planIn({
      endpoint: server.endpoint,
      fingerprint: server.fingerprint,
    });
    return {
      figure: `memory of a plan without changes, ${MANY} VMs`,
      measured: `${(maxRssBytes / MIB).toFixed(0)} MiB at most, ${seconds.toFixed(1)} s over TLS, ${changes} changes`,
      aim: '≤ 300 MB',
      isMet: maxRssBytes <= 300_000_000 && changes === 0,
    };
  } finally {
    await server.close();
  }
}

interface PlanReport {
  readonly maxRssBytes: number;
  readonly seconds: number;
  readonly changes: number;
}

function planIn(server: { readonly endpoint: string; readonly fingerprint: string }): Promise<PlanReport> {
  const child = spawn(process.execPath, ['--import', 'tsx', PLAN_PROGRAM, String(MANY)], {
    env: {
      ...process.env,
      PROXMOX_VE_ENDPOINT: server.endpoint,
      PROXMOX_VE_FINGERPRINT: server.fingerprint,
      PROXMOX_VE_API_TOKEN: TOKEN,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (code === 0)
        resolve(JSON.parse(output) as PlanReport); // printed by our own program
      else reject(new Error(`the plan ended with ${code}`));
    });
  });
}
