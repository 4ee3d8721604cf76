/**
 * A Proxmox VE API in memory: one function from request to answer over a `World`. A request takes the same path as in
 * the real server: decode, login, route, declared permissions, forwarding, schema, handler, answer.
 */
import type { Clock } from '../../base/clock.ts';
import { canceled } from '../../base/errors.ts';
import { Limiter } from '../../base/limiter.ts';
import { type Logger, silentLogger } from '../../base/log.ts';
import { type Random, randomHex } from '../../base/random.ts';
import {
  isStreamBody,
  type Transport,
  TransportFailure,
  type WireRequest,
  type WireResponse,
} from '../../base/transport.ts';
import { authenticate, sentApiToken, sentTicket } from '../access/authenticate.ts';
import { checkPermissions, makeCheckers, tokenNotAllowed } from '../access/checks.ts';
import { privilegesOf } from '../access/privileges.ts';
import { ROUTES } from '../api/index.ts';
import { combineFaults, type Faults, noFaults } from '../faults/faults.ts';
import { reservedNames } from '../faults/reserved-names.ts';
import { uploadTrouble } from '../faults/transfers.ts';
import { resumeHa, wakeHa } from '../ha/rounds.ts';
import { receiveBody, watchedBody } from '../http/body.ts';
import { fetchLoopback } from '../http/loopback-fetch.ts';
import {
  type ArrivedRequest,
  type DecodedRequest,
  decodeRequest,
  LARGEST_BODY_BYTES,
  uploadBoundary,
} from '../http/request.ts';
import {
  type AnswerOptions,
  ApiFault,
  dieFault,
  downloadResponse,
  faultResponse,
  loginRefusedResponse,
  notImplemented,
  notSimulated,
  paramFault,
  plainResponse,
  successResponse,
} from '../http/response.ts';
import { apiOf, otherEndpointsOf } from '../schema/api-of-release.ts';
import type { ValidationContext } from '../schema/types.ts';
import { paramTexts, typedParams, validateParams } from '../schema/validate.ts';
import { isServerSince } from '../world/releases.ts';
import type { World } from '../world/world.ts';
import { type Call, type Caller, Download, Paged } from './call.ts';
import { LockTable } from './locks.ts';
import { mergeParams, type RouteMatch, Router } from './router.ts';
import type { Runtime } from './runtime.ts';
import { observeStatistics } from './statistics.ts';
import { TaskRunner } from './tasks.ts';

export interface SimulatorOptions {
  readonly world: World;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Logger;
  readonly faults?: Faults;
  /** Lets nodes really download what this machine serves on its loopback addresses. Needs a clock in real time. */
  readonly fetchLoopback?: boolean;
}

type DecodedCall = Extract<DecodedRequest, { kind: 'call' }>;

/** Rule [recorded version-and-auth]: every refused login is late by this much. */
const LOGIN_REFUSED_MS = 3_000;
/** Rule [source HS AnyEvent.pm proxy_request]: how long pveproxy waits for the daemon. */
const PROXY_TIMEOUT_MS = 30_000;
/** Rule [recorded http-bodies]: a connection that gets no answer is closed when it has been idle this long. */
const IDLE_MS = 5_000;
/** Rule [source PM Service/pvedaemon.pm]: handlers run synchronously in one of three workers. */
const DAEMON_WORKERS = 3;

/** Rule [source HS AnyEvent.pm limit_max_post of 5.1.2]: what a body may have before 8.4. */
const LARGEST_BODY_BEFORE_8_4_BYTES = 64 * 1024;

const routers = new Map<string, Router>();

/** One for each version that was ever simulated: they are large and never change. */
function routerOf(version: string): Router {
  const router = routers.get(version) ?? new Router(ROUTES, apiOf(version), otherEndpointsOf(version));
  routers.set(version, router);
  return router;
}

export class Simulator {
  readonly runtime: Runtime;
  readonly #faults: Faults;
  readonly #daemons = new Map<string, Limiter>();
  readonly #router: Router;
  readonly #validation: ValidationContext;
  readonly #isTerse: boolean;

  constructor(options: SimulatorOptions) {
    const { world, clock, random } = options;
    const { version } = world.version;
    this.#router = routerOf(version);
    this.#validation = { privileges: privilegesOf(version) };
    // Rule [source HS Formatter/Standard.pm prepare_response_data of 5.2.0]: the text is in the body since then; 8.3.4 is the
    // first release whose packages are younger.
    this.#isTerse = !isServerSince(world, '8.3.4');
    this.#faults = combineFaults(reservedNames(), options.faults ?? noFaults);
    this.runtime = {
      world,
      clock,
      random: random.fork('world'),
      locks: new LockTable(clock),
      tasks: new TaskRunner(world, clock, random.fork('tasks'), this.#faults.tasks),
      log: options.log ?? silentLogger,
      onPowerChange: () => wakeHa(this.runtime),
      downloadFault: (info) => this.#faults.onDownload?.(info),
      ...(options.fetchLoopback && { fetchOutside: (url) => fetchLoopback(world, url) }),
    };
    this.#faults.attach?.(this.runtime);
    resumeHa(this.runtime);
  }

  get world(): World {
    return this.runtime.world;
  }

  /** In-process access: what a client uses instead of the network. */
  transport(): Transport {
    return {
      send: (request, options) => {
        const watched =
          isStreamBody(request.body) && options?.onSent
            ? { ...request, body: watchedBody(request.body, options.onSent) }
            : request;
        return withTimeout(this.runtime.clock, this.handle(watched), options?.timeoutMs, options?.signal);
      },
      close: async () => {},
    };
  }

  /** Answers a request; rejects with a `TransportFailure` where a real connection would just end. */
  async handle(incoming: WireRequest): Promise<WireResponse> {
    observeStatistics(this.runtime);
    const largest = isServerSince(this.world, '8.4') ? LARGEST_BODY_BYTES : LARGEST_BODY_BEFORE_8_4_BYTES;
    const request = await this.#receive(incoming);
    const decoded = decodeRequest(request, largest);
    const answer = await this.#answer(request, decoded);
    this.runtime.log.log('debug', `${request.method} ${request.target.replace(/\?.*/, '')} → ${answer.status}`);
    return answer;
  }

  /** Receives the body. Rule [recorded http-bodies]: a body of unknown length is refused without being read. */
  async #receive({ body, ...head }: WireRequest): Promise<ArrivedRequest> {
    if (head.headers['transfer-encoding']) return head;
    const boundary = uploadBoundary(head);
    const path = head.target.replace(/^\/api2\/[^/]+/, '').replace(/\?.*/, '');
    const fault = boundary === undefined ? undefined : this.#faults.onUpload?.({ method: head.method, path });
    const { bytes, upload } = await receiveBody(body, boundary, uploadTrouble(this.runtime.clock, fault));
    return { ...head, body: bytes, upload };
  }

  async #answer(request: ArrivedRequest, decoded: DecodedRequest): Promise<WireResponse> {
    if (decoded.kind === 'refusedAtOnce') return plainResponse(decoded.fault, this.#now());
    const match = this.#router.find(decoded.target.method, decoded.target.segments);
    const fault = this.#faults.onRequest({
      method: decoded.target.method,
      path: decoded.target.path,
      endpoint: match?.endpoint.name,
      params: decoded.kind === 'call' ? decoded.params : {},
      isProtected: match?.endpoint.facts.protected === true,
      ticket: sentTicket(request.headers),
    });
    switch (fault?.kind) {
      case 'cut-before':
        throw new TransportFailure({ kind: 'cut', delivered: 'perhaps', message: 'connection reset by peer' });
      case 'not-executed':
        return plainResponse({ status: 595, message: fault.reason, hasBody: false }, this.#now());
      case 'refuse':
        return faultResponse(new ApiFault(fault.status, `${fault.message}\n`, fault.errors), this.#now());
      case 'login-refused':
        await this.runtime.clock.sleep(LOGIN_REFUSED_MS);
        return loginRefusedResponse('Authentication failed!', this.#now());
      case 'cut-after':
        await this.#answerHonestly(request, decoded, match);
        throw new TransportFailure({ kind: 'cut', delivered: 'perhaps', message: 'connection reset by peer' });
      case 'proxy-timeout':
        this.#answerHonestly(request, decoded, match).catch(() => {});
        await this.runtime.clock.sleep(PROXY_TIMEOUT_MS);
        return proxyTimeout(this.runtime.clock.now());
      case undefined:
        return this.#answerHonestly(request, decoded, match);
    }
  }

  async #answerHonestly(
    request: ArrivedRequest,
    decoded: Exclude<DecodedRequest, { kind: 'refusedAtOnce' }>,
    match: RouteMatch | undefined,
  ): Promise<WireResponse> {
    const { method, path } = decoded.target;
    const format = decoded.kind === 'call' ? decoded.format : 'json';
    const answerOptions = { ...this.#now(), format };
    try {
      const login = authenticate(this.runtime, { method, path, headers: request.headers });
      if (!login.ok) {
        await this.runtime.clock.sleep(LOGIN_REFUSED_MS);
        return loginRefusedResponse(login.reason, this.#now());
      }
      if (decoded.kind === 'refusedAfterLogin') return plainResponse(decoded.fault, this.#now());
      if (decoded.kind === 'unanswered') {
        await this.runtime.clock.sleep(IDLE_MS);
        throw new TransportFailure({
          kind: 'cut',
          delivered: 'perhaps',
          message: 'connection closed without an answer',
        });
      }
      return await this.#dispatch(request, decoded, match, login.caller);
    } catch (error) {
      if (error instanceof TransportFailure) throw error;
      // Rule [recorded guest-agent]: what pveproxy itself reports (59x) has a reason phrase and no body.
      if (error instanceof ApiFault && error.status >= 595) {
        return plainResponse({ status: error.status, message: error.message, hasBody: false }, this.#now());
      }
      if (error instanceof ApiFault) {
        const isUpload = isRefusedUpload(error, path);
        if (error.status === 401 || isUpload) await this.runtime.clock.sleep(LOGIN_REFUSED_MS);
        return isUpload
          ? plainResponse({ status: error.status, message: error.message, hasBody: false }, this.#now())
          : faultResponse(error, answerOptions);
      }
      // A defect of the simulator must not look like an answer of Proxmox.
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.runtime.log.log('error', `simulator defect in ${method} ${path}: ${detail}`);
      return faultResponse(
        dieFault(`simulator defect: ${error instanceof Error ? error.message : String(error)}`),
        answerOptions,
      );
    }
  }

  async #dispatch(
    request: ArrivedRequest,
    decoded: DecodedCall,
    match: RouteMatch | undefined,
    caller: Caller,
  ): Promise<WireResponse> {
    const { path } = decoded.target;
    if (match?.endpoint.facts.allowtoken === false && sentApiToken(request.headers)) throw tokenNotAllowed(path);
    const data = await this.#perform(decoded, match, caller);
    const options = { ...this.#now(), format: decoded.format };
    if (data instanceof Download) return downloadResponse(data.filename, data.text, options);
    return data instanceof Paged
      ? successResponse(data.data, { ...options, total: data.total })
      : successResponse(data, options);
  }

  /** The answer of the endpoint to this caller, from the routed request to its handler. */
  async #perform(
    asked: Pick<DecodedCall, 'target' | 'params' | 'upload'>,
    match: RouteMatch | undefined,
    caller: Caller,
  ): Promise<unknown> {
    const { method, path } = asked.target;
    if (!match) throw notImplemented(method, path);
    const { endpoint, pathParams } = match;
    const { handler } = endpoint;
    if (!handler) throw notSimulated(method, path);
    const params = mergeParams(asked.params, pathParams);
    checkPermissions(this.world, caller, endpoint.facts.permissions, params);
    const node = this.#resolveNode(endpoint.facts.proxyto, pathParams);
    // Rule [source PM HTTPServer.pm rest_handler]: without `proxyto` the node that was asked does the work itself.
    if (endpoint.facts.proxyto !== undefined && !this.world.nodes.get(node)?.online) {
      throw new ApiFault(595, 'No route to host');
    }
    const validated = validateParams(endpoint.facts, params, this.#validation);
    if (!validated.ok) throw paramFault(validated.errors);
    const call = this.#makeCall(asked.upload, caller, node, {
      // The type of the handler's parameters is generated from the facts that have just been applied.
      params: typedParams(endpoint.facts, validated.values) as never,
      texts: paramTexts(validated.values),
    });
    if (!endpoint.facts.protected) return handler(call);
    const outcome = await this.#proxied(this.#daemonOf(node).run(async () => handler(call)));
    if (!outcome) throw new ApiFault(596, PROXY_TIMED_OUT);
    return outcome.data;
  }

  /** The answer of the daemon, or undefined when pveproxy stops waiting; the work itself continues. */
  async #proxied(work: Promise<unknown>): Promise<{ data: unknown } | undefined> {
    const timer = new AbortController();
    const timedOut = this.runtime.clock.sleep(PROXY_TIMEOUT_MS, timer.signal).then(
      () => undefined,
      () => undefined,
    );
    const answered = work.then((data) => ({ data }));
    // Once pveproxy has given up, no client receives a failure.
    answered.catch(() => {});
    try {
      return await Promise.race([answered, timedOut]);
    } finally {
      timer.abort(ANSWERED);
    }
  }

  #daemonOf(node: string): Limiter {
    const daemon = this.#daemons.get(node) ?? new Limiter(DAEMON_WORKERS);
    this.#daemons.set(node, daemon);
    return daemon;
  }

  #resolveNode(proxyTo: string | undefined, pathParams: Readonly<Record<string, string>>): string {
    const requested = pathParams.node;
    if (requested === undefined || requested === 'localhost') return this.world.entryNode;
    if (this.world.nodes.has(requested)) return requested;
    // Rule [recorded unknown-vm]: an unknown node is a failed name lookup, for calls that are forwarded at all.
    if (proxyTo === undefined) return this.world.entryNode;
    throw dieFault(
      `hostname lookup '${requested}' failed - failed to get address info for: ${requested}: Temporary failure in name resolution`,
    );
  }

  #makeCall(
    upload: DecodedCall['upload'],
    caller: Caller,
    node: string,
    params: Pick<Call<never>, 'params' | 'texts'>,
  ): Call<never> {
    const { runtime } = this;
    return {
      runtime,
      caller,
      ...params,
      node,
      ...makeCheckers(runtime.world, caller),
      ...(upload && { upload: { ...upload, temporaryName: `pveupload-${randomHex(runtime.random, 32)}` } }),
      request: (method, path, sent) => {
        const target = { method, path, segments: path.split('/').filter(Boolean) };
        const match = this.#router.find(method, target.segments);
        return this.#perform({ target, params: sent, upload: undefined }, match, caller);
      },
      fork: (type, id, job) => runtime.tasks.fork(node, type, id, caller.authid, job),
    };
  }

  #now(): AnswerOptions {
    return { nowMs: this.runtime.clock.now(), isTerse: this.#isTerse };
  }
}

export function createSimulator(options: SimulatorOptions): Simulator {
  return new Simulator(options);
}

/**
 * Rule [source PM HTTPServer.pm auth_handler, HS AnyEvent.pm authenticate_and_handle_request]: an upload's right is checked
 * with the login, so its refusal is late too and has no body.
 */
function isRefusedUpload(fault: ApiFault, path: string): boolean {
  return fault.status === 403 && /^\/nodes\/[^/]+\/storage\/[^/]+\/upload$/.test(path);
}

/** Ends the wait for a time limit. Made once, because an error with its stack for every answer costs more than many an answer. */
const ANSWERED = canceled('The answer is there.');

const PROXY_TIMED_OUT = 'Connection timed out';

function proxyTimeout(nowMs: number): WireResponse {
  return plainResponse({ status: 596, message: PROXY_TIMED_OUT, hasBody: false }, { nowMs });
}

/** The client's own patience, on the simulator's clock. */
async function withTimeout(
  clock: Clock,
  answer: Promise<WireResponse>,
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<WireResponse> {
  if (timeoutMs === undefined && signal === undefined) return answer;
  const timer = new AbortController();
  const limit = AbortSignal.any([timer.signal, ...(signal ? [signal] : [])]);
  const tooLate = clock.sleep(timeoutMs ?? 2 ** 40, limit).then(() => {
    throw new TransportFailure({ kind: 'timeout', delivered: 'perhaps', message: `no answer within ${timeoutMs} ms` });
  });
  tooLate.catch(() => {});
  try {
    return await Promise.race([answer, tooLate]);
  } finally {
    timer.abort(ANSWERED);
    answer.catch(() => {});
  }
}
