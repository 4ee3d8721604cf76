/** Configurations as text. JSON is HCL as far as values go, and `${…}` in it is a reference. */

export const SOURCE = 'proxwright.dev/proxwright/proxwright';

export type Attributes = Readonly<Record<string, unknown>>;

export function settings(provider: Attributes = {}): string {
  return `terraform {
  required_providers {
    proxwright = { source = "${SOURCE}" }
  }
}
provider "proxwright" {
${lines(provider)}}
`;
}

export function vm(label: string, attributes: Attributes, more = ''): string {
  return resource('proxwright_vm', label, attributes, more);
}

/** Any other resource of ours. */
export function resource(type: string, label: string, attributes: Attributes, more = ''): string {
  return `resource "${type}" "${label}" {\n${lines(attributes)}${more}}\n`;
}

export function data(type: string, label: string, attributes: Attributes = {}): string {
  return `data "${type}" "${label}" {\n${lines(attributes)}}\n`;
}

export function output(name: string, value: string): string {
  return `output "${name}" {\n  value = ${value}\n}\n`;
}

/** An expression of the host's language where a value stands. */
export function ref(expression: string): string {
  return `\${${expression}}`;
}

/** One attribute a line. */
function lines(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([name, value]) => `  ${name} = ${JSON.stringify(value)}\n`)
    .join('');
}

/** A small VM that starts at once, without waiting until it is ready. */
export const SMALL = {
  name: 'web',
  node: 'pve1',
  clone: { template: 'ubuntu-24.04' },
  memory: '1GiB',
} as const;
