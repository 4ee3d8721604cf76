/**
 * Writes a body that does not fit into memory: one piece after the other, each only when the connection has taken the one
 * before. The length was stated beforehand, so a source that yields more or less is an error of its own.
 */
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { ProxwrightError } from '../../base/errors.ts';
import type { StreamBody } from '../../base/transport.ts';

export interface SendWatch {
  readonly onSent: ((sentBytes: number) => void) | undefined;
  /** The server may refuse what it has not read to the end. */
  isAnswered(): boolean;
}

/** Rejects with what went wrong at the source; what goes wrong at the connection, the request itself reports. */
export async function sendStream(request: ClientRequest, body: StreamBody, watch: SendWatch): Promise<void> {
  let sentBytes = 0;
  for await (const chunk of body.open()) {
    if (request.destroyed || watch.isAnswered()) return;
    sentBytes += chunk.byteLength;
    if (sentBytes > body.sizeBytes) throw changedMeanwhile(body.sizeBytes, 'more');
    if (!request.write(chunk)) await drained(request);
    watch.onSent?.(sentBytes);
  }
  if (request.destroyed || watch.isAnswered()) return;
  if (sentBytes < body.sizeBytes) throw changedMeanwhile(body.sizeBytes, `only ${sentBytes}`);
  request.end();
}

/** A request that was torn down never drains. */
async function drained(request: ClientRequest): Promise<void> {
  const waiting = new AbortController();
  const either = [
    once(request, 'drain', { signal: waiting.signal }),
    once(request, 'close', { signal: waiting.signal }),
  ];
  for (const each of either) each.catch(() => {});
  // An error of the request is reported where all of them are.
  await Promise.race(either).catch(() => {});
  waiting.abort();
}

function changedMeanwhile(sizeBytes: number, found: string): ProxwrightError {
  return new ProxwrightError({
    code: 'UNREADABLE_FILE',
    detail: `The file was to have ${sizeBytes} bytes and gave ${found}: somebody changed it while it was sent. The server has discarded it.`,
    hint: 'Try again once nobody writes to it.',
  });
}
