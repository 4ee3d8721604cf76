/** Starts an apply in a separate process and kills it with SIGKILL in the middle of its first clone. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./apply-process.ts', import.meta.url));
const LOOK_EVERY_MS = 15;

export interface Killed {
  /** How it ended; anything but SIGKILL means that it ended before the kill. */
  readonly signal: NodeJS.Signals | null;
  /** Lines of the journal that it left. */
  readonly journal: readonly string[];
  readonly output: string;
}

export async function killedApply(
  text: string,
  places: { readonly directory: string; readonly stateDirectory: string },
  environment: Readonly<Record<string, string>>,
): Promise<Killed> {
  const stackFile = join(places.directory, 'stack.json');
  writeFileSync(stackFile, text);
  const before = new Set(journals(places.stateDirectory));
  const newLines = () =>
    journals(places.stateDirectory)
      .filter((file) => !before.has(file))
      .flatMap((file) => readFileSync(file, 'utf8').split('\n').filter(Boolean));
  const child = spawn(process.execPath, ['--import', 'tsx', PROGRAM, stackFile, places.stateDirectory], {
    env: { ...process.env, ...environment },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const watch = setInterval(() => {
    if (newLines().some((line) => line.includes('"taskAttached"'))) child.kill('SIGKILL');
  }, LOOK_EVERY_MS);
  const signal = await new Promise<NodeJS.Signals | null>((resolve) => {
    child.on('close', (_code, by) => resolve(by));
  });
  clearInterval(watch);
  return { signal, journal: newLines(), output };
}

function journals(stateDirectory: string): string[] {
  const folder = join(stateDirectory, 'runs');
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    // No run has written one yet.
    return [];
  }
}
