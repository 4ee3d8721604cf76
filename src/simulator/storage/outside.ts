/** The world outside, as a node's requests find it: which hosts exist, and what they answer. */
import { createHash } from 'node:crypto';
import type { RemoteFile, World } from '../world/world.ts';
import type { DownloadSource } from './wget.ts';

export type OutsideAnswer =
  | { readonly kind: 'file'; readonly remote: RemoteFile }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'refused' }
  | { readonly kind: 'unresolvable' };

/** Rule [assumed]: hosts that serve something answer 404 for the rest; bare addresses refuse; other names do not exist. */
export function lookUp(world: World, url: string): OutsideAnswer {
  const remote = world.downloads.get(url);
  if (remote?.trouble === 'refused' || remote?.trouble === 'unresolvable') return { kind: remote.trouble };
  if (remote) return remote.status === 200 ? { kind: 'file', remote } : { kind: 'status', status: remote.status };
  const { host, port, address } = sourceOf(url);
  for (const [known, { trouble }] of world.downloads) {
    const other = sourceOf(known);
    if (other.host === host && other.port === port && trouble === undefined) return { kind: 'status', status: 404 };
  }
  return address === undefined || host === 'localhost' ? { kind: 'refused' } : { kind: 'unresolvable' };
}

export function sourceOf(url: string): DownloadSource {
  const match = /^(https?):\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?/.exec(url);
  const host = match?.[2] ?? '';
  const isAddress = /^[\d.]+$/.test(host) || host.startsWith('[');
  return {
    host,
    port: match?.[3] ?? (match?.[1] === 'https' ? '443' : '80'),
    address: isAddress ? undefined : host === 'localhost' ? '127.0.0.1' : addressFor(host),
  };
}

/** Rule [assumed]: every host has one address, from the range that is meant for examples. */
function addressFor(host: string): string {
  const [octet = 0] = createHash('sha256').update(host).digest();
  return `203.0.113.${(octet % 254) + 1}`;
}

export function reasonOf(status: number): string {
  return REASONS[status] ?? 'Unknown';
}

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  410: 'Gone',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};
