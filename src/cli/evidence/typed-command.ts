/** A command as it can be typed again: its options in a fixed order, without the values of variables. */
import { shellWord } from '../../base/text/shell.ts';
import type { PlanningOptions } from '../commands/change/plan.ts';

export interface TypedOptions extends PlanningOptions {
  readonly yes?: boolean;
  readonly verify?: boolean;
}

export function typedCommand(command: 'apply' | 'verify', options: TypedOptions, planFile?: string): string {
  const several = (name: string, values: readonly string[] = []) => values.flatMap((value) => [name, value]);
  const words = [
    'proxwright',
    command,
    ...(planFile === undefined ? [] : [planFile]),
    ...(options.file === undefined ? [] : ['--file', options.file]),
    ...several('--var-file', options.varFile),
    // Any value may be a secret.
    ...several(
      '--var',
      options.var?.map((setting) => `${setting.split('=')[0]}=…`),
    ),
    ...several('--only', options.only),
    ...several('--replace', options.replace),
    ...several('--destroy-data', options.destroyData),
    ...(options.hooks === false ? ['--no-hooks'] : []),
    ...several('--hook-again', options.hookAgain),
    ...several('--hook-done', options.hookDone),
    ...(options.allowDelete ? ['--allow-delete'] : []),
    ...(options.allowRestart ? ['--allow-restart'] : []),
    ...(options.verify ? ['--verify'] : []),
    ...(options.yes ? ['--yes'] : []),
  ];
  return words.map(shellWord).join(' ');
}
