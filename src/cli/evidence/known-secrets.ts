/** The secrets that a command has read, which must not appear in any file it writes. */
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { Secret } from '../../base/secret.ts';
import { readTextFile } from '../../local/text-file.ts';
import type { CommandDeps, StackOptions } from '../command.ts';
import { variableFilesOf } from '../stack/open.ts';
import type { SecretsByVm } from '../stack/secrets.ts';

/** Variables that hold secrets. Of a token, only the part after its id is secret. */
const CREDENTIALS = [
  'PROXMOX_VE_API_TOKEN',
  'PM_API_TOKEN_SECRET',
  'PROXMOX_VE_PASSWORD',
  'PROXMOX_VE_OTP',
  'PM_PASS',
  'PM_OTP',
  'PROXMOX_VE_ADMIN_TOKEN',
] as const;

const VARIABLE_PREFIX = 'PROXWRIGHT_VAR_';
/** Shorter values are not treated as secrets: redacting every `1` would make the text unreadable. */
const SHORTEST = 4;

export interface SecretPlaces {
  readonly options: StackOptions;
  /** The stack file, as messages name it. */
  readonly file: string;
  readonly secrets: SecretsByVm;
}

export async function knownSecrets({ options, file, secrets }: SecretPlaces, deps: CommandDeps): Promise<Secret[]> {
  const ofVms = [...secrets.values()].flatMap((fields) => [...fields.values()].map(({ value }) => value));
  const ofServer = CREDENTIALS.flatMap((name) => deps.environment[name] ?? []).flatMap((value) => {
    const [, behindName] = /^[^=]+![^=]+=(.+)$/.exec(value) ?? [];
    return [new Secret(behindName ?? value)];
  });
  const ofVariables = await sensitiveValues(options, file, deps);
  return [...ofVms, ...ofServer, ...ofVariables.map((value) => new Secret(value))];
}

/** Values of variables that the stack declares as sensitive, from every source. */
async function sensitiveValues(options: StackOptions, file: string, deps: CommandDeps): Promise<string[]> {
  const declared = Object.entries(await mapIn(file, deps, 'variables')).filter(([, each]) => isSensitive(each));
  const named = await variableFilesOf(options, file, deps.directory);
  const files = await Promise.all(named.map((name) => mapIn(name, deps)));
  const values = declared.flatMap(([name, declaration]) => [
    ...(options.var ?? [])
      .filter((setting) => setting.startsWith(`${name}=`))
      .map((each) => each.slice(name.length + 1)),
    ...files.map((each) => each[name]),
    deps.environment[`${VARIABLE_PREFIX}${name}`],
    isRecord(declaration) ? declaration.default : undefined,
  ]);
  return values.flatMap(leaves).filter((value) => value.length >= SHORTEST);
}

/** An unreadable file is empty here; it is reported where it is used. */
async function mapIn(file: string, deps: CommandDeps, key?: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const content: unknown = parse(await readTextFile(resolve(deps.directory, file), 'a file'));
    const part = key === undefined ? content : isRecord(content) ? content[key] : undefined;
    return isRecord(part) ? part : {};
  } catch {
    return {};
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isSensitive = (declaration: unknown) => isRecord(declaration) && declaration.sensitive === true;

function leaves(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  if (typeof value === 'object') return Object.values(value).flatMap(leaves);
  return [String(value)];
}
