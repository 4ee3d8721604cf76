/**
 * What the server said, wherever it put it: in `message` of the body (since PVE 8.3), in the reason phrase (always, but
 * only its first line), in `errors` by parameter, or, before routing, as the plain body.
 */
import type { WireResponse } from '../../base/transport.ts';

export interface ServerWords {
  readonly status: number;
  readonly message: string;
  /** Sorted by key, because Proxmox sends them in random order. */
  readonly errors: readonly { readonly key: string; readonly text: string }[];
  /** For a message to people: the text in quotes, then one line for each parameter. */
  readonly quoted: string;
}

/** More than anybody reads, and less than a hostile server can send. */
const MAX_TEXT = 2_000;

export function serverWords(response: WireResponse, clean: (text: string) => string): ServerWords {
  const body = objectOf(response.body);
  const shorten = (text: string) => clean(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text).trim();
  const spoken = typeof body?.message === 'string' ? body.message : response.reason || plainText(response.body);
  const message = shorten(spoken) || 'no message';
  const errors = Object.entries(isRecord(body?.errors) ? body.errors : {})
    .map(([key, value]) => ({
      key: shorten(key),
      text: shorten(typeof value === 'string' ? value : JSON.stringify(value)),
    }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const lines = errors.map(({ key, text }) => `${key}: ${text.replace(/\s*\n\s*/g, '; ')}`);
  return {
    status: response.status,
    message,
    errors,
    quoted: [`"${message}"${lines.length > 0 ? '' : '.'}`, ...lines].join('\n'),
  };
}

/** Pages of proxies and captive portals are markup, which helps nobody. */
function plainText(body: string): string {
  return /^\s*</.test(body) ? '' : body;
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
