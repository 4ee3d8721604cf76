/**
 * A tree of Terraform files, converted. Blocks that become ours are written from their settings; in all other blocks only
 * references change, so the rest keeps every byte. Pure: files in, files and findings out.
 */
import { readBody } from '../hcl/read.ts';
import { positionOf } from '../hcl/scanner.ts';
import { type Attribute, attributeOf, type Block, type Item, type Span } from '../hcl/syntax.ts';
import type { Finding, FindingKind } from '../report.ts';
import type { StateResource } from '../state.ts';
import { lostComments } from './comments.ts';
import { commentedOut, expressionsIn } from './context.ts';
import { type DeclaredResource, Module, type ModuleCall, type SourceFile } from './module.ts';
import { formerNames, OUR_SOURCE, ourProviderName, providerEdits } from './providers.ts';
import { applied, type Edit, editsOf, type ReferenceProblem, type References, wholeResources } from './references.ts';
import { SNIPPET_TYPE, type Snippet, snippetContent, snippetsOf } from './snippets.ts';
import { KnownState } from './take-over/known-state.ts';
import { MOVED_FILE, removedBlock, takeOver, withTakeOvers } from './take-over/take-over.ts';
import { translateBlock } from './vm.ts';

/** By their path, relative to the directory that is converted. */
export type Files = ReadonlyMap<string, string>;

export interface Conversion {
  /** Files that differ from the source or are new. */
  readonly changed: Files;
  readonly findings: readonly Finding[];
  readonly modules: readonly Module[];
  readonly counts: {
    readonly vms: number;
    readonly templates: number;
    readonly images: number;
    readonly snippets: number;
  };
}

export function readModules(files: Files): readonly Module[] {
  const directories = new Map<string, SourceFile[]>();
  for (const [path, text] of files) {
    if (!/\.(tf|tofu)$/.test(path)) continue;
    const directory = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
    const list = directories.get(directory) ?? [];
    list.push({ path, text, body: readBody(text, path) });
    directories.set(directory, list);
  }
  return [...directories].map(([directory, list]) => new Module(directory, list));
}

/** `taken`: further files of the directory, which no new one replaces. */
export function convertFiles(
  files: Files,
  resources?: readonly StateResource[],
  taken: Iterable<string> = [],
): Conversion {
  const modules = readModules(files);
  const changed = new Map<string, string>();
  const findings: Finding[] = [];
  const counts = { vms: 0, templates: 0, images: 0, snippets: 0 };
  const takeOvers = new Map<string, string[]>();
  const state = resources && new KnownState(resources, modules);
  const directories = new Set(modules.map(({ directory }) => directory));
  const paths = new Set([...files.keys(), ...taken]);
  const work = modules.map(
    (module) => new ModuleConversion({ module, findings, counts, takeOvers, state, directories, paths }),
  );
  const scope = { keepsFormer: work.some((each) => each.keepsFormer), withOurs: withOurs(modules) };
  for (const each of work) for (const [path, text] of each.run(scope)) changed.set(path, text);
  for (const [directory, blocks] of takeOvers) {
    const path = pathIn(`${directory}/`, MOVED_FILE);
    changed.set(path, withTakeOvers(changed.get(path), blocks));
  }
  for (const [path, text] of changed) if (files.get(path) === text) changed.delete(path);
  const order = (a: Finding, b: Finding) => a.file.localeCompare(b.file) || a.line - b.line;
  return { changed, findings: findings.sort(order), modules, counts };
}

/** Directories of modules that have something of ours, or use one that does. */
function withOurs(modules: readonly Module[]): ReadonlySet<string> {
  const found = new Set<string>();
  let before = -1;
  while (found.size > before) {
    before = found.size;
    for (const module of modules) {
      const isOurs = module.resources.some(({ source }) => source !== undefined);
      const uses = module.calls().some(({ directory }) => directory !== undefined && found.has(directory));
      if (isOurs || uses) found.add(module.directory);
    }
  }
  return found;
}

interface Scope {
  /** Something of the former provider remains. */
  readonly keepsFormer: boolean;
  readonly withOurs: ReadonlySet<string>;
}

interface ModuleWork {
  readonly module: Module;
  readonly findings: Finding[];
  readonly counts: { vms: number; templates: number; images: number; snippets: number };
  /** Blocks that take over what the state has, by the directory of their module. */
  readonly takeOvers: Map<string, string[]>;
  readonly state: KnownState | undefined;
  /** Of all modules that are converted. */
  readonly directories: ReadonlySet<string>;
  /** Of files that exist. */
  readonly paths: ReadonlySet<string>;
}

class ModuleConversion {
  private readonly module: Module;
  private readonly work: ModuleWork;
  private readonly snippets: ReadonlyMap<string, Snippet>;

  constructor(work: ModuleWork) {
    this.work = work;
    this.module = work.module;
    this.snippets = snippetsOf(
      work.module,
      this.references(() => {}),
      work.paths,
    );
  }

  /** Whether the former provider still has something to do here. */
  get keepsFormer(): boolean {
    const others = this.module.files.some(({ body }) =>
      body.items.some((item) => item.kind === 'block' && this.isOfFormer(item)),
    );
    const unread = this.module.calls().some((call) => this.mayUseFormer(call));
    return (
      others || unread || this.snippets.size > 0 || this.module.resources.some((each) => this.isTemplate(each) === true)
    );
  }

  /** A module that convert does not read: it gets the former provider by name, or inherits it. */
  private mayUseFormer({ block, directory }: ModuleCall): boolean {
    if (directory !== undefined && this.work.directories.has(directory)) return false;
    const providers = attributeOf(block.body, 'providers')?.value;
    if (providers?.kind !== 'object') return this.module.formerProviders().length > 0;
    const names = formerNames(this.module);
    return providers.entries.some(({ value }) => ourProviderName(value, names) !== undefined);
  }

  /** A module that may have VMs, and is not converted. */
  private unread(call: ModuleCall): void {
    if (!this.mayUseFormer(call)) return;
    const { file, block, name, source = '' } = call;
    const isLikely = source.startsWith('.') || /proxmox/i.test(source) || attributeOf(block.body, 'providers');
    const why = source.startsWith('.')
      ? 'Convert did not read this module. Convert a directory that contains both.'
      : 'This module comes from elsewhere, and convert did not read it. If it has VMs, convert a copy of it.';
    this.found(file, isLikely ? 'review' : 'note', block, `module.${name}`, source, `${why} ${KEEPS_FORMER}`);
  }

  private isOfFormer({ type, labels }: Block): boolean {
    const [kind, name] = labels;
    if (type !== 'resource' && type !== 'data' && type !== 'ephemeral') return false;
    if (!kind?.text.startsWith('proxmox_')) return false;
    if (type !== 'resource') return true;
    const isSnippet = kind.text === SNIPPET_TYPE && this.snippets.has(name?.text ?? '');
    return !isSnippet && this.module.find(kind.text, name?.text ?? '') === undefined;
  }

  run({ keepsFormer, withOurs }: Scope): ReadonlyMap<string, string> {
    const { module } = this;
    const isOurs = withOurs.has(module.directory) || (!keepsFormer && withOurs.size > 0);
    for (const call of module.calls()) this.unread(call);
    const result = new Map<string, string>();
    const hasOurs = module.resources.some(({ source }) => source !== undefined);
    if (hasOurs && module.formerProviders().length === 0) this.takesOver(module.directory, REQUIRED);
    for (const file of module.files) {
      const translated = [
        ...file.body.items.flatMap((item) => this.itemEdits(file, item)),
        ...(isOurs ? this.providers(file, keepsFormer, withOurs) : []),
      ];
      const edits = [...file.body.items.flatMap((item) => keptComments(file, item, translated)), ...translated];
      const text = withFinalNewline(applied(file.text, 0, file.text.length, edits), file.text);
      result.set(file.path, withLineEndsOf(file.text, text));
    }
    for (const { file, resource } of this.snippets.values()) {
      if (file) result.set(pathIn(resource.file.path, file.path), file.text);
    }
    return result;
  }

  private providers(file: SourceFile, keepsFormer: boolean, withOurs: ReadonlySet<string>): readonly Edit[] {
    const known = keepsFormer ? withOurs : this.work.directories;
    const calls = this.module.calls().filter(({ directory }) => directory !== undefined && known.has(directory));
    return providerEdits(file, {
      module: this.module,
      isOurs: (call) => calls.some(({ block }) => block === call),
      references: this.references((problem) => this.problem(file, 'provider', problem)),
      keepsFormer,
      found: (where, kind, span, subject, what, why) => this.found(where, kind, span, subject, what, why),
    });
  }

  private itemEdits(file: SourceFile, item: Item): readonly Edit[] {
    if (item.kind === 'attribute') return this.referenceEdits(file, item, item.name);
    const [type, name] = item.labels.map(({ text }) => text);
    if (item.type === 'provider' || item.type === 'terraform') return [];
    if (item.type === 'moved') return this.oldMove(file, item);
    if (item.type !== 'resource' || type === undefined || name === undefined) {
      return this.referenceEdits(file, item, [item.type, type, name].filter(Boolean).join('.'));
    }
    const snippet = type === SNIPPET_TYPE ? this.snippets.get(name) : undefined;
    if (snippet) return [this.snippetEdit(file, item, snippet)];
    const resource = this.module.find(type, name);
    return resource?.source ? [this.resourceEdit(resource)] : this.referenceEdits(file, item, `${type}.${name}`);
  }

  private resourceEdit(resource: DeclaredResource): Edit {
    const { file, block, type, name, source } = resource;
    if (!source) return { start: block.start, end: block.start, text: '' };
    const subject = `${type}.${name}`;
    const { lines } = translateBlock({
      source: file.text,
      block,
      table: source,
      references: {
        ...this.references((problem) => this.problem(file, subject, problem)),
        self: { type: this.typeOf(resource), source },
      },
      mayBeNull: (expression) => this.module.mayBeNull(expression),
      snippet: (expression) =>
        snippetContent(
          expression,
          file.text,
          this.snippets,
          this.references(() => {}),
        ),
      isTemplate: this.isTemplate(resource),
      known: (attribute) => this.work.state?.valueOf(this.module, `${type}.${name}`, attribute),
      providerName: (expression) => ourProviderName(expression, formerNames(this.module)),
      found: (kind, span, what, why) => this.found(file, kind, span, subject, what, why),
    });
    const to = this.typeOf(resource);
    this.count(to);
    this.takeOver(resource, to);
    const text = `resource "${to}" "${name}" {\n${lines.join('\n')}\n}`;
    const lost = lostComments(file.text, file.body.comments, block, text).map((line) => `  ${line}`.trimEnd());
    const body = [...lines, ...lost].join('\n');
    return { start: block.start, end: block.end, text: `resource "${to}" "${name}" {\n${body}\n}` };
  }

  private takeOver(resource: DeclaredResource, to: string): void {
    const { file, block, type, name } = resource;
    const { state } = this.work;
    const { blocks, imports, root, byHand } = takeOver(resource, to, this.module, state);
    this.takesOver(this.module.directory, ...blocks);
    this.takesOver(root, ...imports);
    const subject = `${type}.${name}`;
    if (byHand !== undefined) this.found(file, 'review', block, subject, 'template', byHand);
    if (state?.rootOf(this.module) === undefined || state.instancesOf(this.module, subject).length > 0) return;
    this.found(file, 'note', block, subject, 'state', 'The state has no such resource, so the first apply creates it.');
  }

  private takesOver(directory: string, ...blocks: string[]): void {
    const { takeOvers } = this.work;
    if (blocks.length > 0) takeOvers.set(directory, [...(takeOvers.get(directory) ?? []), ...blocks]);
  }

  /** From its flag, or from the state if that is an expression. Undefined if neither shows it. */
  private isTemplate({ source, block, type, name }: DeclaredResource): boolean | undefined {
    const flag = attributeOf(block.body, 'template')?.value;
    if (!flag || source?.to !== 'proxwright_vm') return false;
    if (flag.kind === 'literal') return flag.value === true;
    const known = this.work.state
      ?.instancesOf(this.module, `${type}.${name}`)
      .map(({ values }) => values.template === true);
    return known?.length && known.every((each) => each === known[0]) ? known[0] : undefined;
  }

  private typeOf(resource: DeclaredResource): string {
    return this.isTemplate(resource) ? 'proxwright_template' : (resource.source?.to ?? resource.type);
  }

  private count(to: string): void {
    if (to === 'proxwright_vm') this.work.counts.vms += 1;
    else if (to === 'proxwright_template') this.work.counts.templates += 1;
    else this.work.counts.images += 1;
  }

  private snippetEdit(file: SourceFile, block: Block, { replacement, resource }: Snippet): Edit {
    this.work.counts.snippets += 1;
    this.takesOver(this.module.directory, removedBlock(`${resource.type}.${resource.name}`));
    const subject = `${resource.type}.${resource.name}`;
    this.found(
      file,
      'note',
      block,
      subject,
      'snippet',
      'The file in the storage stays: VMs that exist may still name it.',
    );
    return { start: block.start, end: block.end, text: replacement };
  }

  /** A `moved` block among resources that are ours now: both ends must have the new type. */
  private oldMove(file: SourceFile, block: Block): readonly Edit[] {
    const names = block.body.items.map((item) => (item.kind === 'attribute' ? item.value : undefined));
    const isOurs = names.some((value) => {
      const [label] = value?.kind === 'access' ? value.steps : [];
      const type = value?.kind === 'access' && value.of.kind === 'variable' ? value.of.name : '';
      return label?.kind === 'attribute' && this.module.find(type, label.name) !== undefined;
    });
    if (!isOurs) return [];
    const why = 'Apply it with the former provider first; one address cannot move twice.';
    this.found(file, 'left', block, 'moved', 'moved', why);
    return [{ start: block.start, end: block.end, text: commentedOut(file.text, block, why).join('\n') }];
  }

  private referenceEdits(file: SourceFile, item: Block | Attribute, subject: string): readonly Edit[] {
    const problems: ReferenceProblem[] = [];
    const references = this.references((problem) => problems.push(problem));
    const expressions = item.kind === 'attribute' ? [item.value] : expressionsIn(item);
    const edits = expressions.flatMap((each) => editsOf(each, file.text, references));
    for (const problem of problems) this.problem(file, subject, problem);
    if (item.kind === 'block' && READ_ELSEWHERE.has(item.type)) {
      for (const whole of expressions.flatMap((each) => wholeResources(each, references))) {
        const what = file.text.slice(whole.start, whole.end);
        this.found(file, 'review', whole, subject, what, WHOLE);
      }
    }
    const worst = problems.find(({ isLeft }) => isLeft);
    // Nothing depends on an output of a root module, so it can wait for a person.
    if (!worst || item.kind !== 'block' || item.type !== 'output') return edits;
    return [{ start: item.start, end: item.end, text: commentedOut(file.text, item, worst.why).join('\n') }];
  }

  private references(problem: (problem: ReferenceProblem) => void): References {
    return {
      find: (type, name) => {
        const resource = this.module.find(type, name);
        return resource?.source && { type: this.typeOf(resource), source: resource.source };
      },
      problem,
    };
  }

  private problem(file: SourceFile, subject: string, { offset, what, why, isLeft }: ReferenceProblem): void {
    this.found(file, isLeft ? 'left' : 'review', { start: offset }, subject, what, why);
  }

  private found(
    { path, text }: SourceFile,
    kind: FindingKind,
    { start }: Pick<Span, 'start'>,
    subject: string,
    what: string,
    why: string,
  ): void {
    this.work.findings.push({ kind, file: path, line: positionOf(text, start).line, subject, what, why });
  }
}

/** Blocks whose values other places read. */
const READ_ELSEWHERE = new Set(['output', 'locals', 'module']);

const WHOLE =
  'It is the whole resource, so its attributes have other names where this is read: `vmid` for `vm_id`, for example. Rename them there.';

const REQUIRED = `terraform {
  required_providers {
    proxwright = { source = "${OUR_SOURCE}" }
  }
}
`;

const KEEPS_FORMER = 'The former provider stays for it.';

/** Above an item, the comments that its edits would lose. */
function keptComments({ text, body }: SourceFile, { start, end }: Item, edits: readonly Edit[]): readonly Edit[] {
  const own = edits.filter((edit) => edit.start >= start && edit.end <= end);
  const lost =
    own.length === 0 ? [] : lostComments(text, body.comments, { start, end }, applied(text, start, end, own));
  return lost.length === 0 ? [] : [{ start, end: start, text: `${lost.join('\n')}\n` }];
}

function pathIn(beside: string, path: string): string {
  const directory = beside.includes('/') ? beside.slice(0, beside.lastIndexOf('/')) : '';
  return directory === '' ? path : `${directory}/${path}`;
}

/** As most lines of the source end. */
function withLineEndsOf(source: string, text: string): string {
  const all = source.split('\n').length - 1;
  const windows = source.split('\r\n').length - 1;
  return windows * 2 > all ? text.replace(/\r?\n/g, '\r\n') : text;
}

function withFinalNewline(text: string, before: string): string {
  return before.endsWith('\n') && !text.endsWith('\n') ? `${text}\n` : text;
}
