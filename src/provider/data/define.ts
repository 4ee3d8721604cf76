/**
 * Makes a data source from its arguments, its results and one function. Reading the arguments, echoing them and reporting
 * problems is the same for all.
 */
import type { z } from 'zod';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { once } from '../../base/values/once.ts';
import { type DepsOf, depsDuring, requiredDeps } from '../adapter/deps.ts';
import { asArguments, badValue, readArguments } from '../configure/arguments.ts';
import { type CtyObject, type CtyValue, objectOf } from '../cty/value.ts';
import type { DataSource, ProviderDiagnostic } from '../provider.ts';
import { attributesOfFields } from '../schema/from-fields.ts';
import type { Attribute, Attributes, Schema } from '../schema/model.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import type { Look } from './inventory.ts';

export interface DataSourceDefinition<Table extends z.ZodType> {
  /** Markdown. */
  readonly description: string;
  readonly arguments: Table;
  /** Arguments that the server fills in where the user does not set them. */
  readonly filledIn?: readonly string[];
  readonly results: Attributes;
  /** Rules that the table cannot express. `isGiven` is also true for an unknown value. */
  check?(isGiven: (name: string) => boolean, value: z.output<Table>): readonly ProxwrightError[];
  read(value: z.output<Table>, look: Look): Promise<Found | NotFound>;
}

export interface Found {
  /** Results, and arguments that the server fills in. */
  readonly values: Readonly<Record<string, CtyValue>>;
  readonly warnings?: readonly Diagnostic[];
}

/** Why there is no result. Anything thrown is reported the same way. */
export interface NotFound {
  readonly problem: Diagnostic;
}

export function dataSource<Table extends z.ZodType>(
  definition: DataSourceDefinition<Table>,
  depsOf: DepsOf,
): DataSource {
  // Most configurations read few of the data sources.
  const schema = once(() => schemaOf(definition));
  const shown = (diagnostic: Diagnostic): ProviderDiagnostic => diagnosticAt(diagnostic, schema().attributes);
  const failed = (diagnostics: readonly ProviderDiagnostic[]) => ({ state: null, diagnostics });
  return {
    get schema() {
      return schema();
    },
    validate: async (config) => argumentsOf(definition, config).problems.map(shown),
    read: async (config, call) => {
      const { value, problems } = argumentsOf(definition, config);
      if (!value || problems.length > 0) return failed(problems.map(shown));
      try {
        const { looks, signal, rollout } = requiredDeps(depsDuring(call, depsOf));
        const found = await definition.read(value, { pve: looks, signal, rollout });
        if ('problem' in found) return failed([shown(found.problem)]);
        const { values, warnings = [] } = found;
        return { state: stateOf(schema(), config, values), diagnostics: warnings.map(shown) };
      } catch (error) {
        if (!(error instanceof ProxwrightError)) throw error;
        return failed([shown(error.diagnostic)]);
      }
    },
  };
}

function schemaOf<Table extends z.ZodType>(definition: DataSourceDefinition<Table>): Schema {
  const { description, results, filledIn = [] } = definition;
  const given = Object.entries(asArguments(attributesOfFields(definition.arguments))).map(
    ([name, attribute]): [string, Attribute] => [
      name,
      filledIn.includes(name) ? { ...attribute, given: 'optional-computed' } : attribute,
    ],
  );
  return { version: 0, description, attributes: { ...Object.fromEntries(given), ...results } };
}

function argumentsOf<Table extends z.ZodType>(definition: DataSourceDefinition<Table>, config: CtyObject) {
  const { value, problems, unknown } = readArguments(definition.arguments, config, 'the data source');
  if (value === undefined) return { value, problems };
  const isGiven = (name: string) => unknown.has(name) || (config[name] ?? null) !== null;
  const more = definition.check?.(isGiven, value) ?? [];
  return { value, problems: [...problems, ...more.map(({ diagnostic }) => diagnostic)] };
}

/** What the user wrote stays as written. */
function stateOf({ attributes }: Schema, config: CtyObject, values: Found['values']): CtyObject {
  return objectOf(Object.keys(attributes).map((name) => [name, config[name] ?? values[name] ?? null]));
}

export function computedList(attributes: Attributes, description: string): Attribute {
  return { type: { kind: 'nested', nesting: 'list', attributes }, given: 'computed', description };
}

/** For data sources that find one thing by its name or by its id. */
export function nameOrId(isGiven: (name: string) => boolean): ProxwrightError[] {
  const [name, vmid] = [isGiven('name'), isGiven('vmid')];
  if (name !== vmid) return [];
  return [
    name
      ? badValue('vmid', '"name" and "vmid" cannot be used together.')
      : badValue('', 'Either "name" or "vmid" is required.', 'Set name = "…", or vmid = 9000.'),
  ];
}
