/** A command as it can be typed again: its options in a fixed order, without the values of variables. */
import { shellWord } from '../../base/text/shell.ts';
import { several, stackWords } from '../command.ts';
import type { PlanningOptions } from '../commands/change/plan.ts';

export interface TypedOptions extends PlanningOptions {
  readonly yes?: boolean;
  readonly verify?: boolean;
}

/** Options of any command that changes the cluster. */
export interface ResumedOptions extends PlanningOptions {
  readonly all?: boolean;
  readonly targetStorage?: string;
  readonly memory?: boolean;
  readonly description?: string;
  readonly start?: boolean;
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
    ...off('--no-hooks', options.hooks),
    ...several('--hook-again', options.hookAgain),
    ...several('--hook-done', options.hookDone),
    ...on('--allow-delete', options.allowDelete),
    ...on('--allow-restart', options.allowRestart),
    ...on('--verify', options.verify),
    ...on('--yes', options.yes),
  ];
  return words.map(shellWord).join(' ');
}

/**
 * The words of a run that are part of the command that resumes it: not the consent, and not what the run may have done
 * already, which `again` says.
 */
export function resumingWords(options: ResumedOptions, again: readonly string[] = []): string[] {
  const { targetStorage, description } = options;
  return [
    ...stackWords(options),
    ...several('--only', options.only),
    ...again,
    ...several('--destroy-data', options.destroyData),
    ...off('--no-hooks', options.hooks),
    ...on('--allow-delete', options.allowDelete),
    ...on('--all', options.all),
    ...several('--target-storage', targetStorage === undefined ? [] : [targetStorage]),
    ...on('--memory', options.memory),
    ...several('--description', description === undefined ? [] : [description]),
    ...off('--no-start', options.start),
  ];
}

function on(name: string, value: boolean | undefined): string[] {
  return value ? [name] : [];
}

/** Commander's name of `--no-hooks` is `hooks`. */
function off(name: string, value: boolean | undefined): string[] {
  return value === false ? [name] : [];
}
