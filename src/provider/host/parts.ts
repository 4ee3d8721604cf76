/**
 * The parts of the bundled provider that are compiled only when they are needed (`tools/provider/bundle.ts`). The code
 * that V8 compiled is kept in the user's cache directory, so the next process neither parses nor compiles it again.
 * Nothing is written next to the provider: hosts compare the directory of a package with the hash in their lock file.
 * Without the cache, a start only takes longer.
 */
import {
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';
import { crc32, inflateRawSync } from 'node:zlib';

export interface Part {
  /** For stack traces. */
  readonly filename: string;
  /** Hash of the text. V8 does not distinguish texts of equal length. */
  readonly hash: string;
  /** The text of a `Run`, deflated, in base64. */
  readonly packed: string;
}

/** The function around a part. It is in the text already: text that is put together here would be in memory twice. */
type Run = (
  require: NodeJS.Require,
  module: NodeJS.Module,
  exports: unknown,
  loadPart: (name: string) => unknown,
) => void;

/** Follows the data of V8: the text that it belongs to, its length, its uses, and a checksum. */
const NUMBER_BYTES = 4;
/** How many versions and parts to keep; older ones are removed. */
const KEPT_FILES = 12;

let uses = 0;

/**
 * Notes what this process does with the code, as a number below 32. V8 compiles a function when it is first called, so a process that
 * does something new leaves code that the next one can use.
 */
export function noteUse(use: number): void {
  uses |= 1 << use;
}

/** Loads the parts of one bundle by their names. `require` is the bundle's. */
export function partLoader(parts: Readonly<Record<string, Part>>, require: NodeJS.Require): (name: string) => unknown {
  const loaded = new Map<string, { exports: unknown }>();
  const loadPart = (name: string): unknown => {
    const before = loaded.get(name);
    if (before) return before.exports;
    const part = parts[name];
    if (part === undefined) throw new Error(`The bundle has no part ${name}.`);
    const module = { exports: {} as unknown };
    loaded.set(name, module);
    // A part uses only `exports` of a module.
    compiled(part)(require, module as NodeJS.Module, module.exports, loadPart);
    return module.exports;
  };
  return loadPart;
}

function compiled({ filename, hash, packed }: Part): Run {
  const directory = process.env.NODE_DISABLE_COMPILE_CACHE ? undefined : cacheDirectory();
  // By what the process was first asked for: unpacking what V8 compiled takes time, and a process that only validates
  // needs a third of what a plan needs.
  const path = directory && join(directory, `${hash}-${process.versions.v8}-${process.arch}-${uses}.part`);
  const kept = path === undefined ? undefined : readKept(path);
  // The bundler writes ASCII only, which is the least work to read.
  const text = kept?.text ?? inflateRawSync(Buffer.from(packed, 'base64')).toString('latin1');
  const script = new Script(text, { filename, ...(kept && { cachedData: kept.data }) });
  // V8 refuses code that another version, or one with other flags, left here.
  const known = kept && !script.cachedDataRejected ? kept.uses : undefined;
  process.on('exit', () => {
    if (path !== undefined && (known === undefined || (uses & ~known) !== 0))
      keep(path, { script, text, uses: uses | (known ?? 0) });
  });
  return script.runInThisContext() as Run; // the bundler made it
}

/**
 * Code is run from there, so only the user may have access. Undefined if others have access, or if it cannot be
 * created.
 */
function cacheDirectory(): string | undefined {
  try {
    const directory = join(userCache(), 'proxwright', 'compiled');
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return isOurs(lstatSync(directory)) ? directory : undefined;
  } catch {
    return undefined;
  }
}

function userCache(): string {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (XDG_CACHE_HOME) return XDG_CACHE_HOME;
  if (process.platform === 'win32' && LOCALAPPDATA) return LOCALAPPDATA;
  return process.platform === 'darwin' ? join(homedir(), 'Library', 'Caches') : join(homedir(), '.cache');
}

/** Windows has no owners and modes of this kind; there the directory is in the user's profile. */
function isOurs({ uid, mode }: { readonly uid: number; readonly mode: number }): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
}

interface Kept {
  readonly data: Buffer;
  readonly text: string;
  readonly uses: number;
}

/** V8 does not notice a flipped bit and crashes, so a checksum follows its data. */
function readKept(path: string): Kept | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      if (!isOurs(fstatSync(file))) return undefined;
      const bytes = readFileSync(file);
      const end = bytes.length - 3 * NUMBER_BYTES;
      const [length, uses, checksum] = [0, 1, 2].map((place) => bytes.readUInt32BE(end + place * NUMBER_BYTES));
      if (length === undefined || uses === undefined) return undefined;
      if (checksum !== crc32(bytes.subarray(0, -NUMBER_BYTES))) return undefined;
      const start = end - length;
      return { data: bytes.subarray(0, start), text: bytes.toString('latin1', start, end), uses };
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

function keep(path: string, { script, text, uses: used }: Omit<Kept, 'data'> & { readonly script: Script }): void {
  const unfinished = `${path}.${process.pid}`;
  try {
    const parts = [script.createCachedData(), Buffer.from(text, 'latin1'), number(text.length), number(used)];
    const checked = Buffer.concat(parts);
    writeFileSync(unfinished, Buffer.concat([checked, number(crc32(checked))]), { mode: 0o600 });
    renameSync(unfinished, path);
    forgetOldest(dirname(path));
  } catch {
    // Full, or read-only: then it is compiled again next time.
    rmSync(unfinished, { force: true });
  }
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

function forgetOldest(directory: string): void {
  const files = readdirSync(directory).map((name) => join(directory, name));
  const age = (path: string) => statSync(path).mtimeMs;
  const byAge = files.map((path) => ({ path, at: age(path) })).sort((a, b) => b.at - a.at);
  for (const { path } of byAge.slice(KEPT_FILES)) rmSync(path, { force: true });
}
