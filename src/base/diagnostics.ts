/**
 * The shape of every problem and warning in the terminal, in JSON and in the plugin protocol. Each front end renders it
 * in its own way; `formatDiagnostic` is the plain-text form that they share.
 */
import { type Hint, type HintLanguage, hintIn, OWN_LANGUAGE } from './hint.ts';

export type Severity = 'error' | 'warning';

/** Where a problem is. Every part is optional, because each layer knows different ones. */
export interface Where {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** The name of a resource in the stack, such as `vm.web`. */
  readonly address?: string;
  /** A field of that resource: `nics.net0.vlan`. */
  readonly field?: string;
  readonly step?: string;
  readonly endpoint?: string;
  /** Method and API path, such as `POST /nodes/pve1/qemu/9000/clone`. */
  readonly request?: string;
  readonly upid?: string;
}

/** The facts of a problem for programs, so that they never parse its text. The detail says the same for people. */
export interface Facts {
  /** The message of the server. */
  readonly serverSaid?: string;
  /** The last lines in the log of the task that failed. */
  readonly taskLog?: readonly string[];
  /** The SHA-256 fingerprint of the certificate that the server presented. */
  readonly fingerprint?: string;
  /** Why there was no connection, as the operating system names it: `ENOTFOUND`. */
  readonly systemCode?: string;
  /** The missing privilege and its path: `Sys.Audit on /`. */
  readonly needs?: string;
}

export interface Diagnostic {
  readonly severity: Severity;
  readonly code: string;
  /** What happened: constant for its code, a few words, no names, no full stop. */
  readonly summary: string;
  /** Why, in full sentences, with the values involved and the server's own words in quotes. */
  readonly detail: string;
  readonly where?: Where;
  /** What to do next: an action or a command to type. */
  readonly hint?: Hint;
  readonly facts?: Facts;
  readonly cause?: Diagnostic;
}

/** The facts of a problem, or of its cause. */
export function factsOf({ facts, cause }: Pick<Diagnostic, 'facts' | 'cause'>): Facts {
  return facts ?? (cause ? factsOf(cause) : {});
}

export function formatWhere(where: Where): string {
  const position = where.file && [where.file, where.line, where.column].filter((part) => part !== undefined).join(':');
  const subject = [where.address, where.step && `step ${where.step}`].filter(Boolean).join(', ');
  const api = where.request ?? where.endpoint;
  return [position, subject, api, where.upid && `task ${where.upid}`].filter(Boolean).join(' — ');
}

export function formatDiagnostic(diagnostic: Diagnostic): string {
  return diagnosticIn(OWN_LANGUAGE, diagnostic);
}

/** With its hint in the language of a front end. */
export function diagnosticIn(language: HintLanguage, diagnostic: Diagnostic): string {
  const place = diagnostic.where && formatWhere(diagnostic.where);
  const lines = [
    `${diagnostic.severity}: ${diagnostic.summary} [${diagnostic.code}]`,
    place && `  at ${place}`,
    ...indented(diagnostic.detail),
    ...indented(diagnostic.hint ? hintIn(language, diagnostic.hint) : ''),
  ];
  return lines.filter(Boolean).join('\n');
}

function indented(text: string): string[] {
  return text === '' ? [] : text.split('\n').map((line) => `  ${line}`);
}

/** How many addresses a folded problem lists. */
const MAX_LISTED = 3;

/** For people: problems that differ only in the resource they are about become one, which lists the resources. */
export function foldDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const groups = new Map<string, Diagnostic[]>();
  for (const diagnostic of diagnostics) {
    const { severity, code, detail, where = {}, hint } = diagnostic;
    const { address = '', ...place } = where;
    const anonymous = (text: string) => (address === '' ? text : text.replaceAll(address, '…'));
    const key = JSON.stringify([severity, code, anonymous(detail), place, hint && anonymous(hint.text)]);
    const group = groups.get(key);
    if (group) group.push(diagnostic);
    else groups.set(key, [diagnostic]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first || group.length === 1) return group;
    const addresses = [...new Set(group.flatMap(({ where }) => where?.address ?? []))];
    const more = addresses.length - MAX_LISTED;
    const listed = addresses.slice(0, MAX_LISTED).join(', ') + (more > 0 ? ` and ${more} more` : '');
    return [{ ...first, where: { ...first.where, address: listed } }];
  });
}
