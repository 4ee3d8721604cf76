/**
 * A converted configuration as a stack file: every value computed, each instance of `count` and `for_each` on its own. What
 * only Terraform or a server knows comes from a state, or is left out and reported.
 */
import { stringify } from 'yaml';
import { positionOf } from '../hcl/scanner.ts';
import type { Finding } from '../report.ts';
import type { StateResource } from '../state.ts';
import { type Files, readModules } from '../terraform/convert.ts';
import { type FieldsOf, imageEntry, type Section, vmEntry } from './entries.ts';
import { evaluate, NotKnown } from './evaluate.ts';
import { type Instance, Labels, META, ModuleValues, notComputed, type Place, variableFiles } from './module-values.ts';
import type { Value } from './value.ts';

export interface StackInput {
  /** The converted files, and files of variables. */
  readonly files: Files;
  readonly name: string;
  readonly state?: readonly StateResource[];
  /** The attributes of a resource as fields of a stack file. */
  readonly fieldsOf: FieldsOf;
}

export interface StackResult {
  readonly text: string;
  readonly findings: readonly Finding[];
}

const SECTIONS: Readonly<Record<string, Section>> = { proxwright_vm: 'vms', proxwright_image: 'images' };
const ENTRIES = { vms: vmEntry, images: imageEntry } as const;

export function stackOf({ files, name, state = [], fieldsOf }: StackInput): StackResult {
  const modules = new Map(readModules(files).map((module) => [module.directory, module]));
  const root = modules.get('');
  const findings: Finding[] = [];
  const sections: Record<Section, Record<string, unknown>> = { images: {}, vms: {} };
  const found = (kind: Finding['kind'], { file, start, subject }: Place, what: string, why: string) =>
    void findings.push({ kind, file: file.path, line: positionOf(file.text, start).line, subject, what, why });
  const left = (place: Place, what: string, why: string) => found('left', place, what, why);
  const given = variableFiles(files, '');
  const work = { files, modules, state, labels: new Labels(), unknownCount: 'none', left } as const;
  for (const instance of root ? new ModuleValues(root, work, { given }).instances() : []) {
    const { file, block, type, name: own, label, known = {} } = instance;
    const place = { file, start: block.start, subject: `${type}.${own}` };
    const section = SECTIONS[type];
    if (!section) found('dropped', place, 'template', TEMPLATE);
    else {
      sections[section][label] = ENTRIES[section](attributesOf(instance, left), known, {
        fieldsOf: (attributes) => fieldsOf(type, attributes),
        fileText: (path) => files.get(path.replace(/^\.\//, '')),
        left: (what, why) => left(place, what, why),
      });
    }
  }
  const used = Object.fromEntries(Object.entries(sections).filter(([, entries]) => Object.keys(entries).length > 0));
  const body = stringify({ version: 1, stack: name, ...used }, { lineWidth: 0 });
  return { text: `# yaml-language-server: $schema=./stack.schema.json\n${body}`, findings };
}

/** The plan refuses a template that exists and that the stack did not build. */
const TEMPLATE =
  'The template exists, and VMs are cloned from it as it is. A stack can build the next one: write it under `templates`, with another name.';

function attributesOf(
  { file, block, type, name, scope }: Instance,
  left: (place: Place, what: string, why: string) => void,
): Record<string, Value> {
  const result: Record<string, Value> = {};
  for (const item of block.body.items) {
    if (item.kind !== 'attribute' || META.has(item.name)) continue;
    try {
      const value = evaluate(item.value, scope);
      if (value !== null) result[item.name] = value;
    } catch (error) {
      if (!(error instanceof NotKnown)) throw error;
      left({ file, start: item.start, subject: `${type}.${name}` }, item.name, notComputed(error));
    }
  }
  return result;
}
