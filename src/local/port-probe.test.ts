import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { tcpPortProbe } from './port-probe.ts';

async function freePort(): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer((socket) => socket.destroy());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server on a TCP port has an address of this shape.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close: async () => {
      server.close();
      await once(server, 'close');
    },
  };
}

describe('tcpPortProbe', () => {
  it('finds a port open while a server listens, and closed afterwards', async () => {
    const { port, close } = await freePort();
    expect(await tcpPortProbe.isOpen('127.0.0.1', port, { timeoutMs: 600_000 })).toBe(true);
    await close();
    expect(await tcpPortProbe.isOpen('127.0.0.1', port, { timeoutMs: 600_000 })).toBe(false);
  });

  it('finds no open port for a name that does not exist', async () => {
    expect(await tcpPortProbe.isOpen('no-such-host.invalid', 22, { timeoutMs: 600_000 })).toBe(false);
  });

  it('ends as canceled when the signal fires', async () => {
    const probe = tcpPortProbe.isOpen('127.0.0.1', 9, { timeoutMs: 600_000, signal: AbortSignal.abort() });
    await expect(probe).rejects.toMatchObject({ code: 'CANCELED' });
  });
});
