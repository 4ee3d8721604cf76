/**
 * The examples that `init` copies. Their files are in `examples/` of this package; this table has what the files cannot
 * express.
 */
import { closest } from '../base/text/closest.ts';
import { badOption } from './command.ts';
import { exampleFiles } from './package.ts';

interface ExampleFacts {
  /** The simulated world it runs on. */
  readonly world: 'default' | 'bare';
  /** Files with secrets that you create yourself; they must not be committed. */
  readonly secrets?: readonly string[];
}

export interface Example extends ExampleFacts {
  /** Text by file name; the stack file comes first. */
  readonly files: ReadonlyMap<string, string>;
}

export const STACK_FILE = 'stack.yaml';

export const EXAMPLES: Readonly<Record<string, ExampleFacts>> = {
  ubuntu: { world: 'default' },
  'from-bare-host': { world: 'bare' },
  'ubuntu-staggered': { world: 'default' },
  'k3s-dev': { world: 'default' },
  'rancher-5': { world: 'default' },
  'talos-single-host': { world: 'bare' },
  'talos-rolling': { world: 'bare' },
  'talos-iso-template': { world: 'bare', secrets: ['secrets.yaml', 'worker.yaml'] },
};

export const EXAMPLE_NAMES = Object.keys(EXAMPLES);

/** Short and former names. */
const ALIASES: Readonly<Record<string, string>> = {
  k3s: 'k3s-dev',
  rancher: 'rancher-5',
  talos: 'talos-single-host',
};

/** Reads all files of an example except its README, which describes the example in the repository. */
export async function readExample(given: string): Promise<Example> {
  const name = ALIASES[given] ?? given;
  const facts = Object.hasOwn(EXAMPLES, name) ? EXAMPLES[name] : undefined;
  if (!facts) throw unknownExample(given);
  const files = await exampleFiles(name);
  const others = [...files.keys()].filter((file) => file !== STACK_FILE && file !== 'README.md');
  const names = [STACK_FILE, ...others.toSorted()];
  return { ...facts, files: new Map(names.map((file) => [file, files.get(file) ?? ''])) };
}

function unknownExample(name: string) {
  const guess = closest(name, [...EXAMPLE_NAMES, ...Object.keys(ALIASES)]);
  const hint = guess ? `Did you mean "${guess}"?` : `Choose one of ${EXAMPLE_NAMES.join(', ')}.`;
  return badOption('--example', `There is no example "${name}".`, hint);
}
