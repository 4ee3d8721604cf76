/**
 * Loaded before the built command (`node --require`): its code then meets the paths and the file system of Windows on any
 * machine. `C:\project\stack.yaml` is `/project/stack.yaml` here. A name that Windows refuses does not exist, a directory
 * cannot be flushed to disk, and there is no /proc. Node itself keeps the real modules. Not imitated: file locks between
 * processes, access lists, and programs that are started.
 */
const Module = require('node:module');
const nodePath = require('node:path');
const { sep } = nodePath;
const fs = require('node:fs');

const COMMAND = nodePath.join(__dirname, '..', '..', '..', 'dist');
const FORBIDDEN = /[<>:"|?*\p{Cc}]|[ .]$/u;
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
/** Calls whose second argument is a path as well. */
const TWO_PATHS = new Set(['rename', 'copyFile', 'link', 'cp']);

const toWindows = (path) => `C:${path.replaceAll('/', '\\')}`;

/** The real path of one that the command names; complains as Windows does. */
function real(path, call) {
  if (typeof path !== 'string') return path;
  const parts = path.replace(/^[A-Za-z]:/, '').split(/[\\/]/);
  const bad = parts.find((part) => part !== '.' && part !== '..' && (FORBIDDEN.test(part) || RESERVED.test(part)));
  if (bad !== undefined) throw failure('ENOENT', call, path);
  const translated = parts.join(sep);
  if (/^\/(proc|dev|etc)(\/|$)/.test(translated)) throw failure('ENOENT', call, path);
  return translated;
}

function failure(code, call, path) {
  return Object.assign(new Error(`${code}: refused by Windows, ${call} '${path}'`), { code, syscall: call, path });
}

function withWindowsPaths(functions, isAsync) {
  const wrapped = {};
  for (const [name, value] of Object.entries(functions)) {
    if (typeof value !== 'function' || /^[A-Z]/.test(name)) wrapped[name] = value;
    else wrapped[name] = wrap(name, value, isAsync);
  }
  return wrapped;
}

function wrap(name, call, isAsync) {
  const plain = name.replace(/Sync$/, '');
  const translated = (args) =>
    args.map((arg, index) => (index === 0 || (index === 1 && TWO_PATHS.has(plain)) ? real(arg, plain) : arg));
  const result = (value) => (typeof value === 'string' && /^(realpath|mkdtemp)/.test(name) ? toWindows(value) : value);
  if (!isAsync) return (...args) => result(call(...translated(args)));
  return async (...args) => {
    const value = await call(...translated(args));
    return name === 'open' ? unflushable(value) : result(value);
  };
}

/** Windows flushes files, not directories. */
async function unflushable(handle) {
  if (!(await handle.stat()).isDirectory()) return handle;
  handle.sync = () => Promise.reject(failure('EPERM', 'fsync', ''));
  return handle;
}

const promises = withWindowsPaths(fs.promises, true);
const replaced = new Map([
  ['path', nodePath.win32],
  ['fs/promises', promises],
  ['fs', { ...withWindowsPaths(fs, false), promises }],
]);

const load = Module._load;
Module._load = function (request, parent, ...rest) {
  const isOurs = parent?.filename?.startsWith(COMMAND) === true;
  return (isOurs && replaced.get(request.replace(/^node:/, ''))) || load.call(this, request, parent, ...rest);
};

const cwd = toWindows(process.cwd());
process.cwd = () => cwd;
Object.defineProperty(process, 'platform', { value: 'win32' });
