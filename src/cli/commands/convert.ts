/** `proxwright convert`: a tree of Terraform files for bpg or Telmate, converted; and the traps in it. */
import { chmod, cp, lstat, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { ProxwrightError } from '../../base/errors.ts';
import {
  type Conversion,
  convertFiles,
  type FieldsOf,
  type Files,
  type Finding,
  knownResources,
  lintModules,
  readModules,
  readState,
  type StateResource,
  stackOf,
} from '../../convert/index.ts';
import { checkConfiguration } from '../../provider/check.ts';
import type { CommandDeps, ExitCode, GlobalOptions } from '../command.ts';
import { stackNameOf } from '../stack/read.ts';
import { type ConvertView, convertView, type SkippedFile } from '../views/convert.ts';
import { unwritable } from '../write-file.ts';

export interface ConvertOptions extends GlobalOptions {
  readonly out?: string;
  readonly inPlace?: boolean;
  readonly lintOnly?: boolean;
  readonly format?: string;
  readonly state?: string;
}

export async function runConvert(
  given: string | undefined,
  options: ConvertOptions,
  deps: CommandDeps,
): Promise<ExitCode> {
  if (options.out !== undefined && options.inPlace) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: '`--out` and `--in-place` cannot be used together.',
      hint: 'Use one of them.',
    });
  }
  const root = resolve(deps.directory, given ?? '.');
  const view = convertView(deps);
  const { files, skipped, others } = await readTree(root);
  if (options.lintOnly) {
    const traps = lintModules(readModules(files));
    view.linted(traps, skipped);
    return traps.length > 0 || skipped.length > 0 ? 2 : 0;
  }
  const state =
    options.state === undefined ? undefined : await stateIn(resolve(deps.directory, options.state), options.state);
  const conversion = withRefusals(files, convertFiles(files, state, others), state);
  const traps = lintModules(conversion.modules);
  if (options.format === 'stack') return writeStack({ root, files, skipped, state, conversion, options, deps, view });
  const target = options.inPlace ? root : options.out === undefined ? undefined : resolve(deps.directory, options.out);
  const backup = await write(root, target, conversion);
  view.converted({
    directory: given ?? '.',
    ...(target !== undefined && { target: relative(deps.directory, target) || '.' }),
    ...(backup !== undefined && { backup: relative(deps.directory, backup) }),
    conversion,
    traps,
    skipped,
  });
  const isWhole = conversion.findings.every(({ kind }) => kind !== 'left' && kind !== 'review');
  return isWhole && skipped.length === 0 ? 0 : 2;
}

interface StackWork {
  readonly root: string;
  readonly files: Files;
  readonly skipped: readonly SkippedFile[];
  readonly state: readonly StateResource[] | undefined;
  readonly conversion: Conversion;
  readonly options: ConvertOptions;
  readonly deps: CommandDeps;
  readonly view: ConvertView;
}

/** A stack file with every value computed. */
async function writeStack(work: StackWork): Promise<ExitCode> {
  const { root, files, skipped, state, conversion, options, deps, view } = work;
  const all = new Map([...files, ...conversion.changed]);
  const stack = stackOf({ files: all, name: stackNameOf(basename(root)), fieldsOf, ...(state && { state }) });
  const findings = [...conversion.findings.filter(({ kind }) => kind === 'left'), ...stack.findings];
  if (options.out !== undefined) {
    const target = resolve(deps.directory, options.out);
    await refuseExisting(target);
    await writeFile(target, stack.text, { flag: 'wx' }).catch((error: unknown) => {
      throw unwritable(target, error);
    });
  }
  view.stack({ ...(options.out !== undefined && { target: options.out }), text: stack.text, findings, skipped });
  return findings.length === 0 && skipped.length === 0 ? 0 : 2;
}

async function stateIn(path: string, shown: string): Promise<readonly StateResource[]> {
  const state = readState(await readText(path, shown));
  if (state) return state;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    detail: 'This is neither a state file nor what "terraform show -json" prints.',
    where: { file: shown },
    hint: 'Write it with: terraform show -json > state.json',
  });
}

/** Larger files are no configurations. */
const MAX_BYTES = 5_000_000;
const MAX_FILES = 10_000;

interface Tree {
  readonly files: Files;
  readonly skipped: readonly SkippedFile[];
  /** Paths of all other files. */
  readonly others: readonly string[];
}

/** Directories whose names begin with a dot hold providers, modules and history. A link to a file counts as a file, as for Terraform. */
async function readTree(root: string): Promise<Tree> {
  const files = new Map<string, string>();
  const skipped: SkippedFile[] = [];
  const others: string[] = [];
  try {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    for (const entry of entries) {
      const path = relative(root, join(entry.parentPath, entry.name));
      const shown = path.split(sep).join('/');
      if (path.split(sep).some((part) => part.startsWith('.'))) continue;
      const isLink = entry.isSymbolicLink();
      const real = isLink ? await stat(join(root, path)).catch(() => undefined) : entry;
      if (isLink && real?.isDirectory()) skipped.push({ path: shown, why: LINKED_DIRECTORY });
      if (!/\.(tf|tofu|tf\.json|tofu\.json|tfvars)$/.test(entry.name)) {
        others.push(shown);
        continue;
      }
      if (isLink && !real) skipped.push({ path: shown, why: 'It is a link to a file that does not exist.' });
      if (!real?.isFile()) continue;
      if (/\.json$/.test(entry.name)) skipped.push({ path: shown, why: JSON_SYNTAX });
      else files.set(shown, await readText(join(root, path), path));
    }
  } catch (error) {
    if (error instanceof ProxwrightError) throw error;
    throw new ProxwrightError({
      code: 'UNREADABLE_FILE',
      detail: `The operating system says: "${error instanceof Error ? error.message : String(error)}".`,
      where: { file: root },
      hint: 'Name the directory of the configuration.',
      cause: error,
    });
  }
  const isNone = ![...files.keys()].some((path) => /\.(tf|tofu)$/.test(path));
  const isJson = skipped.some(({ why }) => why === JSON_SYNTAX);
  if (isNone || files.size > MAX_FILES) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: !isNone
        ? `The directory has more than ${MAX_FILES} files.`
        : isJson
          ? 'The directory has Terraform files in JSON syntax only, and convert reads HCL.'
          : 'The directory has no Terraform files.',
      where: { file: root },
      hint:
        isNone && isJson
          ? 'If a tool writes these files, change what it reads. To take over the VMs themselves: proxwright adopt --format terraform'
          : 'Name the directory of the configuration.',
    });
  }
  return { files, skipped, others };
}

const JSON_SYNTAX = 'It has the JSON syntax, and convert reads HCL. The file stays as it is.';
const LINKED_DIRECTORY = 'It is a link to a directory. Convert that directory by itself.';

async function readText(path: string, shown: string): Promise<string> {
  const bytes = await readFile(path);
  const text = bytes.toString('utf8');
  if (bytes.length <= MAX_BYTES && Buffer.from(text, 'utf8').equals(bytes)) return text;
  throw new ProxwrightError({
    code: 'UNREADABLE_FILE',
    detail: bytes.length > MAX_BYTES ? 'The file is too large.' : 'The file is not UTF-8.',
    where: { file: shown },
    hint: 'Move it out of the directory.',
  });
}

/** Where the former files are: in a directory that Terraform does not look into. */
const BACKUP = '.before-convert';

async function write(
  root: string,
  target: string | undefined,
  { changed }: Pick<Conversion, 'changed'>,
): Promise<string | undefined> {
  if (target === undefined) return undefined;
  const isInPlace = target === root;
  const backup = join(root, BACKUP);
  await refuseExisting(isInPlace ? backup : target);
  try {
    if (!isInPlace) await copyTree(root, target);
    else for (const path of changed.keys()) await keep(join(root, path), join(backup, path));
  } catch (error) {
    await rm(isInPlace ? backup : target, { recursive: true, force: true });
    throw unwritable(target, error);
  }
  const written: string[] = [];
  try {
    for (const [path, text] of changed) {
      const file = join(target, path);
      await mkdir(dirname(file), { recursive: true });
      written.push(path);
      await replace(file, text);
    }
  } catch (error) {
    if (isInPlace) for (const path of written) await putBack(join(backup, path), join(root, path));
    // Half of a new directory would be refused by the next run. It was empty or absent before.
    await rm(isInPlace ? backup : target, { recursive: true, force: true });
    throw unwritable(target, error);
  }
  return isInPlace && changed.size > 0 ? backup : undefined;
}

/** A link becomes a file: what it leads to may belong to another configuration. */
async function replace(file: string, text: string): Promise<void> {
  const found = await lstat(file).catch(() => undefined);
  if (found?.isSymbolicLink()) await rm(file);
  await writeFile(file, text);
}

/** After a failure, so that no half of a configuration is new. */
async function putBack(kept: string, file: string): Promise<void> {
  await rm(file, { force: true }).catch(() => undefined);
  if (await lstat(kept).catch(() => undefined)) await cp(kept, file, { verbatimSymlinks: true }).catch(() => undefined);
}

async function refuseExisting(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found) return;
  const isEmpty = found.isDirectory() && (await readdir(path)).length === 0;
  if (isEmpty) return;
  throw new ProxwrightError({
    code: 'UNWRITABLE_FILE',
    detail: 'It exists already, and convert overwrites nothing.',
    where: { file: path },
    hint: 'Name another directory, or remove this one.',
  });
}

/** Everything but what `terraform init` downloads. A state is included, because the `moved` blocks need it. */
async function copyTree(root: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await copyInto(root, target, target);
  for (const name of await readdir(target)) {
    if (/\.tfstate(\.backup)?$/.test(name)) await chmod(join(target, name), 0o600);
  }
}

const isDownloaded = (path: string): boolean => ['.terraform', '.git', '.terraform.lock.hcl'].includes(basename(path));

/** The target may be inside of the source, and must not copy itself: directories above it are copied entry by entry. */
async function copyInto(from: string, to: string, target: string): Promise<void> {
  for (const name of await readdir(from)) {
    const [source, copy] = [join(from, name), join(to, name)];
    if (source === target || isDownloaded(source)) continue;
    if (target.startsWith(`${source}${sep}`)) {
      await mkdir(copy, { recursive: true });
      await copyInto(source, copy, target);
      continue;
    }
    await cp(source, copy, {
      recursive: true,
      // Links lead to the same place from the copy as far as that is a part of it.
      verbatimSymlinks: true,
      filter: (path) => !isDownloaded(path),
    });
  }
}

async function keep(from: string, to: string): Promise<void> {
  if (!(await lstat(from).catch(() => undefined))) return;
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { verbatimSymlinks: true });
}

type Kind = Parameters<typeof checkConfiguration>[0];

/** A conversion with a finding for whatever the provider refuses of it: once for a resource, however many instances have it. */
export function withRefusals(
  files: Files,
  conversion: Conversion,
  state: readonly StateResource[] | undefined,
): Conversion {
  const { changed, modules } = conversion;
  const found = new Map<string, Finding>();
  for (const resource of knownResources({ files: new Map([...files, ...changed]), modules, state })) {
    const { type, attributes, file, subject } = resource;
    for (const { path, detail } of checkConfiguration(type as Kind, attributes).problems) {
      const key = [file, subject, path].join('\n');
      if (found.has(key)) continue;
      const why = `Proxwright refuses this: ${detail}`;
      found.set(key, { kind: 'review', file, line: resource.lineOf(path), subject, what: path || type, why });
    }
  }
  const order = (a: Finding, b: Finding) => a.file.localeCompare(b.file) || a.line - b.line;
  return { ...conversion, findings: [...conversion.findings, ...found.values()].sort(order) };
}

/** The values of a resource as fields of a stack file. */
export const fieldsOf: FieldsOf = (type, attributes) =>
  checkConfiguration(type as Kind, attributes).fields as ReturnType<FieldsOf>; // plain data, as it was given
