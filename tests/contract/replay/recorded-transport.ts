/**
 * A server that gives exactly the recorded answers, in the recorded order, with invented values for the placeholders.
 * It proves the replayer: against it every step of every scenario must match.
 */
import type { Clock } from '../../../src/base/clock.ts';
import type { Transport, WireRequest, WireResponse } from '../../../src/base/transport.ts';
import { bindingKey, fillTemplate, type Placeholder, parseTemplate, wholeNumber } from './placeholders.ts';
import {
  type Answer,
  isList,
  isObject,
  type Json,
  type JsonObject,
  type RecordedAnswer,
  type Scenario,
  type Step,
  type TaskOutcome,
  type UpidShape,
} from './types.ts';

const UPID_NUMBERS = /^UPID:[^:]+:([^:]+):([^:]+):([^:]+):/;

/** Values for placeholders: the same for the same placeholder, different for different ones. */
export class Inventor {
  readonly #clock: Clock;
  readonly #values: Map<string, string>;
  readonly #upids: ReadonlyMap<string, UpidShape>;

  constructor(clock: Clock, scenario: Scenario, password: string) {
    this.#clock = clock;
    this.#values = new Map([['password', password]]);
    this.#upids = upidShapes(scenario);
  }

  /** The recorded value as a server would have sent it. */
  render(value: Json): Json {
    if (typeof value === 'string') {
      const number = wholeNumber(parseTemplate(value));
      const text = fillTemplate(value, (placeholder) => this.#valueFor(placeholder));
      return number && !number.asString ? Number(text) : text;
    }
    if (isList(value)) return value.map((element) => this.render(element));
    if (isObject(value)) return this.#renderObject(value);
    return value;
  }

  renderAnswer({ status, reason, body }: RecordedAnswer): Answer {
    return { status, reason: String(this.render(reason)), body: this.render(body) };
  }

  renderOutcome({ status, log }: TaskOutcome): TaskOutcome {
    return { status: this.render(status), log: log.map((line) => String(this.render(line))) };
  }

  /** A task's process id and times are those in its UPID. */
  #renderObject(value: JsonObject): JsonObject {
    const upid = typeof value.upid === 'string' ? UPID_NUMBERS.exec(String(this.render(value.upid))) : null;
    for (const [index, key] of ['pid', 'pstart', 'starttime'].entries()) {
      const placeholder = typeof value[key] === 'string' ? wholeNumber(parseTemplate(value[key])) : undefined;
      if (upid && placeholder)
        this.#values.set(bindingKey(placeholder), String(Number.parseInt(upid[index + 1] ?? '', 16)));
    }
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.render(inner)]));
  }

  #valueFor(placeholder: Placeholder): string {
    const key = bindingKey(placeholder);
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = this.#invent(placeholder, this.#values.size);
    this.#values.set(key, value);
    return value;
  }

  #invent(placeholder: Placeholder, serial: number): string {
    const hex = (digits: number) => serial.toString(16).padStart(digits, '0');
    const nowSeconds = Math.floor(this.#clock.now() / 1000);
    switch (placeholder.class) {
      case 'upid': {
        const shape = this.#upids.get(placeholder.name ?? '') ?? {
          node: 'pve1',
          type: 'qmother',
          id: '1',
          user: 'root@pam',
        };
        const start = nowSeconds.toString(16).toUpperCase().padStart(8, '0');
        return `UPID:${shape.node}:${hex(8).toUpperCase()}:00A1B2C3:${start}:${shape.type}:${shape.id}:${shape.user}:`;
      }
      case 'mac':
        return `BC:24:11:00:00:${hex(2).toUpperCase()}`;
      case 'uuid':
        return `00000000-0000-4000-8000-${hex(12)}`;
      case 'digest':
        return hex(40);
      case 'rand':
        return hex(32);
      case 'time':
        return String(nowSeconds);
      case 'pid':
        return String(4000 + serial);
      case 'secret':
      case 'password':
        return `secret-${serial}`;
      case 'date':
        return '2026-01-01 00:00:00';
      case 'hostnum':
        return '42';
    }
  }
}

/** Answers in the order in which the replayer will ask. */
export function recordedTransport(scenario: Scenario, clock: Clock, password: string): Transport {
  const inventor = new Inventor(clock, scenario, password);
  const script = scenario.steps.flatMap((step) => exchangesOf(step, inventor));
  const login = { status: 200, reason: 'OK', body: { data: { ticket: 'PVE:ticket', CSRFPreventionToken: 'csrf' } } };
  let position = 0;
  let loggedIn = false;
  return {
    async send(request: WireRequest): Promise<WireResponse> {
      // The replayer logs in by itself before the first step with a ticket; no recorded step stands for that.
      const next = script[position];
      const isLogin = !loggedIn && request.target.endsWith('/access/ticket') && next?.asTicket === true;
      if (isLogin) {
        loggedIn = true;
        return wire(login);
      }
      position++;
      if (!next) throw new Error('the script has ended');
      return wire(next.answer());
    },
    close: async () => {},
  };
}

interface Scripted {
  readonly answer: () => Answer;
  readonly asTicket: boolean;
}

function exchangesOf(step: Step, inventor: Inventor): readonly Scripted[] {
  const scripted = (answer: () => Answer, auth?: string): Scripted => ({ answer, asTicket: auth === 'ticket' });
  const ofTask = (outcome: TaskOutcome): readonly Scripted[] => [
    scripted(() => ({ status: 200, reason: 'OK', body: inventor.renderOutcome(outcome).status })),
    scripted(() => ({
      status: 200,
      reason: 'OK',
      body: { data: inventor.renderOutcome(outcome).log.map((t, index) => ({ n: index + 1, t })) },
    })),
  ];
  switch (step.kind) {
    case 'request':
      return [scripted(() => inventor.renderAnswer(step.response), step.auth)];
    case 'await':
      return ofTask(step.response);
    case 'sleep':
      return [];
    case 'parallel':
      return step.requests.map((request) => scripted(() => inventor.renderAnswer(request.response)));
    case 'awaitgroup':
      return step.responses.flatMap(ofTask);
    case 'poll':
      return step.samples.map((sample) => scripted(() => inventor.renderAnswer(sample.response)));
  }
}

function upidShapes(scenario: Scenario): ReadonlyMap<string, UpidShape> {
  const requests = scenario.steps.flatMap((step) => {
    if (step.kind === 'request') return [step];
    return step.kind === 'parallel' ? step.requests : [];
  });
  return new Map(requests.flatMap(({ id, response }) => (response.upid ? [[id, response.upid] as const] : [])));
}

function wire(answer: Answer): WireResponse {
  const body = answer.body === null ? '' : typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  return { status: answer.status, reason: answer.reason, headers: {}, body };
}
