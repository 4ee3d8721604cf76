/** The entry point: connects the command line to this process, its streams, its signals and its exit code. */
import { CommanderError } from 'commander';
import { systemClock } from '../base/clock.ts';
import { isCanceled, toDiagnostic } from '../base/errors.ts';
import { ownLanguage } from '../base/hint.ts';
import { systemRandom } from '../base/random.ts';
import { KnownSecrets } from '../base/secret.ts';
import { visibleText } from '../base/text/safe-text.ts';
import { AlreadyShown, EXIT_CANCELED, type ExitCode, stackWords } from './command.ts';
import { createProgram, type RunCommand } from './program.ts';
import { chooseLogLevel, createTerminal, type Terminal, type TerminalOptions } from './terminal.ts';

const secrets = new KnownSecrets();
let terminal: Terminal = newTerminal();

function newTerminal(options: Pick<TerminalOptions, 'json' | 'level' | 'language'> = {}) {
  return createTerminal({ stdout: process.stdout, stderr: process.stderr, clock: systemClock, secrets, ...options });
}

/** Once everything written is taken: the slow reader of a pipe would lose the rest. */
function exit(code: ExitCode): void {
  // Timers that a command leaves behind, those of a simulated cluster for instance, must not keep the process alive.
  const now = () => process.exit(code);
  const busy = [process.stdout, process.stderr].filter(({ writableLength }) => writableLength > 0);
  if (busy.length === 0) now();
  // A reader that takes nothing holds the command, but not against Ctrl-C.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, now);
  let left = busy.length;
  for (const stream of busy) {
    stream.write('', () => {
      left -= 1;
      if (left === 0) now();
    });
  }
}

function fail(error: unknown): void {
  if (error instanceof AlreadyShown) {
    exit(error.exitCode);
    return;
  }
  terminal.diagnostic(toDiagnostic(error));
  exit(isCanceled(error) ? EXIT_CANCELED : 1);
}

const run: RunCommand = async (options, command, commandLine) => {
  const json = options.json === true;
  const language = ownLanguage(stackWords(options));
  terminal = newTerminal({ json, language });
  const level = chooseLogLevel(options.logLevel, process.env);
  terminal = newTerminal({ json, level, language });
  const code = await command({
    terminal,
    level,
    json,
    clock: systemClock,
    random: systemRandom,
    environment: process.env,
    directory: process.cwd(),
    commandLine,
    stdout: process.stdout,
    stderr: process.stderr,
    secrets,
    stopRequested,
    // Opened only when needed: opening standard input takes time.
    get canAsk() {
      return canAsk();
    },
    ask,
  });
  exit(code);
};

const canAsk = () => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Undefined without a terminal, and when the user gives no answer (Ctrl-D). */
async function ask(question: string): Promise<string | undefined> {
  if (!canAsk()) return undefined;
  const { createInterface } = await import('node:readline');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const noAnswer = () => lines.close();
  process.once('SIGTERM', noAnswer);
  return new Promise((resolve) => {
    lines.once('close', () => {
      process.removeListener('SIGTERM', noAnswer);
      resolve(undefined);
    });
    // While readline owns the terminal, Ctrl-C sends no signal; it counts as no answer.
    lines.once('SIGINT', noAnswer);
    lines.question(visibleText(secrets.redact(question)), (answer) => {
      resolve(answer);
      lines.close();
    });
  });
}

/** A wrapper (npx, timeout) may forward a Ctrl-C that the terminal has delivered as well: that counts once. */
const ECHO_MS = 250;

function stopRequested(): Promise<void> {
  return new Promise((resolve) => {
    let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
    const onSignal = (signal: NodeJS.Signals) => {
      const at = systemClock.ticks();
      const isEcho = first?.signal === signal && at - first.at < ECHO_MS;
      if (first && !isEcho) process.exit(EXIT_CANCELED);
      first ??= { signal, at };
      resolve();
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

for (const stream of [process.stdout, process.stderr]) {
  // The reader may have exited (`| head`), which is not a failure.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);

createProgram(run, process.argv.slice(2))
  .parseAsync(process.argv)
  .catch((error: unknown) => {
    // Help and version end this way too, with code 0; commander has printed problems with arguments.
    if (error instanceof CommanderError) exit(error.exitCode === 0 ? 0 : 1);
    else fail(error);
  });
