/**
 * Checksums of what Proxwright writes and reads back: state, journal lines and plan files. They detect damage, not
 * forgery; against forgery, a plan file can be signed. Files of older versions have none and are accepted; strict
 * schemas refuse a checksum whose own key is damaged.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../base/secret.ts';
import { canonicalJson, fingerprint } from '../kinds/fingerprint.ts';

/** Of JSON values; the order of keys and the layout of the text do not matter. */
export function checksumOf(content: unknown): string {
  return fingerprint(content);
}

export interface Sealed {
  /** Without the checksum. */
  readonly content: unknown;
  /** False if there is a checksum that does not match the content. */
  readonly isSound: boolean;
}

/** A value as it was read, and whether it is the one that was written. */
export function sealed(raw: unknown): Sealed {
  if (typeof raw !== 'object' || raw === null || !('checksum' in raw)) return { content: raw, isSound: true };
  const { checksum, ...content } = raw;
  return { content, isSound: checksum === checksumOf(content) };
}

const ALGORITHM = 'hmac-sha256';

/**
 * Proves that the author of the content has the key. `purpose` prevents a signature from being valid for anything else.
 */
export function signatureOf(content: unknown, purpose: string, key: Secret): string {
  const digest = createHmac('sha256', key.reveal())
    .update(`${purpose}\n${canonicalJson(content)}`)
    .digest('hex');
  return `${ALGORITHM}:${digest}`;
}

export function isSignedBy(signature: string, content: unknown, purpose: string, key: Secret): boolean {
  const [given, right] = [Buffer.from(signature), Buffer.from(signatureOf(content, purpose, key))];
  return given.length === right.length && timingSafeEqual(given, right);
}

/** The same value with its keys in a fixed order, so that equal values are written as equal text. */
export function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, entry]) => [key, inOrder(entry)]));
}
