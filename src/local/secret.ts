/** Reads secrets from environment variables, files, or the output of commands, when they are needed. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Where } from '../base/diagnostics.ts';
import { ProxwrightError } from '../base/errors.ts';
import { Secret } from '../base/secret.ts';
import type { SecretReference } from '../kinds/stack.ts';
import { readTextFile } from './text-file.ts';

const COMMAND_TIMEOUT_MS = 60_000;

/** The context in which a reference is resolved. */
export interface SecretSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The base of relative paths, and the working directory of commands. */
  readonly directory: string;
}

/** Removes the final line break, which files have but secrets do not. */
export async function readSecret(reference: SecretReference, sources: SecretSources, where?: Where): Promise<Secret> {
  const text = await follow(reference, sources, where, 'secret');
  return 'env' in reference ? text : new Secret(withoutLineEnd(text.reveal()));
}

/** Unchanged to the last byte; the reference itself may contain a text that is not secret. */
export async function readDocument(
  reference: SecretReference | { readonly text: string },
  sources: SecretSources,
  where?: Where,
): Promise<Secret> {
  return 'text' in reference ? new Secret(reference.text) : follow(reference, sources, where, 'document');
}

/** The name of the value in messages. */
type Noun = 'secret' | 'document';

async function follow(
  reference: SecretReference,
  { environment, directory }: SecretSources,
  where: Where | undefined,
  noun: Noun,
): Promise<Secret> {
  if ('env' in reference) return fromEnvironment(reference.env, environment, where, noun);
  if ('file' in reference) {
    const text = await readTextFile(
      resolve(directory, reference.file),
      `a ${noun}`,
      `Put the ${noun} there, or name another file in the stack.`,
      reference.file,
    );
    return new Secret(text);
  }
  return fromCommand(reference.command, directory, where, noun);
}

function fromEnvironment(
  name: string,
  environment: SecretSources['environment'],
  where: Where | undefined,
  noun: Noun,
): Secret {
  const value = environment[name];
  if (value) return new Secret(value);
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    ...(where && { where }),
    detail: `The environment variable ${name}, which holds a ${noun}, is not set.`,
    hint: `Set it: export ${name}=…`,
  });
}

async function fromCommand(
  command: readonly string[],
  directory: string,
  where: Where | undefined,
  noun: Noun,
): Promise<Secret> {
  const [program = '', ...args] = command;
  try {
    const { stdout } = await promisify(execFile)(program, args, { cwd: directory, timeout: COMMAND_TIMEOUT_MS });
    return new Secret(stdout);
  } catch (error) {
    // Without its output, which may contain the secret.
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'it was killed';
    throw new ProxwrightError({
      code: 'MISSING_REFERENCE',
      ...(where && { where }),
      detail: `The command "${program}", which prints a ${noun}, failed (${reason}).`,
      hint: `Run it yourself to see why, in ${directory === '.' ? 'the working directory' : directory}.`,
    });
  }
}

const withoutLineEnd = (text: string) => text.replace(/\r?\n$/, '');
