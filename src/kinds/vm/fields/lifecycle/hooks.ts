/** Programs on this machine that run before and after a change that makes a VM unavailable. */
import { z } from 'zod';
import { block, duration, field } from '../../../fields/field.ts';

/** YAML reads an argument such as 30 as a number. */
const argument = (): z.ZodType<string, string | number> =>
  z
    .union([z.string(), z.number()])
    .transform(String)
    .pipe(z.string().regex(/^[^\0]*$/, 'an argument cannot hold a NUL character'));

const hook = (when: string) =>
  block(() => ({
    run: field(z.array(argument()).min(1), {
      description: `The program and its arguments; no shell reads them. \${name}, \${address}, \${vmid}, \${node}, \${group} and \${resource} stand for the VM.`,
      effect: 'none',
      examples: [['kubectl', 'drain', `\${name}`]],
    }),
    timeout: field(duration().pipe(z.number().min(1)).optional(), {
      description: 'How long it may run; 5m by default. After that, Proxwright stops it, which counts as a failure.',
      effect: 'none',
      examples: ['10m'],
    }),
    repeatable: field(z.boolean().optional(), {
      description:
        'It may run twice: a run that resumes after a crash repeats it without asking if its end is unknown. false by default.',
      effect: 'none',
    }),
  })).describe(when);

export const hooksFields = block(() => ({
  before_stop: hook(
    'Runs before a change that makes the running VM unavailable: a restart, a replacement, a stop, a move that needs one.',
  ).optional(),
  after_ready: hook('Runs once the VM is ready again. Until it has ended, the VM counts as unavailable.').optional(),
})).describe('Programs on this machine that run before and after a change that makes the VM unavailable.');

export type HookFields = z.output<typeof hooksFields>;

const DEFAULT_TIMEOUT_MS = 5 * 60_000;

export function hookTimeoutMs({ timeout }: Pick<NonNullable<HookFields['before_stop']>, 'timeout'>): number {
  return timeout ?? DEFAULT_TIMEOUT_MS;
}

/** The variables `${…}` in an argument: known when the hook runs, not when the file is read. */
export const HOOK_NAMES = ['name', 'address', 'vmid', 'node', 'group', 'resource'] as const;
export type HookName = (typeof HOOK_NAMES)[number];

const PIECE = /\$\$\{|\$\{([^}]*)\}/g;

/** The argument with every name replaced; a name without a value stays as it is. `$${` is a literal `${`. */
export function withHookValues(argument: string, replacement: (name: HookName) => string | undefined): string {
  return argument.replace(PIECE, (piece, inner: string | undefined) => {
    if (inner === undefined) return '${';
    const name = HOOK_NAMES.find((each) => each === inner.trim());
    return (name && replacement(name)) ?? piece;
  });
}

/** Names that the arguments use. */
export function hookNamesIn(run: readonly string[]): Set<HookName> {
  const names = new Set<HookName>();
  for (const argument of run) withHookValues(argument, (name) => void names.add(name));
  return names;
}
