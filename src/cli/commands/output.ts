/** `proxwright output`: what a stack gives to others, from what is remembered of its VMs; the cluster is not asked. */
import { ProxwrightError } from '../../base/errors.ts';
import { ansibleInventory } from '../../engine/outputs/ansible.ts';
import { CONTRACTS, contractJsonSchema, type OutputName } from '../../engine/outputs/contract.ts';
import { dnsmasqReservations, iscReservations } from '../../engine/outputs/dhcp.ts';
import { k3sScript } from '../../engine/outputs/hand-over/k3s.ts';
import { rancherScript } from '../../engine/outputs/hand-over/rancher.ts';
import { talosScript } from '../../engine/outputs/hand-over/talos.ts';
import { readOutput, type StackOutputs, stackOutputs } from '../../engine/outputs/outputs.ts';
import { outputsAsEnvironment, outputsAsJson, outputsAsShell, outputsForPeople } from '../../engine/outputs/render.ts';
import { recallState } from '../../state/recall.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';

export interface OutputOptions extends StackOptions {
  readonly format?: string;
  readonly contract?: string;
}

/** Forms that a single output can have too. */
const VALUE_FORMATS = {
  human: outputsForPeople,
  json: outputsAsJson,
  env: outputsAsEnvironment,
  shell: outputsAsShell,
} as const;

export const FORMATS: Readonly<Record<string, (outputs: StackOutputs) => string>> = {
  ...VALUE_FORMATS,
  ansible: ansibleInventory,
  dnsmasq: dnsmasqReservations,
  'isc-dhcp': iscReservations,
  'talos-script': talosScript,
  'k3s-script': k3sScript,
  'rancher-script': rancherScript,
  schema: contractJsonSchema,
};

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
    print(one(name, value, format.name));
    return 0;
  }
  const text = format.render(outputs);
  // The schema is the same for every stack, whatever is known of this one.
  for (const warning of format.name === 'schema' ? [] : outputs.warnings) host.terminal.diagnostic(warning);
  print(text);
  return 0;
}

function formatOf({ format, contract }: OutputOptions, { json }: CommandHost) {
  const name = format ?? (json || contract !== undefined ? 'json' : 'human');
  const render = Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (render) return { name, render };
  const names = Object.keys(FORMATS).join(', ');
  throw badOption('--format', `"${name}" is not a format of outputs.`, `Choose one of ${names}.`);
}

/** A contract is the part of the outputs that one kind of consumer reads. */
function withContract(outputs: StackOutputs, contract: string | undefined): StackOutputs {
  if (contract === undefined) return outputs;
  const names = Object.hasOwn(CONTRACTS, contract) ? CONTRACTS[contract] : undefined;
  if (!names) {
    const known = Object.keys(CONTRACTS).join(', ');
    throw badOption('--contract', `There is no contract "${contract}".`, `There is: ${known}.`);
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
        `"${format}" is made of all VMs; a single output has no such form.`,
        `Leave the name out, or choose one of ${Object.keys(VALUE_FORMATS).join(', ')}.`,
      );
  }
}

/** For scripts: a list a line each, unknown values as empty lines. */
function plainText(value: unknown): string {
  if (value === null) return '';
  if (Array.isArray(value)) return value.map((entry) => entry ?? '').join('\n');
  return typeof value === 'object' ? JSON.stringify(value, undefined, 2) : String(value);
}

function badOption(option: string, detail: string, hint: string): ProxwrightError {
  return new ProxwrightError({ code: 'BAD_VALUE', where: { file: option }, detail, hint });
}
