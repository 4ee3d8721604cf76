/**
 * What all hand-over scripts share: output, errors, waiting with a timeout, and addresses. The scripts are for bash 3.2 and
 * newer, contain no secret, and quote every value from the stack.
 */
import { ProxwrightError } from '../../../base/errors.ts';
import type { Hint } from '../../../base/hint.ts';
import { commentText, shellQuoted } from '../../../base/text/shell.ts';
import type { MachineView } from '../../../kinds/shown.ts';
import { CONTRACT_VERSION } from '../contract.ts';
import type { StackOutputs } from '../outputs.ts';

/** `parts`: pieces of bash, in their order. */
export function scriptOf(
  { stack }: Pick<StackOutputs, 'stack'>,
  head: { readonly format: string; readonly purpose: string; readonly settings: readonly string[] },
  parts: readonly string[],
): string {
  const comment = [
    `Stack ${stack}: ${head.purpose}`,
    `Written by "proxwright output --format ${head.format}", contract version ${CONTRACT_VERSION}.`,
    'You can run it again at any time; it skips what is already done. It contains no secret.',
    '',
    'Settings (environment variables):',
    ...head.settings.map((line) => `  ${line}`),
    '  ADDRESS_<VM id>     network address of a VM, if it differs from the one below',
    '  WAIT_SECONDS        timeout of each wait (600)',
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

# private_folder FOLDER NAME...: creates the folder, and keeps its secret files out of git.
private_folder() {
  mkdir -p -- "$1"
  [ -e "$1/.gitignore" ] || printf '%s\\n' "\${@:2}" >"$1/.gitignore"
}

need() { command -v "$1" >/dev/null 2>&1 || stop "$1 is not installed. $2"; }

# bounded SECONDS COMMAND...: runs a program with a timeout and the text in $input as standard input.
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

# wait_for WHAT COMMAND...: retries until the command succeeds, for at most WAIT_SECONDS.
wait_for() {
  local what=$1 began=$SECONDS answer
  shift
  until answer=$("$@" 2>&1); do
    ((SECONDS - began < wait_seconds)) || stop "$what: timed out after $wait_seconds s. Last output: \${answer:-none}"
    sleep "$pause_seconds"
  done
}
`;

/** Variables with the addresses; the script stops if one is missing and says how to set it. */
export function addressPart(vms: readonly MachineView[]): string {
  const known = vms.flatMap(({ vmid, ip }) =>
    vmid === null ? [] : [`ADDRESS_${vmid}=\${ADDRESS_${vmid}:-${ip === null ? '' : shellQuoted(ip)}}`],
  );
  return [
    '# Network addresses, by VM id.',
    ...known,
    '',
    "missing=''",
    ...vms.map(({ name, vmid, nics }) => {
      if (vmid === null) return `missing+=${shellQuoted(`\n  ${name} does not exist yet. Run: proxwright apply`)}`;
      const macs = nics.map(({ mac }) => mac).filter((mac) => mac !== null);
      const lookUp = macs.length > 0 ? ` Look up ${macs.join(' or ')} on your DHCP server, then` : ' Find it, then';
      const words = `\n  ${name} (VM ${vmid}) has no known address.${lookUp} run: export ADDRESS_${vmid}=<its address>`;
      return `[ -n "$ADDRESS_${vmid}" ] || missing+=${shellQuoted(words)}`;
    }),
    '[ -z "$missing" ] || stop "addresses are missing; nothing was changed.$missing',
    'Then run this script again."',
  ].join('\n');
}

/** In a script after `addressPart`. */
export const addressOf = ({ vmid }: MachineView) => `"$ADDRESS_${vmid ?? 'unknown'}"`;

/**
 * What schedulers inside the cluster cannot see otherwise: the host of a VM, and its failure domain where the stack
 * names one. The key of the host is specific to Proxwright: Kubernetes has none, and a VM may move to another host.
 */
export function topologyLabels({
  node,
  zone,
}: Pick<MachineView, 'node' | 'zone'>): readonly (readonly [string, string])[] {
  return [
    ...(zone === null ? [] : [['topology.kubernetes.io/zone', zone] as const]),
    ['proxwright/host', node] as const,
  ];
}

/** `key=value key=value`; neither has characters that a shell would read. */
export const labelWords = (vm: MachineView, option = '') =>
  topologyLabels(vm)
    .map(([key, value]) => `${option}${key}=${value}`)
    .join(' ');

/** A bash array of quoted words. */
export function arrayPart(name: string, words: readonly string[]): string {
  return `${name}=(${words.join(' ')})`;
}

export function nothingToHandOver(format: string, detail: string, hint: Hint | string): ProxwrightError {
  return new ProxwrightError({ code: 'MISSING_REFERENCE', where: { file: `--format ${format}` }, detail, hint });
}
