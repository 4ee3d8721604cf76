/**
 * Keeps what V8 has compiled of the command beside it, in `dist/cli/compiled`: the next start neither parses nor compiles it
 * again, which is most of what a short command costs. Whoever can write there can change the command itself, so nothing
 * is gained by planting something. Where the directory cannot be written, starts take longer, and that is all.
 */
const { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { basename, dirname, join } = require('node:path');
const { Script } = require('node:vm');
const { crc32 } = require('node:zlib');

/** V8 tells texts of one length apart by nothing, so only files with a hash of their contents in the name are kept. */
const HASHED = /-[0-9A-Z]{8}\.cjs$/;

const CHECKSUM_BYTES = 4;

/** `directory` holds the chunks of the command. */
exports.keepCompiled = (directory) => {
  if (process.env.NODE_DISABLE_COMPILE_CACHE) return;
  const kept = join(directory, 'compiled');
  // Node 22 can do it by itself.
  if (Module.enableCompileCache) Module.enableCompileCache(kept);
  else loadWith(directory, join(kept, `v8-${process.versions.v8}-${process.arch}`));
};

function loadWith(directory, kept) {
  const compiled = [];
  const load = require.extensions['.js'];
  require.extensions['.cjs'] = (module, filename) => {
    if (dirname(filename) !== directory || !HASHED.test(filename)) return load(module, filename);
    const path = join(kept, `${basename(filename)}.bin`);
    const cachedData = readUndamaged(path);
    // The build writes nothing but ASCII, which is read sooner this way.
    const script = new Script(Module.wrap(readFileSync(filename, 'latin1')), { filename, cachedData });
    // V8 refuses what another version, or one with other flags, has left here.
    if (!cachedData || script.cachedDataRejected) compiled.push({ path, script });
    const requireFrom = (name) => (HASHED.test(name) ? chunk(name, module) : module.require(name));
    script.runInThisContext().call(module.exports, module.exports, requireFrom, module, filename, directory);
  };
  // Chunks name each other in full, so the search that Node makes for a module is left out.
  const chunk = (name, parent) => {
    const filename = join(directory, name);
    const known = require.cache[filename];
    if (known) return known.exports;
    const module = new Module(filename, parent);
    module.filename = filename;
    module.paths = parent.paths;
    require.cache[filename] = module;
    require.extensions['.cjs'](module, filename);
    module.loaded = true;
    return module.exports;
  };
  // At the end: by then the functions that were needed have been compiled too.
  process.on('exit', () => keep(kept, compiled));
}

/** V8 does not notice a flipped bit and crashes over it, so a checksum follows its data. */
function readUndamaged(path) {
  try {
    const bytes = readFileSync(path);
    const data = bytes.subarray(0, -CHECKSUM_BYTES);
    return bytes.readUInt32BE(data.length) === crc32(data) ? data : undefined;
  } catch {
    return undefined;
  }
}

function checksum(data) {
  const bytes = Buffer.alloc(CHECKSUM_BYTES);
  bytes.writeUInt32BE(crc32(data));
  return bytes;
}

function keep(directory, compiled) {
  if (compiled.length === 0) return;
  let unfinished;
  try {
    mkdirSync(directory, { recursive: true });
    for (const { path, script } of compiled) {
      unfinished = `${path}.${process.pid}`;
      const data = script.createCachedData();
      writeFileSync(unfinished, Buffer.concat([data, checksum(data)]));
      renameSync(unfinished, path);
    }
  } catch {
    // Read-only, full, or another user's: then it is compiled again next time.
    if (unfinished) rmSync(unfinished, { force: true });
  }
}
