/** Runs a real Terraform or OpenTofu in a separate directory, isolated from the user's settings. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

export interface HostProgram {
  readonly name: 'terraform' | 'tofu';
  readonly binary: string;
  readonly version: string;
}

const CHOICES = [
  { name: 'terraform', variable: 'PROXWRIGHT_TERRAFORM' },
  { name: 'tofu', variable: 'PROXWRIGHT_TOFU' },
] as const;

/** The installed hosts, for `describe.each`; a missing one is reported, so that no test is skipped silently. */
export async function findHostPrograms(): Promise<HostProgram[]> {
  const found: HostProgram[] = [];
  for (const { name, variable } of CHOICES) {
    const binary = process.env[variable] || name;
    try {
      const { stdout } = await promisify(execFile)(binary, ['version', '-json'], { env: quietEnvironment() });
      const { terraform_version: version } = JSON.parse(stdout) as { terraform_version: string };
      found.push({ name, binary, version });
    } catch {
      process.stderr.write(`skipped: tests with ${name}, which is neither on the PATH nor named in ${variable}\n`);
    }
  }
  return found;
}

/** How the host finds the provider. */
export type Installation =
  /** A directory with the executable; no init. */
  | { readonly kind: 'dev-override'; readonly directory: string }
  /** A directory laid out as a mirror; needs init. */
  | { readonly kind: 'mirror'; readonly directory: string }
  /** Served by the test itself; no init. */
  | { readonly kind: 'reattach'; readonly environment: Readonly<Record<string, string>> };

export interface WorkspaceOptions {
  readonly host: HostProgram;
  /** HOST/NAMESPACE/TYPE. */
  readonly address: string;
  readonly installation: Installation;
  /** By name, relative to the workspace. */
  readonly files?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface RunResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The objects of `-json`, one per line; or the one document that the command prints. */
  readonly messages: readonly Message[];
  /** All of them, wherever the command puts them. */
  readonly diagnostics: readonly HostDiagnostic[];
}

export interface Message {
  readonly type?: string;
  readonly diagnostic?: HostDiagnostic;
  readonly diagnostics?: readonly HostDiagnostic[];
  readonly [name: string]: unknown;
}

export interface HostDiagnostic {
  readonly severity: 'error' | 'warning';
  readonly summary: string;
  readonly detail?: string;
  readonly address?: string;
  readonly range?: {
    readonly filename: string;
    readonly start: { readonly line: number; readonly column: number };
  };
}

export interface Running {
  readonly child: ChildProcess;
  readonly result: Promise<RunResult>;
}

/** The options that tests use: no prompts, diagnostics as JSON, and a plan whose exit code says whether it is empty. */
export const COMMANDS = {
  plan: ['plan', '-json', '-input=false', '-detailed-exitcode'],
  apply: ['apply', '-json', '-input=false', '-auto-approve'],
  destroy: ['destroy', '-json', '-input=false', '-auto-approve'],
} as const;

export class Workspace {
  readonly directory: string;
  readonly #options: WorkspaceOptions;
  readonly #home: string;

  private constructor(root: string, options: WorkspaceOptions) {
    this.directory = join(root, 'work');
    this.#home = join(root, 'home');
    this.#options = options;
  }

  static async create(options: WorkspaceOptions): Promise<Workspace> {
    const root = await mkdtemp(join(tmpdir(), 'proxwright-tf-'));
    const workspace = new Workspace(root, options);
    await mkdir(workspace.directory);
    await mkdir(workspace.#home);
    await writeFile(join(workspace.#home, 'cli.tfrc'), cliConfiguration(options));
    for (const [name, text] of Object.entries(options.files ?? {})) await workspace.write(name, text);
    return workspace;
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  init(...more: string[]): Promise<RunResult> {
    return this.run(['init', '-input=false', '-no-color', ...more]);
  }

  validate(): Promise<RunResult> {
    return this.run(['validate', '-json']);
  }

  /** Code 0: nothing to do; 1: failed; 2: changes. */
  plan(...more: string[]): Promise<RunResult> {
    return this.run([...COMMANDS.plan, ...more]);
  }

  apply(...more: string[]): Promise<RunResult> {
    return this.run([...COMMANDS.apply, ...more]);
  }

  destroy(...more: string[]): Promise<RunResult> {
    return this.run([...COMMANDS.destroy, ...more]);
  }

  /** The state from `show -json`: attributes by address. */
  async state(): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
    const { stdout } = await this.run(['show', '-json']);
    const { values } = JSON.parse(stdout) as { values?: { root_module?: StateModule } };
    return new Map(resourcesOf(values?.root_module ?? {}));
  }

  run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<RunResult> {
    return this.start(args, environment).result;
  }

  /** In its own process group, as in a shell: `process.kill(-pid, 'SIGINT')` is Ctrl-C. */
  start(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Running {
    const child = spawn(this.#options.host.binary, args, {
      cwd: this.directory,
      env: { ...this.#environment(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    return { child, result: resultOf(child) };
  }

  async remove(): Promise<void> {
    await rm(dirname(this.directory), { recursive: true, force: true });
  }

  #environment(): Record<string, string> {
    const { installation, environment } = this.#options;
    return {
      ...quietEnvironment(),
      HOME: this.#home,
      TF_CLI_CONFIG_FILE: join(this.#home, 'cli.tfrc'),
      ...(installation.kind === 'reattach' && installation.environment),
      ...environment,
    };
  }
}

interface StateModule {
  readonly resources?: readonly { readonly address: string; readonly values: Readonly<Record<string, unknown>> }[];
  readonly child_modules?: readonly StateModule[];
}

function resourcesOf(module: StateModule): [string, Readonly<Record<string, unknown>>][] {
  const own = (module.resources ?? []).map(({ address, values }): [string, typeof values] => [address, values]);
  return [...own, ...(module.child_modules ?? []).flatMap(resourcesOf)];
}

/** Without user settings that could change what the host does. */
function quietEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(TF_|TOFU_|PROXMOX_|PM_|NODE_OPTIONS)/.test(entry[0]),
  );
  return { ...Object.fromEntries(entries), TF_IN_AUTOMATION: '1', CHECKPOINT_DISABLE: '1' };
}

function cliConfiguration({ address, installation }: WorkspaceOptions): string {
  if (installation.kind === 'reattach') return '';
  const path = JSON.stringify(installation.directory);
  if (installation.kind === 'dev-override') {
    return `provider_installation {\n  dev_overrides {\n    "${address}" = ${path}\n  }\n  direct {}\n}\n`;
  }
  return `provider_installation {\n  filesystem_mirror {\n    path    = ${path}\n    include = ["${address}"]\n  }\n  direct {\n    exclude = ["${address}"]\n  }\n}\n`;
}

async function resultOf(child: ChildProcess): Promise<RunResult> {
  const [stdout, stderr, code] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', resolve);
    }),
  ]);
  const messages = messagesIn(stdout);
  const diagnostics = messages.flatMap((message) => [
    ...(message.diagnostic ? [message.diagnostic] : []),
    ...(message.diagnostics ?? []),
  ]);
  return { code, stdout, stderr, messages, diagnostics };
}

async function textOf(stream: ChildProcess['stdout']): Promise<string> {
  if (stream === null) return '';
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer); // no encoding is set
  return Buffer.concat(chunks).toString('utf8');
}

function messagesIn(stdout: string): Message[] {
  const whole = parsed(stdout);
  if (whole) return [whole];
  return stdout.split('\n').flatMap((line): readonly Message[] => {
    const message = parsed(line);
    return message ? [message] : [];
  });
}

function parsed(text: string): Message | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Message; // a host's own output
  } catch {
    return undefined;
  }
}
