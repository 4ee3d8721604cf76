/** What was typed, as the journal records it: options in the order of the list of commands, without what may be secret. */
import type { Command } from 'commander';
import { shellWord } from '../base/text/shell.ts';

/** `given` are the arguments of the command, in their order. */
export function commandLineOf(command: Command, given: readonly unknown[], options: object): string {
  const values: Readonly<Record<string, unknown>> = { ...options };
  const words = [
    ...namesOf(command),
    ...given.flatMap((value) => textsOf(value).map(withoutPassword)),
    ...command.options.flatMap((option) => {
      const name = option.attributeName();
      if (command.getOptionValueSourceWithGlobals(name) !== 'cli') return [];
      const flag = option.long ?? option.flags;
      const value = values[name];
      if (option.negate) return value === false ? [flag] : [];
      if (value === true) return [flag];
      return textsOf(value).flatMap((text) => [flag, flag === '--var' ? withoutValue(text) : withoutPassword(text)]);
    }),
  ];
  return words.map(shellWord).join(' ');
}

function namesOf(command: Command): string[] {
  return [...(command.parent ? namesOf(command.parent) : []), command.name()];
}

function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return typeof value === 'string' ? [value] : [];
}

/** Any variable may be a secret. */
const withoutValue = (setting: string) => `${setting.split('=')[0]}=…`;

/** `postgres://user:…@host`, and the secret of a token. */
function withoutPassword(text: string): string {
  return text.replace(/(:\/\/[^/\s:@]*):[^/\s]*@/g, '$1:…@').replace(/(![\w.-]+=).+/g, '$1…');
}
