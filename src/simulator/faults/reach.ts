/**
 * Whether a fault rule can strike at all: a pattern that no endpoint, task, VM, node or storage fits is usually a typing
 * error, and a learner would wait for it in vain. Pure.
 */
import { closest } from '../../base/text/closest.ts';
import { ROUTES } from '../api/index.ts';
import type { World } from '../world/world.ts';
import { type FaultKind, type FaultRule, isTaskKind, taskMatcher } from './rule.ts';

/** The tasks that the simulator starts. */
export const TASK_TYPES: readonly string[] = [
  ...['qmclone', 'qmconfig', 'qmcreate', 'qmdestroy', 'qmigrate', 'qmmove', 'qmtemplate', 'resize'],
  ...['qmstart', 'qmstop', 'qmshutdown', 'qmreboot', 'qmreset', 'qmsuspend', 'qmresume', 'qmpause'],
  ...['qmsnapshot', 'qmdelsnapshot', 'qmrollback', 'hastart', 'hastop', 'hamigrate'],
  ...['startall', 'stopall', 'suspendall', 'migrateall', 'download', 'imgcopy', 'imgdel'],
];

/** Why the rule cannot strike, and what was probably meant; undefined if it can. */
export function whyNever(
  rule: FaultRule,
  world: Pick<World, 'nodes' | 'storages' | 'vms' | 'containers'>,
): string | undefined {
  return neverByTask(rule) ?? neverByRequest(rule) ?? neverInWorld(rule, world);
}

function neverByTask({ kind, match }: FaultRule): string | undefined {
  if (!isTaskKind(kind) || match.task === undefined || TASK_TYPES.some(taskMatcher(match))) return undefined;
  return `No task has the type "${match.task}". ${guess(match.task, TASK_TYPES) ?? `Types: ${TASK_TYPES.join(', ')}.`}`;
}

interface KnownRequest {
  readonly method: string;
  readonly parts: readonly string[];
}

const REQUESTS: readonly KnownRequest[] = Object.keys(ROUTES).map((name) => {
  const [method = '', path = ''] = name.split(' ');
  return { method, parts: path.split('/').filter(Boolean) };
});

/** Kinds that concern only some requests: which, in words and as a test. The others concern every request. */
const CONCERNS: Readonly<Partial<Record<FaultKind, readonly [string, (request: KnownRequest) => boolean]>>> = {
  lock: ['requests that change a VM', changesVm],
  'stranger-edit': ['requests that change a VM', changesVm],
  'stranger-lock': ['requests that change a VM', changesVm],
  'stranger-id': ['requests that create or clone a VM', ({ method, parts }) => method === 'POST' && makesVm(parts)],
  'storage-lock': ['requests that change something', isChange],
  'users-lock': ['requests that change something', isChange],
  'disk-full': ['requests that change something', isChange],
  'agent-silent': ['requests to the guest agent', ({ parts }) => parts.includes('agent')],
  'task-unknown': ['reads of the status of a task', isTaskStatus],
};

function isChange({ method }: KnownRequest): boolean {
  return method !== 'GET';
}

function changesVm(request: KnownRequest): boolean {
  return isChange(request) && request.parts.includes('{vmid}') && !request.parts.includes('agent');
}

const makesVm = (parts: readonly string[]) => parts.at(-1) === 'clone' || parts.at(-1) === 'qemu';

function isTaskStatus({ parts, method }: KnownRequest): boolean {
  return method === 'GET' && parts.includes('tasks') && parts.at(-1) === 'status';
}

function neverByRequest({ kind, match: { method, path } }: FaultRule): string | undefined {
  if (isTaskKind(kind)) return undefined;
  const onPath = path === undefined ? REQUESTS : REQUESTS.filter(({ parts }) => fits(path, parts));
  if (path !== undefined && onPath.length === 0) {
    const last = path.split('/').findLast((part) => part !== '') ?? '';
    const ends = REQUESTS.flatMap(({ parts }) => parts.filter((part) => !part.startsWith('{')));
    return `No request has a path that fits "${path}". ${guess(last, ends) ?? 'The pattern is the end of a path, such as qemu/*/config.'}`;
  }
  const matching = method === undefined ? onPath : onPath.filter((request) => request.method === method);
  if (matching.length === 0) {
    const methods = [...new Set(onPath.map((request) => request.method))].sort();
    return `No ${method} request has such a path; there is ${methods.join(', ')}.`;
  }
  const [words, concerns] = CONCERNS[kind] ?? [];
  if (concerns && !matching.some(concerns)) return `The fault ${kind} strikes only ${words}.`;
  return undefined;
}

/**
 * Whether some request of an endpoint fits the pattern of a rule. A variable part can be anything; but a pattern whose words
 * are all values of variables, such as `clones` for the name of a pool, is not what its author meant.
 */
function fits(pattern: string, parts: readonly string[]): boolean {
  const segments = pattern.split('/').filter(Boolean);
  const hasWords = segments.some((one) => !/[*{]/.test(one));
  const fitsFrom = (at: number, part: number, isNamed: boolean): boolean => {
    const one = segments[at];
    if (one === undefined) return isNamed && (!pattern.startsWith('/') || part < 0);
    const own = parts[part];
    if (own === undefined) return false;
    if (one.includes('**')) return fitsFrom(at - 1, part - 1, isNamed) || fitsFrom(at, part - 1, isNamed);
    return fitsPart(one, own) && fitsFrom(at - 1, part - 1, isNamed || one === own);
  };
  return fitsFrom(segments.length - 1, parts.length - 1, !hasWords);
}

function fitsPart(one: string, part: string): boolean {
  if (part.startsWith('{') || /^\{.*\}$/.test(one)) return true;
  return taskMatcher({ task: one })(part);
}

/** What the rule names and the cluster does not have now. A VM may still be created. */
function neverInWorld(rule: FaultRule, { nodes, storages, vms, containers }: Parameters<typeof whyNever>[1]) {
  const storage = 'storage' in rule ? rule.storage : undefined;
  if (storage !== undefined && !storages.has(storage)) {
    return `There is no storage "${storage}". Storages: ${[...storages.keys()].join(', ')}.`;
  }
  const parts = rule.match.path?.split('/').filter(Boolean) ?? [];
  const after = (word: string) => parts[parts.indexOf(word) + 1 || parts.length] ?? '*';
  const node = after('nodes');
  if (/^[a-z][\w-]*$/i.test(node) && !nodes.has(node)) {
    return `There is no node "${node}". Nodes: ${[...nodes.keys()].join(', ')}.`;
  }
  const vmid = after('qemu');
  if (/^\d+$/.test(vmid) && !vms.has(Number(vmid)) && !containers.has(Number(vmid))) {
    return `There is no VM ${vmid} now. The rule strikes once there is one.`;
  }
  return undefined;
}

function guess(word: string, known: readonly string[]): string | undefined {
  const near = closest(word, known);
  return near === undefined ? undefined : `Did you mean "${near}"?`;
}
