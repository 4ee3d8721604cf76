/** Which requests and tasks a rule is about. */
import type { RequestInfo } from './faults.ts';
import type { FaultRule } from './rule.ts';

export function requestMatcher({ method, path }: FaultRule['match']): (info: RequestInfo) => boolean {
  const matchesPath = path === undefined ? () => true : pathPattern(path);
  return (info) => (method === undefined || method === info.method) && matchesPath(info.path);
}

export function taskMatcher({ task = '*' }: FaultRule['match']): (type: string) => boolean {
  const pattern = new RegExp(`^${wildcards(task)}$`);
  return (type) => pattern.test(type);
}

/** `clone` and `storage/local` match the end of a path, `/nodes/{node}/qemu` the whole. */
export function pathPattern(pattern: string): (path: string) => boolean {
  const isWhole = pattern.startsWith('/');
  const parts = pattern
    .split('/')
    .filter(Boolean)
    .map((part) => (/^\{.*\}$/.test(part) ? '[^/]+' : wildcards(part)));
  const expression = new RegExp(`${isWhole ? '^/' : '(?:^|/)'}${parts.join('/')}$`);
  return (path) => expression.test(path);
}

function wildcards(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*\*|\*/g, (stars) => (stars === '**' ? '.*' : '[^/]*'));
}
