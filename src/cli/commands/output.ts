/** `proxwright output`: what a stack gives to others, from what is remembered of its VMs; the cluster is not asked. */
import { SpecError } from '../../base/errors.ts';
import { ansibleInventory } from '../../engine/outputs/ansible.ts';
import { readOutput, type StackOutputs, stackOutputs } from '../../engine/outputs/outputs.ts';
import { outputsAsJson, outputsAsShell, outputsForPeople } from '../../engine/outputs/render.ts';
import { recallState } from '../../state/recall.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';

export interface OutputOptions extends StackOptions {
  readonly format?: string;
  readonly contract?: string;
}

const FORMATS = ['human', 'json', 'env', 'ansible'] as const;
type Format = (typeof FORMATS)[number];

export async function runOutput(
  name: string | undefined,
  options: OutputOptions,
  host: CommandHost,
): Promise<ExitCode> {
  const format = formatOf(options, host);
  const { stack, store } = await openStack(options, host);
  const { state } = await recallState(store, stack.name);
  const outputs = withContract(stackOutputs(stack, state), options.contract);
  const print = (text: string) => host.terminal.result(text.replace(/\n$/, ''));
  if (name !== undefined) {
    const { value, warnings } = readOutput(outputs, name);
    for (const warning of warnings) host.terminal.diagnostic(warning);
    print(format === 'human' ? plainText(value) : one(name, value, format));
    return 0;
  }
  for (const warning of outputs.warnings) host.terminal.diagnostic(warning);
  print(render(outputs, format));
  return 0;
}

function formatOf({ format, contract }: OutputOptions, { json }: CommandHost): Format {
  const wanted = format ?? (json || contract !== undefined ? 'json' : 'human');
  const known = FORMATS.find((each) => each === wanted);
  if (known) return known;
  throw badOption('--format', `"${wanted}" is not a format of outputs.`, `Choose one of ${FORMATS.join(', ')}.`);
}

/** A contract is the part of the outputs that one kind of consumer reads. */
function withContract(outputs: StackOutputs, contract: string | undefined): StackOutputs {
  if (contract === undefined) return outputs;
  if (contract !== 'talos') throw badOption('--contract', `There is no contract "${contract}".`, 'There is: talos.');
  const kept = Object.entries(outputs.values).filter(([key]) => key === 'contract_version' || key.startsWith('talos_'));
  return { ...outputs, values: Object.fromEntries(kept) as unknown as StackOutputs['values'] }; // fewer keys, same values
}

function render(outputs: StackOutputs, format: Format): string {
  switch (format) {
    case 'human':
      return outputsForPeople(outputs);
    case 'json':
      return outputsAsJson(outputs);
    case 'env':
      return outputsAsShell(outputs);
    case 'ansible':
      return ansibleInventory(outputs);
  }
}

function one(name: string, value: unknown, format: Exclude<Format, 'human'>): string {
  if (format === 'ansible') {
    throw badOption('--format', 'An inventory holds all VMs; a single output has no such form.', 'Leave the name out.');
  }
  if (format === 'json') return JSON.stringify(value, undefined, 2);
  return outputsAsShell({ values: { [name]: value } as unknown as StackOutputs['values'] }); // one of them
}

/** For scripts: a list a line each, unknown values as empty lines. */
function plainText(value: unknown): string {
  if (value === null) return '';
  if (Array.isArray(value)) return value.map((entry) => entry ?? '').join('\n');
  return typeof value === 'object' ? JSON.stringify(value, undefined, 2) : String(value);
}

function badOption(option: string, detail: string, hint: string): SpecError {
  return new SpecError({ code: 'BAD_VALUE', where: { file: option }, detail, hint });
}
