/** A resource or provider block of another provider in our words: the walk through its settings, by the table of its type. */
import type { Block, Expression, Span } from '../hcl/syntax.ts';
import { attributeOf } from '../hcl/syntax.ts';
import { type AttributeRow, type BlockRow, type Collection, isBlockRow, type Row } from '../mapping/rows.ts';
import { header, type Loop, type Part, placed, slotKey } from './collections.ts';
import { joined } from './comments.ts';
import { commentedOut, keptBlock, type VmContext, type Walk } from './context.ts';
import { type Setting, type Settings, settingsOf, settingsOfObject } from './fields.ts';
import { lifecycleLines } from './lifecycle.ts';
import { type References, rewritten, withoutIterator } from './references.ts';
import { special } from './special-values.ts';
import { type Around, NOTHING_AROUND, TargetObject, valueLines } from './target.ts';
import { convertValue, literalText, operand as operandText, type SourceValue } from './values.ts';

/** Arguments and blocks of the language itself. */
const LANGUAGE = new Set(['count', 'for_each', 'depends_on', 'provider', 'lifecycle', 'provisioner', 'connection']);

const EXPRESSION = 'Convert reads the settings themselves here, and this is an expression.';

/** What a template does not have. */
const NOT_OF_TEMPLATES = new Set(['power', 'restart', 'stop_on_destroy', 'ready', 'ha']);

const NO_SYSTEM =
  'Nothing here says what is on its disks, and Proxwright refuses to plan such a template. Give a disk an image: `disks = { scsi0 = { import_from = proxwright_image.NAME.id, … } }`. Or delete this block and its import, and clone the template by its name: the `removed` block keeps it.';

const NO_ISO =
  'A template keeps no ISO image. If the system is installed from it, add `install = { timeout = "45m" }` and this drive; otherwise leave it out.';

export interface Translation {
  /** The lines between its braces. */
  readonly lines: readonly string[];
}

export function translateBlock(context: VmContext): Translation {
  const { source, block, table } = context;
  const { isTemplate = false } = context;
  const root = new TargetObject();
  const walk = new VmWalk(root, context, isTemplate);
  const { settings, below } = settingsOf(source, block.body);
  walk.all({ settings, below: [] }, table.rows, root);
  walk.finish();
  root.below.push(...below);
  return { lines: root.print('  ') };
}

export class VmWalk implements Walk {
  readonly context: VmContext;
  private readonly root: TargetObject;
  private readonly isTemplate: boolean;
  private readonly parts = new Map<string, Part[]>();
  /** How many blocks of a kind came before; texts are lengths of loops. */
  private readonly counts = new Map<string, (number | string)[]>();
  private references: References;
  /** Lists that several settings add to. */
  private readonly lists = new Map<string, readonly string[]>();
  private storage: string | undefined;

  constructor(root: TargetObject, context: VmContext, isTemplate: boolean) {
    this.root = root;
    this.context = context;
    this.isTemplate = isTemplate;
    this.references = context.references;
  }

  all({ settings, below }: Settings, rows: readonly Row[], target: TargetObject, outer: Around = NOTHING_AROUND): void {
    const needed = settings.filter(({ name }) => !isIncluded(name, settings, rows));
    needed.forEach((setting, index) => {
      const around = index === 0 ? joined(outer, setting.around) : setting.around;
      this.one({ ...setting, around }, rows, target);
    });
    target.below.push(...below);
  }

  useStorage(text: string): void {
    this.storage = text;
  }

  finish(): void {
    if (this.storage !== undefined) this.root.set(['cloud_init', 'storage'], this.storage);
    for (const [name, items] of this.lists) this.root.set(name.split('.'), `[${items.join(', ')}]`);
    if (this.isTemplate) this.finishTemplate();
    this.finishPower();
    const inherits = this.root.get(['clone']) !== undefined || this.root.get(['from']) !== undefined;
    for (const [to, parts] of this.parts) placed(this.root, to, parts, inherits);
    if (this.root.get(['cloud_init']) !== undefined && this.root.get(['guest']) === undefined) {
      this.root.setBefore('cloud_init', 'guest', '"cloud-init"');
    }
  }

  /** The HA manager keeps such a VM off, whatever the former provider does by default. */
  private finishPower(): void {
    const state = this.root.get(['ha', 'state']);
    if ((state !== '"stopped"' && state !== '"disabled"') || this.root.get(['power']) !== undefined) return;
    this.root.setBefore('ha', 'power', '"stopped"');
  }

  /** What the plan of a template asks for, and the one of a VM does not. */
  private finishTemplate(): void {
    const isInstalled = this.parts.get('disks')?.some(({ element }) => element.get(['import_from']) !== undefined);
    if (!isInstalled && this.root.get(['from']) === undefined) {
      this.context.found('review', this.context.block, 'template', NO_SYSTEM);
    }
    // The former provider switches the agent off where nothing is said.
    if (this.root.get(['cloud_init']) !== undefined && this.root.get(['agent', 'enabled']) === undefined) {
      this.root.set(['agent', 'enabled'], 'false');
    }
  }

  private one(setting: Setting, rows: readonly Row[], target: TargetObject): void {
    const { name, block, value } = setting;
    if (target === this.root && LANGUAGE.has(name) && rows === this.context.table.rows) this.language(setting);
    else if (name === 'dynamic' && block) this.dynamic(block, setting, rows, target);
    else {
      const row = rows.find((each) => (isBlockRow(each) ? each.block : each.from) === name);
      if (!row) this.left(setting, target, `Convert does not know \`${name}\`. The VM keeps what it has.`);
      else if (isBlockRow(row)) this.block(row, setting, target);
      else if (value) this.attribute(row, setting, value, target);
      else this.left(setting, target, `Convert expects \`${name} = …\` here.`);
    }
  }

  private attribute(row: AttributeRow, setting: Setting, value: Expression, target: TargetObject): void {
    if (this.isRefused(row, setting, target)) return;
    const given = this.value(value);
    const result = special(row, given, this) ?? this.plain(row, given);
    if ('cannot' in result) {
      this.left(setting, target, result.cannot);
      return;
    }
    for (const [path, text] of result.values) {
      if (this.isTemplate && path[0] === 'clone') {
        if (path[1] === 'template') target.set(['from', 'vm'], text, setting.around);
        else this.context.found('dropped', setting, setting.name, 'A template that is a copy is always a full one.');
      } else if (this.isTemplate && NOT_OF_TEMPLATES.has(path[0] ?? '')) {
        this.context.found('dropped', setting, setting.name, 'A template is never started.');
      } else target.set(path, text, setting.around);
    }
  }

  /** What the table says has no counterpart. */
  private isRefused({ cannot, drop }: Row, setting: Setting, target: TargetObject): boolean {
    if (cannot !== undefined) this.left(setting, target, cannot);
    else if (drop !== undefined) this.context.found('dropped', setting, setting.name, drop);
    return cannot !== undefined || drop !== undefined;
  }

  private plain(row: AttributeRow, given: SourceValue) {
    const converted = convertValue(row.as ?? 'same', given);
    if (converted && 'cannot' in converted) return converted;
    const path = row.to === undefined || row.to === '' ? [] : row.to.split('.');
    return { values: converted && path.length > 0 ? [[path, converted.text] as const] : [] };
  }

  value(expression: Expression): SourceValue {
    const text = rewritten(expression, this.context.source, this.references);
    return { expression, text, mayBeNull: this.context.mayBeNull(expression) };
  }

  private block(row: BlockRow, setting: Setting, target: TargetObject): void {
    if (this.isRefused(row, setting, target)) return;
    const { block, value } = setting;
    if (value?.kind === 'literal' && value.value === null) return;
    const object = value?.kind === 'object' ? value : undefined;
    const inner = block
      ? settingsOf(this.context.source, block.body)
      : object && settingsOfObject(this.context.source, object);
    if (!inner && row.text !== undefined && value)
      target.set(row.text.split('.'), this.value(value).text, setting.around);
    else if (!inner) this.left(setting, target, EXPRESSION);
    else if (row.dropEmpty !== undefined && inner.settings.length === 0)
      this.context.found('dropped', setting, setting.name, row.dropEmpty);
    else if (row.drives) this.drive(row, inner, setting, target);
    else if (!row.collection) this.group(row, inner, setting, target);
    else if (block) this.entry(row, inner, setting);
    else this.entries(row, inner, target);
  }

  private group(row: BlockRow, inner: Settings, setting: Setting, target: TargetObject): void {
    this.all(inner, row.rows, target, setting.around);
    const { byDefault } = row;
    const path = byDefault?.to.split('.') ?? [];
    if (byDefault && target.get(path) === undefined) target.set(path, byDefault.text);
    setDefaults(target, row);
  }

  /** By its `type`, where it is not a disk. */
  private drive(row: BlockRow, inner: Settings, setting: Setting, target: TargetObject, loop?: Loop): void {
    const type = inner.settings.find(({ name }) => name === 'type')?.value;
    const other = type && row.drives?.[literalText(type) ?? ''];
    if (type && literalText(type) === undefined) {
      this.left(
        setting,
        target,
        'Convert must know the `type`: a disk, a CD drive and the drive of cloud-init differ.',
      );
    } else if (!other || other.collection) this.entry(other ?? row, inner, setting, undefined, loop);
    else if (loop) this.left(setting, target, 'A VM has one drive of cloud-init. Write it without a loop.');
    else this.group(other, inner, setting, this.root);
  }

  /** Of an object that has a slot for each of its keys. */
  private entries(row: BlockRow, { settings }: Settings, target: TargetObject): void {
    for (const each of settings) {
      if (each.value?.kind !== 'object') this.left(each, target, EXPRESSION);
      else this.entry(row, settingsOfObject(this.context.source, each.value), each, each.name);
    }
  }

  /** One entry of a collection. */
  private entry(row: BlockRow, settings: Settings, setting: Setting, slot?: string, loop?: Loop): void {
    const { collection } = row;
    if (!collection) return;
    const { key } = collection;
    const named = 'attribute' in key ? settings.settings.find(({ name }) => name === key.attribute) : undefined;
    const position =
      'position' in key ? this.position(row, key.position, loop) : this.position(row, key.prefix ?? 'slot', loop);
    const given = this.slotOf(collection, settings, named, position, setting);
    if (given === null) return;
    const rest = settings.settings.filter((each) => each !== named);
    if (collection.scalar) {
      const { attribute, byDefault } = collection.scalar;
      const value = rest.find(({ name }) => name === attribute)?.value;
      this.root.object(collection.to, setting.around).set([position], value ? this.value(value).text : byDefault);
      return;
    }
    const element = new TargetObject();
    this.all({ settings: rest, below: settings.below }, row.rows, element);
    if (row.block === 'ip_config') this.optionalAddresses(settings, element);
    const { byDefault, needs } = row;
    // A drive with untranslated settings is not empty.
    if (byDefault && !element.isOnlyComments && element.get([byDefault.to]) === undefined) {
      element.set([byDefault.to], byDefault.text);
    }
    if (!element.isOnlyComments && !element.hasComments) setDefaults(element, row);
    if (this.isTemplate && element.get(['iso']) !== undefined && element.get(['iso']) !== '"none"') {
      this.left(setting, this.root, NO_ISO);
      return;
    }
    if (needs?.to.every((name) => element.get([name]) === undefined) && !element.isOnlyComments) {
      this.left(setting, this.root, needs.why);
      return;
    }
    if (element.isOnlyComments) {
      // Nothing of the device could be translated: an empty entry would be another device.
      this.root.absorb(element);
      return;
    }
    const part: Part = {
      key: slot ?? slotKey(collection, position, given),
      element,
      around: joined(setting.around, named?.around ?? NOTHING_AROUND),
      joins: row.block === 'ip_config',
      ...(loop && { loop }),
      left: (why) => this.left(setting, this.root, why),
    };
    this.add(collection.to, part);
  }

  /** A family whose address is null has none at all. */
  private optionalAddresses({ settings }: Settings, element: TargetObject): void {
    for (const { name, block } of settings) {
      const address = block && attributeOf(block.body, 'address')?.value;
      const family = element.get([name]);
      if (!address || family === undefined || !this.context.mayBeNull(address)) continue;
      const [first = '', ...more] = valueLines(family, '    ');
      element.set([name], [`${operandText(this.value(address))} == null ? null : ${first}`, ...more].join('\n'));
    }
  }

  /** As the source writes it. An earlier release had a number beside the bus, or counted the blocks. Null: nothing says it. */
  private slotOf(
    { key }: Collection,
    { settings }: Settings,
    named: Setting | undefined,
    position: string,
    setting: Setting,
  ): string | undefined | null {
    const given = named?.value && this.value(named.value).text;
    if (!('bus' in key) || key.bus === undefined || (given !== undefined && !/^"?\d+"?$/.test(given))) return given;
    const type = settings.find(({ name }) => name === key.bus)?.value;
    const bus = type && literalText(type);
    const number = given === undefined ? /^slot(\d+)$/.exec(position)?.[1] : given.replaceAll('"', '');
    if (bus === undefined || number === undefined || !/^(ide|sata|scsi|virtio)$/.test(bus)) {
      this.left(setting, this.root, 'Nothing says in which slot it is. Write it: `disks = { scsi0 = { … } }`.');
      return null;
    }
    if (given === undefined) {
      const why = `It has no slot, and the former provider counted the blocks. Check that the VM has it as ${bus}${number}.`;
      this.context.found('review', setting, setting.name, why);
    }
    return `"${bus}${number}"`;
  }

  append(path: readonly string[], item: string): void {
    const name = path.join('.');
    this.lists.set(name, [...(this.lists.get(name) ?? []), item]);
  }

  add(to: string, part: Part): void {
    const parts = this.parts.get(to);
    if (parts) parts.push(part);
    else {
      this.parts.set(to, [part]);
      this.root.object(to, { ...NOTHING_AROUND, blankBefore: part.around.blankBefore });
    }
  }

  /** Of a block among those of its kind, as HCL. */
  private position(row: BlockRow, prefix: string, loop: Loop | undefined): string {
    const before = this.counts.get(row.block) ?? [];
    this.counts.set(row.block, [...before, loop ? `length(${loop.over})` : 1]);
    const fixed = before.filter((each) => typeof each === 'number').length;
    const sum = [
      ...(loop ? [`${loop.iterator}_index`] : []),
      ...before.filter((each) => typeof each === 'string'),
      ...(fixed > 0 ? [String(fixed)] : []),
    ];
    if (sum.every((each) => /^\d+$/.test(each))) return `${prefix}${fixed}`;
    return `"${prefix}\${${sum.join(' + ')}}"`;
  }

  private dynamic(block: Block, setting: Setting, rows: readonly Row[], target: TargetObject): void {
    const name = block.labels[0]?.text ?? '';
    const row = rows.find((each): each is BlockRow => isBlockRow(each) && each.block === name);
    const content = block.body.items.find((item): item is Block => item.kind === 'block' && item.type === 'content');
    const over = attributeOf(block.body, 'for_each')?.value;
    const given = attributeOf(block.body, 'iterator')?.value;
    const iterator = given?.kind === 'variable' ? given.name : name;
    if (!row || !content || !over || row.cannot !== undefined) {
      this.left(setting, target, row?.cannot ?? `Convert does not know \`${name}\`.`);
      return;
    }
    const isPositional = row.collection !== undefined && 'position' in row.collection.key;
    const { text } = this.value(over);
    const isOpen = over.kind === 'conditional' || over.kind === 'operation';
    const loop: Loop = { iterator, over: isOpen ? `(${text})` : text, isPositional };
    const outside = this.references;
    this.references = isPositional ? outside : withoutIterator(outside, iterator);
    const inner = settingsOf(this.context.source, content.body);
    if (row.collection?.scalar || (row.collection && target !== this.root)) {
      this.left(setting, target, 'Convert cannot turn this dynamic block into a map. Write its entries.');
    } else if (row.drives) this.drive(row, inner, setting, target, loop);
    else if (row.collection) this.entry(row, inner, setting, undefined, loop);
    else this.optionalBlock(row, inner, setting, target, loop);
    this.references = outside;
  }

  /** An optional block: `one([for … : { … }])`, which is null if there is none. */
  private optionalBlock(row: BlockRow, inner: Settings, setting: Setting, target: TargetObject, loop: Loop): void {
    const scratch = new TargetObject();
    this.all(inner, row.rows, scratch);
    scratch.names().forEach((name, index) => {
      const value = scratch.get([name]);
      if (value === undefined) return;
      const [first = '', ...more] = valueLines(value, '  ');
      const text = [`one([for ${header(loop)} : ${first}`, ...more].join('\n');
      target.set([name], `${text}])`, index === 0 ? setting.around : NOTHING_AROUND);
    });
    target.absorbComments(scratch);
  }

  left(setting: Span & Pick<Setting, 'name' | 'around'>, target: TargetObject, why: string): void {
    this.context.found('left', setting, setting.name, why);
    target.verbatim(commentedOut(this.context.source, setting, why), setting.around);
  }

  private language(setting: Setting): void {
    const { name, value, block, around } = setting;
    const { source } = this.context;
    if (name === 'lifecycle' && block) {
      const lines = lifecycleLines(block, this.context);
      if (lines) this.root.verbatim(lines, around);
      return;
    }
    if (name === 'provider' && value) {
      this.root.set([name], this.context.providerName(value) ?? source.slice(value.start, value.end), around);
      return;
    }
    if (value) {
      this.root.set([name], rewritten(value, source, this.references), around);
      return;
    }
    if (block) this.root.verbatim(keptBlock(block, source, this.references), around);
  }
}

function setDefaults(target: TargetObject, { defaults = {} }: BlockRow): void {
  for (const [to, text] of Object.entries(defaults)) {
    const path = to.split('.');
    if (target.get(path) === undefined) target.set(path, text);
  }
}

/** Whether another setting is true and includes this one. */
function isIncluded(name: string, settings: readonly Setting[], rows: readonly Row[]): boolean {
  const row = rows.find((each): each is AttributeRow => !isBlockRow(each) && each.from === name);
  const other = row?.includedIn && settings.find((each) => each.name === row.includedIn)?.value;
  return other !== undefined && other !== '' && other.kind === 'literal' && other.value === true;
}
