/** `proxwright output`: the outputs of a stack, from its state; the server is not contacted. */

import { CONTRACTS, contractJsonSchema, type OutputName } from '../../../engine/outputs/contract.ts';
import { k3sScript } from '../../../engine/outputs/hand-over/k3s.ts';
import { rancherScript } from '../../../engine/outputs/hand-over/rancher.ts';
import { talosScript } from '../../../engine/outputs/hand-over/talos.ts';
import { readOutput, type StackOutputs, stackOutputs } from '../../../engine/outputs/outputs.ts';
import {
  ansibleInventory,
  dnsmasqReservations,
  iscReservations,
  outputsAsEnvironment,
  outputsAsJson,
  outputsAsShell,
  outputsForPeople,
} from '../../../engine/outputs/render.ts';
import { readRecorded } from '../../../state/recorded.ts';
import { badOption, type CommandDeps, type ExitCode, type StackOptions } from '../../command.ts';
import { OUTPUT_FORMATS } from '../../options.ts';
import { openStack } from '../../stack/open.ts';
import { chooseView, showProblems } from '../../views/view.ts';

export interface OutputOptions extends StackOptions {
  readonly format?: string;
  readonly contract?: string;
}

/** Formats that a single output has as well. */
const VALUE_FORMATS = {
  human: outputsForPeople,
  json: outputsAsJson,
  env: outputsAsEnvironment,
  shell: outputsAsShell,
} as const;

export const FORMATS: Readonly<Record<(typeof OUTPUT_FORMATS)[number], (outputs: StackOutputs) => string>> = {
  ...VALUE_FORMATS,
  ansible: ansibleInventory,
  dnsmasq: dnsmasqReservations,
  'isc-dhcp': iscReservations,
  'talos-script': talosScript,
  'k3s-script': k3sScript,
  'rancher-script': rancherScript,
  schema: contractJsonSchema,
};

const JSON_FORMATS = new Set(['json', 'schema']);

export async function runOutput(
  name: string | undefined,
  options: OutputOptions,
  deps: CommandDeps,
): Promise<ExitCode> {
  const format = formatOf(options, deps);
  const { stack, store } = await openStack(options, deps);
  const { state } = await readRecorded(store, stack.name);
  const outputs = withContract(stackOutputs(stack, state), options.contract);
  const print = (text: string) =>
    JSON_FORMATS.has(format.name)
      ? deps.terminal.data(JSON.parse(text), 2)
      : deps.terminal.result(text.replace(/\n$/, ''));
  if (name !== undefined) {
    const { value, warnings } = readOutput(outputs, name);
    for (const warning of warnings) deps.terminal.diagnostic(warning);
    print(one(name, value, format.name));
    return 0;
  }
  const text = format.render(outputs);
  // The schema does not depend on this stack.
  showProblems(format.name === 'schema' ? [] : outputs.warnings, deps);
  print(text);
  return 0;
}

function formatOf({ format, contract }: OutputOptions, deps: CommandDeps) {
  const usual = chooseView(deps, { human: () => 'human', json: () => 'json' });
  const name = format ?? (contract === undefined ? usual : 'json');
  const known = OUTPUT_FORMATS.find((each) => each === name);
  if (known) return { name, render: FORMATS[known] };
  throw badOption('--format', `There is no output format "${name}".`, `Choose one of ${OUTPUT_FORMATS.join(', ')}.`);
}

/** A contract is the set of outputs that one kind of consumer reads. */
function withContract(outputs: StackOutputs, contract: string | undefined): StackOutputs {
  if (contract === undefined) return outputs;
  const names = Object.hasOwn(CONTRACTS, contract) ? CONTRACTS[contract] : undefined;
  if (!names) {
    const known = Object.keys(CONTRACTS).join(', ');
    throw badOption('--contract', `There is no contract "${contract}".`, `Choose one of ${known}.`);
  }
  return { ...outputs, values: only(outputs.values, names) };
}

/** Fewer keys, same values. */
function only(values: StackOutputs['values'], names: readonly OutputName[]): StackOutputs['values'] {
  return Object.fromEntries(names.map((name) => [name, values[name]])) as unknown as StackOutputs['values'];
}

function one(name: string, value: unknown, format: string): string {
  const values = { [name]: value } as unknown as StackOutputs['values']; // one of them
  switch (format) {
    case 'human':
      return plainText(value);
    case 'json':
      return JSON.stringify(value, undefined, 2);
    case 'env':
      return outputsAsEnvironment({ values });
    case 'shell':
      return outputsAsShell({ values });
    default:
      throw badOption(
        '--format',
        `The format "${format}" covers all VMs; it cannot show a single output.`,
        `Omit the name, or choose one of ${Object.keys(VALUE_FORMATS).join(', ')}.`,
      );
  }
}

/** For scripts: one line for each element of a list, and an empty line for an unknown value. */
function plainText(value: unknown): string {
  if (value === null) return '';
  if (Array.isArray(value)) return value.map((entry) => entry ?? '').join('\n');
  return typeof value === 'object' ? JSON.stringify(value, undefined, 2) : String(value);
}
