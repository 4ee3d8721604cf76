/** The real port probe: opens a connection and closes it again without a word. */
import { connect } from 'node:net';
import { canceledBy } from '../base/clock.ts';
import type { PortProbe } from '../base/transport.ts';

export const tcpPortProbe: PortProbe = {
  isOpen: (host, port, { timeoutMs, signal }) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(canceledBy(signal));
      const socket = connect({ host, port });
      const end = (settle: () => void) => {
        signal?.removeEventListener('abort', onAbort);
        socket.destroy();
        settle();
      };
      const onAbort = () => end(() => reject(canceledBy(signal)));
      signal?.addEventListener('abort', onAbort, { once: true });
      socket.setTimeout(timeoutMs, () => end(() => resolve(false)));
      socket.once('connect', () => end(() => resolve(true)));
      // Stays on: a socket that is torn down may still have something to complain about.
      socket.on('error', () => end(() => resolve(false)));
    }),
};
