/** The real port probe: opens a connection and closes it without sending anything. */
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
      // Stays: a destroyed socket may still emit an error.
      socket.on('error', () => end(() => resolve(false)));
    }),
};
