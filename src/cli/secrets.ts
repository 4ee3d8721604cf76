/** Where secrets come from: environment variables, files, the output of commands. They are read when they are needed. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Address } from '../base/address.ts';
import type { Where } from '../base/diagnostics.ts';
import { SpecError, StateError } from '../base/errors.ts';
import { randomHex } from '../base/random.ts';
import { Secret } from '../base/secret.ts';
import { whereOf } from '../engine/where.ts';
import { secretDigest } from '../resources/vm/secret-digest.ts';
import type { ResolvedSecret } from '../resources/vm/wanted.ts';
import type { SecretReference } from '../spec/index.ts';
import type { StateStore } from '../state/store.ts';
import type { CommandHost } from './command-host.ts';
import { readTextFile } from './files.ts';
import type { StackHost } from './opened-stack.ts';

const SALT_FILE = 'salt';
const COMMAND_TIMEOUT_MS = 60_000;
const PASSWORD_FIELD = 'cloud_init.password';

export type SecretsByVm = ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>;

/** Every secret of the stack's VMs, by VM and field path, each source read once. */
export async function resolveSecrets(stackHost: StackHost, host: CommandHost): Promise<SecretsByVm> {
  const wanted = stackHost.stack.vms.flatMap((vm) => {
    const reference = vm.fields.cloud_init?.password;
    return reference ? [{ vm, reference }] : [];
  });
  if (wanted.length === 0) return new Map();
  const salt = await saltOf(stackHost.store, host);
  const known = new Map<string, ResolvedSecret>();
  const result = new Map<Address, ReadonlyMap<string, ResolvedSecret>>();
  for (const { vm, reference } of wanted) {
    const source = JSON.stringify(reference);
    let resolved = known.get(source);
    if (!resolved) {
      const value = await readSecret(reference, stackHost, host, whereOf(vm, PASSWORD_FIELD));
      resolved = { value, digest: secretDigest(salt, value) };
      known.set(source, resolved);
    }
    result.set(vm.address, new Map([[PASSWORD_FIELD, resolved]]));
  }
  return result;
}

/** Kept with the state, because digests can only be compared under the same salt. */
async function saltOf(store: StateStore, host: CommandHost): Promise<string> {
  const kept = (await store.read(SALT_FILE))?.trim();
  if (kept) return kept;
  const salt = randomHex(host.random.fork('salt'), 32);
  await store.write(SALT_FILE, `${salt}\n`).catch((error: unknown) => {
    // Looking is allowed where nothing can be written; whatever changes something needs the directory anyway.
    if (!(error instanceof StateError)) throw error;
    host.terminal.log('debug', 'The salt of secrets cannot be kept.', { reason: error.diagnostic.detail });
  });
  return salt;
}

export async function readSecret(
  reference: SecretReference,
  { directory }: Pick<StackHost, 'directory'>,
  host: CommandHost,
  where?: Where,
): Promise<Secret> {
  if ('env' in reference) return fromEnvironment(reference.env, host, where);
  if ('file' in reference) {
    const text = await readTextFile(resolve(directory, reference.file), 'a secret', undefined, reference.file);
    return new Secret(withoutLineEnd(text));
  }
  return fromCommand(reference.command, directory, where);
}

function fromEnvironment(name: string, host: CommandHost, where: Where | undefined): Secret {
  const value = host.environment[name];
  if (value) return new Secret(value);
  throw new SpecError({
    code: 'MISSING_REFERENCE',
    ...(where && { where }),
    detail: `The environment variable ${name}, which holds a secret, is not set.`,
    hint: `Set it: export ${name}=…`,
  });
}

async function fromCommand(command: readonly string[], directory: string, where: Where | undefined): Promise<Secret> {
  const [program = '', ...args] = command;
  try {
    const { stdout } = await promisify(execFile)(program, args, { cwd: directory, timeout: COMMAND_TIMEOUT_MS });
    return new Secret(withoutLineEnd(stdout));
  } catch (error) {
    // What it printed is left out: it may contain the secret.
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'it was ended';
    throw new SpecError({
      code: 'MISSING_REFERENCE',
      ...(where && { where }),
      detail: `The command "${program}", which prints a secret, failed (${reason}).`,
      hint: 'Run it by hand in the directory of the stack file to see why.',
    });
  }
}

const withoutLineEnd = (text: string) => text.replace(/\r?\n$/, '');
