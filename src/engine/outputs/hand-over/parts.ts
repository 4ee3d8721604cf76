/**
 * What all hand-over scripts have in common: how they speak, stop, wait within bounds, and know addresses. They are for bash
 * 3.2 and newer, hold no secret, and every value from the stack enters them quoted.
 */
import { ProxwrightError } from '../../../base/errors.ts';
import type { Hint } from '../../../base/hint.ts';
import { commentText, shellQuoted } from '../../../base/shell.ts';
import { CONTRACT_VERSION } from '../contract.ts';
import type { StackOutputs, VmView } from '../outputs.ts';

/** The parts of a script in their order, each a piece of bash. */
export function scriptOf(
  { stack }: Pick<StackOutputs, 'stack'>,
  head: { readonly format: string; readonly purpose: string; readonly settings: readonly string[] },
  parts: readonly string[],
): string {
  const comment = [
    `Stack ${stack}: ${head.purpose}`,
    `Written by "proxwright output --format ${head.format}", contract version ${CONTRACT_VERSION}.`,
    'It may be run again at any time: what is done already is left alone. It holds no secret.',
    '',
    'Settings, all of them environment variables:',
    ...head.settings.map((line) => `  ${line}`),
    '  ADDRESS_<VM id>     network address of a VM, where it is another one than below',
    '  WAIT_SECONDS        bound of each wait (600)',
  ];
  const lines = comment.map((line) => `# ${commentText(line)}`.trimEnd());
  return [`#!/usr/bin/env bash\n${lines.join('\n')}`, PRELUDE, ...parts].map((part) => `${part.trim()}\n`).join('\n');
}

const PRELUDE = `
set -euo pipefail
umask 077
wait_seconds=\${WAIT_SECONDS:-600}
pause_seconds=\${PAUSE_SECONDS:-5}
input=''

say() { printf '%s\\n' "$*"; }

stop() {
  printf 'stopped: %s\\n' "$*" >&2
  exit 1
}

# private_folder FOLDER NAME...: makes it, and keeps what is secret in it out of git.
private_folder() {
  mkdir -p "$1"
  [ -e "$1/.gitignore" ] || printf '%s\\n' "\${@:2}" >"$1/.gitignore"
}

need() { command -v "$1" >/dev/null 2>&1 || stop "$1 is not installed. $2"; }

# bounded SECONDS COMMAND...: runs a program, and ends it when it takes longer. It reads the text in $input.
bounded() {
  local limit=$1 program watcher code=0
  shift
  "$@" <<<"$input" &
  program=$!
  (
    for ((waited = 0; waited < limit; waited++)); do
      sleep 1
      kill -0 "$program" || exit 0
    done
    kill "$program"
  ) >/dev/null 2>&1 &
  watcher=$!
  disown "$watcher"
  wait "$program" || code=$?
  kill "$watcher" 2>/dev/null || true
  return "$code"
}

# wait_for WHAT COMMAND...: tries until it succeeds, but not longer than WAIT_SECONDS.
wait_for() {
  local what=$1 began=$SECONDS answer
  shift
  until answer=$("$@" 2>&1); do
    ((SECONDS - began < wait_seconds)) || stop "$what: not within $wait_seconds s. The last answer was: \${answer:-none}"
    sleep "$pause_seconds"
  done
}
`;

/** Variables with the addresses, and a stop where one is missing that says what to type. */
export function addressPart(vms: readonly VmView[]): string {
  const known = vms.flatMap(({ vmid, ip }) =>
    vmid === null ? [] : [`ADDRESS_${vmid}=\${ADDRESS_${vmid}:-${ip === null ? '' : shellQuoted(ip)}}`],
  );
  return [
    '# Network addresses, by VM id.',
    ...known,
    '',
    "missing=''",
    ...vms.map(({ name, vmid, nics }) => {
      if (vmid === null) return `missing+=${shellQuoted(`\n  ${name} has not been made yet. Type: proxwright apply`)}`;
      const macs = nics.map(({ mac }) => mac).filter((mac) => mac !== null);
      const lookUp = macs.length > 0 ? ` Look up ${macs.join(' or ')} at your DHCP server, and` : ' Find it out, and';
      const words = `\n  ${name} (VM ${vmid}) has no known address.${lookUp} type: export ADDRESS_${vmid}=<its address>`;
      return `[ -n "$ADDRESS_${vmid}" ] || missing+=${shellQuoted(words)}`;
    }),
    '[ -z "$missing" ] || stop "addresses are missing; nothing was done.$missing',
    'Then run this again."',
  ].join('\n');
}

/** In a script after `addressPart`. */
export const addressOf = ({ vmid }: VmView) => `"$ADDRESS_${vmid ?? 'unknown'}"`;

/** An array of bash, of words that are quoted already. */
export function arrayPart(name: string, words: readonly string[]): string {
  return `${name}=(${words.join(' ')})`;
}

export function nothingToHandOver(format: string, detail: string, hint: Hint | string): ProxwrightError {
  return new ProxwrightError({ code: 'MISSING_REFERENCE', where: { file: `--format ${format}` }, detail, hint });
}
