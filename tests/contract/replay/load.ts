/** Reads the recorded scenarios from disk and refuses anything the replayer would not understand. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Scenario } from './types.ts';

const CONTRACT_FOLDER = new URL('../', import.meta.url);
const SCENARIO_FOLDER = new URL('scenarios/', CONTRACT_FOLDER);

const COMMON = ['id', 'kind', 'note', 'cleanup'];
const REQUEST_PARTS =
  'auth method path params encoding raw contentType parts csrf authStyle chunked loose ordered'.split(' ');

/** Every field a step of its kind may have; one more would be a rule that we silently ignore. */
const KNOWN_FIELDS: Readonly<Record<string, readonly string[]>> = {
  request: [...COMMON, ...REQUEST_PARTS, 'response', 'allowed', 'token', 'ms'],
  await: [...COMMON, 'auth', 'task', 'optional', 'response', 'allowed', 'loose', 'ordered', 'ms'],
  sleep: [...COMMON, 'ms'],
  parallel: [...COMMON, 'requests', 'orderFree', 'anyOf', 'loose'],
  awaitgroup: [...COMMON, 'auth', 'tasks', 'responses', 'expectOk', 'loose'],
  poll: [...COMMON, 'request', 'until', 'samples', 'allowed', 'allowedFinal', 'loose', 'every_ms', 'timeout_ms'],
};

export function scenarioNames(): readonly string[] {
  return readdirSync(SCENARIO_FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.replace(/\.json$/, ''))
    .sort();
}

export function loadScenario(name: string): Scenario {
  const scenario = readContractJson<Scenario>(`scenarios/${name}.json`);
  for (const step of scenario.steps) {
    checkFields(`${name} ${step.id}`, step, KNOWN_FIELDS[step.kind]);
    if (step.kind === 'poll') checkFields(`${name} ${step.id} request`, step.request, REQUEST_PARTS);
    if (step.kind === 'parallel') {
      for (const request of step.requests) checkFields(`${name} ${request.id}`, request, KNOWN_FIELDS.request);
    }
  }
  return scenario;
}

export function loadAllScenarios(): readonly Scenario[] {
  return scenarioNames().map(loadScenario);
}

/** A data file beside the tests; its shape is ours, and `T` states it. */
export function readContractJson<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, CONTRACT_FOLDER), 'utf8')) as T;
}

function checkFields(where: string, value: object, known: readonly string[] | undefined): void {
  const strange = Object.keys(value).filter((key) => !known?.includes(key));
  if (strange.length > 0) throw new Error(`${where}: the replayer does not know ${strange.join(', ')}`);
}
