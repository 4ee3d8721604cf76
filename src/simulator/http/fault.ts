/**
 * How handlers refuse: they throw an `ApiFault`, whose message has all the line feeds of the server's own.
 * [source PC Exception.pm; PM HTTPServer.pm rest_handler]
 */
export class ApiFault extends Error {
  readonly status: number;
  /** Complaints by parameter. */
  readonly errors: Readonly<Record<string, string>> | undefined;

  constructor(status: number, message: string, errors?: Readonly<Record<string, string>>) {
    super(message);
    this.name = 'ApiFault';
    this.status = status;
    this.errors = errors;
  }

  /**
   * The same refusal met inside a worker: the status code in front (a plain `die` has none), complaints behind, line
   * feeds turned to blanks. [source PC RESTEnvironment.pm fork_worker]
   */
  asTaskError(): string {
    const head = this.status === 500 ? this.message : `${this.status} ${this.message}`;
    const complaints = Object.entries(this.errors ?? {}).map(([name, text]) => `${name}: ${text}\n`);
    return `${head}${head.endsWith('\n') ? '' : '\n'}${complaints.join('')}`.replace(/\n$/, '').replaceAll('\n', ' ');
  }
}

/** Parameters are wrong: every complaint at once. */
export function paramFault(errors: Readonly<Record<string, string>>): ApiFault {
  return new ApiFault(400, 'Parameter verification failed.\n', errors);
}

/** A privilege is missing; `what` is `/vms/100, VM.Audit`, or nothing where the server does not say. */
export function permFault(what = ''): ApiFault {
  return new ApiFault(403, what === '' ? 'Permission check failed\n' : `Permission check failed (${what})\n`);
}

/** Everything else that goes wrong: text without its final line feed. */
export function dieFault(text: string): ApiFault {
  return new ApiFault(500, `${text}\n`);
}

/** The router knows no such method or path. The one message without a line feed. */
export function notImplemented(method: string, path: string): ApiFault {
  return new ApiFault(501, `Method '${method} ${path}' not implemented`);
}
