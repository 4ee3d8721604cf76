/** `proxwright drift`: what others changed since the last apply. What the file changed is left to `plan`. */
import type { CommandHost, ExitCode } from '../command-host.ts';
import { driftsOf } from '../drifts.ts';
import { openAndLook } from '../read-only-plan.ts';
import type { StackOptions } from '../stack-options.ts';
import { renderDrift } from '../views/drift-view.ts';
import { paintFor } from '../views/paint.ts';

export interface DriftOptions extends StackOptions {
  readonly only?: readonly string[];
  readonly exitCode?: boolean;
}

export async function runDrift(options: DriftOptions, host: CommandHost): Promise<ExitCode> {
  const sight = await openAndLook(options, host, { only: options.only ?? [] });
  const drifts = driftsOf(sight);
  if (host.json) host.terminal.result(JSON.stringify({ stack: sight.stack.name, drifts }));
  else for (const line of renderDrift(drifts, paintFor(host.stdout))) host.terminal.result(line);
  return options.exitCode && drifts.length > 0 ? 2 : 0;
}
