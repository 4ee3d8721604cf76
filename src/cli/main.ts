/** The entry point: connects the command line to this process — its streams, its signals, its exit code. */
import { CommanderError } from 'commander';
import { systemClock } from '../base/clock.ts';
import { Canceled, toDiagnostic } from '../base/errors.ts';
import { EXIT_CANCELED, type ExitCode } from './command-host.ts';
import { createProgram, type RunCommand } from './program.ts';
import { chooseLogLevel, createTerminal, type Terminal } from './terminal.ts';

let terminal: Terminal = newTerminal();

function newTerminal(options: { readonly json?: boolean; readonly level?: ReturnType<typeof chooseLogLevel> } = {}) {
  return createTerminal({ stdout: process.stdout, stderr: process.stderr, clock: systemClock, ...options });
}

function exit(code: ExitCode): void {
  // What a command leaves running (timers of a simulated cluster, for instance) must not keep the process alive.
  process.exit(code);
}

function fail(error: unknown): void {
  terminal.diagnostic(toDiagnostic(error));
  exit(error instanceof Canceled ? EXIT_CANCELED : 1);
}

const run: RunCommand = async (options, command) => {
  const json = options.json === true;
  terminal = newTerminal({ json });
  const level = chooseLogLevel(options.logLevel, process.env);
  terminal = newTerminal({ json, level });
  exit(await command({ terminal, level, json, stopRequested }));
};

function stopRequested(): Promise<void> {
  return new Promise((resolve) => {
    let count = 0;
    const onSignal = () => {
      count++;
      if (count > 1) exit(EXIT_CANCELED);
      resolve();
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

for (const stream of [process.stdout, process.stderr]) {
  // The reader may have gone (`| head`); that is no reason to fail, and there is nobody left to tell.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);

try {
  await createProgram(run).parseAsync(process.argv);
} catch (error) {
  // Help and version end this way too, with code 0; complaints about arguments have been printed already.
  if (error instanceof CommanderError) exit(error.exitCode === 0 ? 0 : 1);
  else fail(error);
}
