/** Which VMs the user wants to adopt: by options, or asked on the terminal. */
import { canceled, ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import type { Choice, Guest } from '../../../kinds/vm/adopt/survey.ts';
import { badOption, type CommandDeps } from '../../command.ts';
import type { AdoptView } from '../../views/adopt.ts';

export interface ChoiceOptions {
  readonly pool?: readonly string[];
  readonly tag?: readonly string[];
  readonly node?: readonly string[];
  readonly name?: readonly string[];
  readonly ids?: readonly string[];
  readonly all?: boolean;
}

const EVERYTHING: Choice = { pools: [], tags: [], nodes: [], names: [], ids: [] };

export async function choiceOf(
  options: ChoiceOptions,
  guests: readonly Guest[],
  deps: CommandDeps,
  view: AdoptView,
): Promise<Choice> {
  const { pool = [], tag = [], node = [], name = [], ids = [], all = false } = options;
  const given = { pools: pool, tags: tag, nodes: node, names: name, ids: ids.map(idRange) };
  if (all || Object.values(given).some(({ length }) => length > 0)) return given;
  if (!deps.canAsk) throw needsChoice();
  view.guests(guests);
  const answer = await deps.ask('Which VMs? "all", or names, patterns and ids such as web-* 100-199: ');
  return wordsOf(answer ?? '');
}

function wordsOf(answer: string): Choice {
  const words = answer.split(/[\s,]+/).filter((word) => word !== '');
  if (words.length === 0) throw canceled('Nothing was changed.');
  if (words.includes('all')) return EVERYTHING;
  const isId = (word: string) => /^\d+(-\d+)?$/.test(word);
  const [ids, names] = [words.filter(isId), words.filter((word) => !isId(word))];
  // A list of ids and names means any of them.
  return { ...EVERYTHING, names, ids: ids.map(idRange), ...(names.length > 0 && ids.length > 0 && { either: true }) };
}

function idRange(text: string): readonly [number, number] {
  const [, first, last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text.trim()) ?? [];
  if (first !== undefined && Number(first) <= Number(last)) return [Number(first), Number(last)];
  throw badOption('--ids', `"${text}" is neither an id nor a range of ids.`, 'For example: --ids 100-199');
}

function needsChoice(): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: 'proxwright adopt' },
    detail: 'The command does not say which VMs to adopt, and there is no terminal to ask on.',
    hint: advice`Choose them: ${command('adopt', '--pool', 'POOL')}. Other ways: --tag, --node, --name, --ids, or --all.`,
  });
}
