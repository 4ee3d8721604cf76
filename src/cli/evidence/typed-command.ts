/** A command as it can be typed again: its options in a fixed order, without the values of variables. */
import { shellWord } from '../../base/text/shell.ts';
import type { StackOptions } from '../command.ts';
import type { PlanningOptions } from '../commands/change/plan.ts';

export interface TypedOptions extends PlanningOptions {
  readonly yes?: boolean;
  readonly verify?: boolean;
}

export function typedCommand(command: 'apply' | 'verify', options: TypedOptions, planFile?: string): string {
  const words = [
    'proxwright',
    command,
    ...(planFile === undefined ? [] : [planFile]),
    ...stackWords(options),
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

/** The options that say which stack, with which values. */
export function stackWords({ file, var: variables, varFile }: StackOptions): string[] {
  return [
    ...(file === undefined ? [] : ['--file', file]),
    ...several('--var-file', varFile),
    // Any value may be a secret.
    ...several(
      '--var',
      variables?.map((setting) => `${setting.split('=')[0]}=…`),
    ),
  ];
}

function several(name: string, values: readonly string[] = []): string[] {
  return values.flatMap((value) => [name, value]);
}
