/**
 * The few programs and files of a simulated guest. The shell supports only what clients send to check a guest: words,
 * `;`, `&&`, `>&2` and `exit`.
 */
import type { GuestProfile, QemuProcess, Vm } from '../world/world.ts';
import { guestHostName, readsCloudInit } from './guest.ts';

export interface GuestContext {
  readonly hostName: string;
  readonly guest: GuestProfile;
  readonly uptimeMs: number;
  readFile(path: string): string | undefined;
}

interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly runsForMs: number;
}

type Program = (args: readonly string[], context: GuestContext, input: string) => Partial<ProgramResult>;

/**
 * Rule [recorded guest-agent]: under software emulation a tiny program has ended when the next request reaches the agent; one
 * that reads its input, or a shell, has not.
 */
const USUAL_RUN_MS = 20;
const SLOW_RUN_MS = 200;

const PROGRAMS: Readonly<Record<string, Program>> = {
  true: () => ({}),
  false: () => ({ exitCode: 1 }),
  echo: (args) => ({ stdout: args[0] === '-n' ? args.slice(1).join(' ') : `${args.join(' ')}\n` }),
  printf: (args) => ({ stdout: (args[0] ?? '').replaceAll('\\n', '\n') }),
  id: () => ({ stdout: 'uid=0(root) gid=0(root) groups=0(root)\n' }),
  whoami: () => ({ stdout: 'root\n' }),
  hostname: (_args, context) => ({ stdout: `${context.hostName}\n` }),
  uname: (args, { guest, hostName }) => {
    const kernel = guest.os.kernel;
    const all = `Linux ${hostName} ${kernel} #1 SMP PREEMPT_DYNAMIC x86_64 GNU/Linux\n`;
    return { stdout: args.includes('-a') ? all : args.includes('-r') ? `${kernel}\n` : 'Linux\n' };
  },
  uptime: (_args, context) => ({ stdout: ` up ${Math.floor(context.uptimeMs / 60_000)} min,  0 users\n` }),
  cat: (args, context, input) => {
    if (args.length === 0) return { stdout: input, runsForMs: SLOW_RUN_MS };
    const parts = args.map((path) => ({ path, content: context.readFile(path) }));
    const missing = parts.filter((part) => part.content === undefined);
    return {
      stdout: parts.map((part) => part.content ?? '').join(''),
      stderr: missing.map((part) => `cat: ${part.path}: No such file or directory\n`).join(''),
      exitCode: missing.length > 0 ? 1 : 0,
    };
  },
  sleep: (args) => ({ runsForMs: Number(args[0] ?? 0) * 1000 }),
  // Rule [assumed]: as its manual says, the state in one word, and 3 for every state but `active`.
  systemctl: (args, { guest }) => {
    const unit = args.at(-1)?.replace(/\.service$/, '') ?? '';
    const services: Readonly<Record<string, string>> = {
      'qemu-guest-agent': guest.agentService ?? 'active',
      ssh: 'active',
      sshd: 'active',
    };
    const state = (Object.hasOwn(services, unit) ? services[unit] : undefined) ?? 'inactive';
    return args[0] === 'is-active' ? { stdout: `${state}\n`, exitCode: state === 'active' ? 0 : 3 } : {};
  },
  'cloud-init': (args, { guest }) => {
    if (!guest.cloudInit) return { stdout: 'status: disabled\n', exitCode: 0 };
    return args[0] === 'status' ? { stdout: 'status: done\n' } : {};
  },
};

/** Undefined when there is no such program, which the agent reports instead of starting anything. */
export function runProgram(
  command: readonly string[],
  context: GuestContext,
  input: string,
): ProgramResult | undefined {
  const [path = '', ...args] = command;
  const name = programName(path);
  if (name === 'sh' || name === 'bash') {
    return args[0]?.startsWith('-') && args[0].includes('c') ? runScript(args[1] ?? '', context, input) : finished({});
  }
  const program = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined;
  return program && finished(program(args, context, input));
}

function programName(path: string): string {
  return /^(?:\/usr)?(?:\/local)?\/s?bin\/([^/]+)$/.exec(path)?.[1] ?? (path.includes('/') ? '' : path);
}

function finished(result: Partial<ProgramResult>): ProgramResult {
  return { exitCode: 0, stdout: '', stderr: '', runsForMs: USUAL_RUN_MS, ...result };
}

function runScript(script: string, context: GuestContext, input: string): ProgramResult {
  let total = finished({ runsForMs: SLOW_RUN_MS });
  for (const [, text = '', separator] of script.matchAll(/\s*([^;&]*(?:>&2)?[^;&]*?)\s*(&&|;|$)/g)) {
    if (text === '') continue;
    const toStderr = />&2/.test(text);
    const [name = '', ...args] = words(text.replace(/\d?>&[12]/g, ''));
    if (name === 'exit') return { ...total, exitCode: Number(args[0] ?? total.exitCode) };
    const step =
      runProgram([name, ...args], context, input) ??
      finished({ exitCode: 127, stderr: `/bin/sh: 1: ${name}: not found\n` });
    total = {
      exitCode: step.exitCode,
      stdout: total.stdout + (toStderr ? '' : step.stdout),
      stderr: total.stderr + (toStderr ? step.stdout : '') + step.stderr,
      runsForMs: total.runsForMs + step.runsForMs,
    };
    if (separator === '&&' && step.exitCode !== 0) return total;
  }
  return total;
}

function words(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** Files written by clients stay on the VM's disk, so they live as long as the VM. */
const writtenFiles = new WeakMap<Vm, Map<string, string>>();

export function readGuestFile(vm: Vm, process: QemuProcess, path: string): string | undefined {
  return writtenFiles.get(vm)?.get(path) ?? systemFile(vm, process, path);
}

/** False when the directory does not exist. */
export function writeGuestFile(vm: Vm, path: string, content: string): boolean {
  if (!/^\/(?:tmp|root|etc|opt|srv|home|var|var\/tmp|usr\/local\/bin)?\/?[^/]+$/.test(path)) return false;
  const files = writtenFiles.get(vm) ?? new Map<string, string>();
  files.set(path, content);
  writtenFiles.set(vm, files);
  return true;
}

function systemFile(vm: Vm, process: QemuProcess, path: string): string | undefined {
  const os = process.guest?.os;
  switch (path) {
    case '/etc/hostname':
      return `${guestHostName(vm, process)}\n`;
    case '/etc/os-release':
      return os && `NAME="${os.name}"\nID=${os.id}\nVERSION="${os.version}"\n`;
    case '/var/lib/cloud/data/result.json':
      if (!readsCloudInit(process)) return undefined;
      return '{\n "v1": {\n  "datasource": "DataSourceNoCloud [seed=/dev/sr0]",\n  "errors": []\n }\n}\n';
    case '/var/lib/cloud/instance/boot-finished':
      return readsCloudInit(process) ? `cloud-init finished on ${guestHostName(vm, process)}\n` : undefined;
    default:
      return undefined;
  }
}
