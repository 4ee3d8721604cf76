/** Outputs as text: for people, for programs, for shells. Unknown values are an em dash, null and an empty string. */
import { DEPRECATED_OUTPUTS, type OutputName } from './contract.ts';
import type { StackOutputs } from './outputs.ts';
import { shellQuoted } from './shell.ts';

export function outputsAsJson({ values }: Pick<StackOutputs, 'values'>): string {
  return `${JSON.stringify(values, undefined, 2)}\n`;
}

/** A table of the VMs, and below it what else there is; old names are not advertised. */
export function outputsForPeople({ values, vms }: StackOutputs): string {
  const rows = vms.map(({ name, vmid, node, role, status, nics }) => [
    name,
    String(vmid ?? UNKNOWN),
    node,
    role ?? UNKNOWN,
    status,
    nics.map(({ slot, ip }) => `${slot} ${ip ?? UNKNOWN}`).join(', ') || UNKNOWN,
  ]);
  const hasTalos = vms.some(({ isTalos }) => isTalos);
  const others = Object.entries(values).flatMap(([name, value]) =>
    isAdvertised(name) && (typeof value !== 'object' || (value === null && hasTalos))
      ? [[name, String(value ?? UNKNOWN)]]
      : [],
  );
  const lists = Object.entries(values).flatMap(([name, value]) =>
    isAdvertised(name) && Array.isArray(value) && value.length > 0
      ? [[name, value.map((entry) => entry ?? UNKNOWN).join(', ')]]
      : [],
  );
  return `${columns([HEADINGS, ...rows])}\n${columns([...others, ...lists])}`;
}

const UNKNOWN = '—';
const HEADINGS = ['VM', 'ID', 'NODE', 'ROLE', 'STATUS', 'ADDRESSES'];

const isAdvertised = (name: string) => DEPRECATED_OUTPUTS[name as OutputName] === undefined; // any text may be looked up

function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}

/**
 * For files of variables and for `eval`: the names of the contract in capitals. Lists are separated by blanks and hold what
 * is known, maps are JSON.
 */
export function outputsAsEnvironment({ values }: Pick<StackOutputs, 'values'>): string {
  return assignments(values)
    .map((line) => `${line}\n`)
    .join('');
}

/** For `eval "$(proxwright output --format shell)"`: the same, and programs that the shell starts see them too. */
export function outputsAsShell({ values }: Pick<StackOutputs, 'values'>): string {
  return assignments(values)
    .map((line) => `export ${line}\n`)
    .join('');
}

function assignments(values: object): string[] {
  return Object.entries(values).map(([name, value]) => `${name.toUpperCase()}=${shellQuoted(shellText(value))}`);
}

function shellText(value: unknown): string {
  if (value === null) return '';
  if (Array.isArray(value)) return value.filter((entry) => entry !== null).join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
