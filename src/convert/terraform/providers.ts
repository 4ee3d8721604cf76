/** Provider blocks, `required_providers`, and the names of providers in modules and resources. */
import {
  type Attribute,
  attributeOf,
  type Block,
  blocksOf,
  type Expression,
  type ObjectExpression,
} from '../hcl/syntax.ts';
import { BPG_PROVIDER, TELMATE_PROVIDER } from '../mapping/images.ts';
import type { FindingKind } from '../report.ts';
import { lostComments } from './comments.ts';
import type { Module, SourceFile } from './module.ts';
import type { Edit, References } from './references.ts';
import { translateBlock } from './vm.ts';

export const OUR_SOURCE = 'proxwright.dev/proxwright/proxwright';
const OUR_NAME = 'proxwright';

type FormerNames = ReadonlyMap<string, string>;

export interface ProviderContext {
  readonly module: Module;
  readonly references: References;
  /** Other resources of the former provider remain. */
  readonly keepsFormer: boolean;
  /** Whether the module that a block uses has something of ours. */
  isOurs(call: Block): boolean;
  found(file: SourceFile, kind: FindingKind, span: { start: number }, subject: string, what: string, why: string): void;
}

/**
 * The local names of bpg or Telmate in a module, and our names for them; `proxmox` by default. In a configuration with
 * both, the provider of the second name is an alias of ours: `bpg` → `proxwright.bpg`.
 */
export function formerNames(module: Module): ReadonlyMap<string, string> {
  const given = module.formerProviders().map(({ entry }) => entry.name);
  const names = given.length === 0 ? ['proxmox'] : given;
  const main = names.includes('proxmox') ? 'proxmox' : names[0];
  return new Map(names.map((name) => [name, name === main ? OUR_NAME : `${OUR_NAME}.${name}`]));
}

/** `proxmox.pve2` → `proxwright.pve2`. */
export function ourProviderName(expression: Expression, names: FormerNames): string | undefined {
  if (expression.kind === 'variable') return names.get(expression.name);
  if (expression.kind !== 'access' || expression.of.kind !== 'variable' || !names.has(expression.of.name))
    return undefined;
  const [alias] = expression.steps;
  return alias?.kind === 'attribute' ? `${OUR_NAME}.${alias.name}` : undefined;
}

export function providerEdits(file: SourceFile, context: ProviderContext): readonly Edit[] {
  const names = formerNames(context.module);
  const formers = context.module.formerProviders();
  const edits: Edit[] = [];
  for (const block of blocksOf(file.body, 'provider')) {
    const name = block.labels[0]?.text ?? '';
    if (!names.has(name)) continue;
    const known = formers.find(({ entry }) => entry.name === name)?.provider;
    const hasPrefix = block.body.items.some((item) => item.kind === 'attribute' && item.name.startsWith('pm_'));
    const text = providerBlock(block, file, context, known === 'telmate' || hasPrefix, names);
    const former = file.text.slice(block.start, block.end);
    edits.push({ start: block.start, end: block.end, text: context.keepsFormer ? `${former}\n\n${text}` : text });
  }
  for (const { file: where, entry } of formers) if (where === file) edits.push(...requiredEdits(file, entry, context));
  for (const block of blocksOf(file.body, 'module').filter((call) => context.isOurs(call))) {
    const providers = attributeOf(block.body, 'providers')?.value;
    if (providers?.kind === 'object') edits.push(...moduleProviders(providers, names, file, context.keepsFormer));
  }
  return edits;
}

/** Ours instead of the former provider, or in addition to it; only once if there are two of them. */
function requiredEdits(file: SourceFile, entry: Attribute, { module, keepsFormer }: ProviderContext): readonly Edit[] {
  const names = formerNames(module);
  const lineStart = file.text.lastIndexOf('\n', entry.start - 1) + 1;
  const before = file.text.slice(lineStart, entry.start);
  const [indent = ''] = /^[ \t]*/.exec(before) ?? [];
  if (names.get(entry.name) !== OUR_NAME) {
    return keepsFormer ? [] : [{ start: lineStart - 1, end: entry.end, text: '' }];
  }
  const aliases = entry.value.kind === 'object' ? aliasesOf(entry.value, names) : undefined;
  const lines = [
    'proxwright = {',
    `  source = "${OUR_SOURCE}"`,
    ...(aliases === undefined ? [] : [`  configuration_aliases = ${aliases}`]),
    '}',
  ];
  const former = file.text.slice(entry.start, entry.end);
  if (before.trim() !== '') {
    // `required_providers { proxmox = { … } }`: a block of one line has one argument.
    const inner = `${indent}  `;
    const both = [...(keepsFormer ? [former] : []), lines.join(`\n${inner}`)];
    const [blank = ''] = /^[ \t]*/.exec(file.text.slice(entry.end)) ?? [];
    const [start, end] = [lineStart + before.trimEnd().length, entry.end + blank.length];
    return [{ start, end, text: `\n${inner}${both.join(`\n${inner}`)}\n${indent}` }];
  }
  const lost = keepsFormer ? [] : lostComments(file.text, file.body.comments, entry, lines.join(''));
  const ours = [...lost, ...lines].join(`\n${indent}`);
  return [{ start: entry.start, end: entry.end, text: keepsFormer ? `${former}\n${indent}${ours}` : ours }];
}

function providerBlock(
  block: Block,
  file: SourceFile,
  { references, found }: ProviderContext,
  isTelmate: boolean,
  names: FormerNames,
): string {
  const { lines } = translateBlock({
    source: file.text,
    block,
    table: { rows: [{ from: 'alias', to: 'alias' }, ...(isTelmate ? TELMATE_PROVIDER : BPG_PROVIDER)] },
    references,
    mayBeNull: () => false,
    snippet: () => undefined,
    providerName: (expression) => ourProviderName(expression, names),
    found: (kind, span, what, why) => found(file, kind, span, `provider ${block.labels[0]?.text}`, what, why),
  });
  const alias = names.get(block.labels[0]?.text ?? '')?.split('.')[1];
  const all = alias === undefined || attributeOf(block.body, 'alias') ? lines : [`  alias = "${alias}"`, '', ...lines];
  return all.length === 0 ? `provider "${OUR_NAME}" {}` : `provider "${OUR_NAME}" {\n${all.join('\n')}\n}`;
}

function aliasesOf({ entries }: ObjectExpression, names: FormerNames): string | undefined {
  const aliases = entries.find(({ key }) => key.kind === 'literal' && key.value === 'configuration_aliases')?.value;
  if (aliases?.kind !== 'list') return undefined;
  return `[${aliases.items.flatMap((item) => ourProviderName(item, names) ?? []).join(', ')}]`;
}

/** `providers = { proxmox = proxmox.pve2 }`. */
function moduleProviders(
  { entries }: ObjectExpression,
  names: FormerNames,
  file: SourceFile,
  keepsFormer: boolean,
): readonly Edit[] {
  return entries.flatMap((entry) => {
    const value = ourProviderName(entry.value, names);
    if (value === undefined) return [];
    const key = entry.key.kind === 'literal' ? OUR_NAME : ourProviderName(entry.key, names);
    const ours = `${key ?? OUR_NAME} = ${value}`;
    const former = file.text.slice(entry.start, entry.end);
    const before = file.text.slice(file.text.lastIndexOf('\n', entry.start - 1) + 1, entry.start);
    const between = before.trim() === '' ? `\n${before}` : ', ';
    return [{ start: entry.start, end: entry.end, text: keepsFormer ? `${former}${between}${ours}` : ours }];
  });
}
