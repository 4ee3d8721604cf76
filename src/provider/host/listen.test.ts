/** Where the host reaches the provider, and that no files stay behind. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Listener, listen } from './listen.ts';

const ANY_PORT = { min: 0, max: 0 };
const open: Listener[] = [];

async function listening(...[request, platform]: [Parameters<typeof listen>[0], NodeJS.Platform]): Promise<Listener> {
  const listener = await listen(request, platform, (socket) => socket.destroy());
  open.push(listener);
  return listener;
}

afterEach(() => {
  for (const listener of open.splice(0)) {
    listener.server.close();
    listener.removeFiles();
  }
});

describe('a socket', () => {
  it('is removed with its directory, also when asked twice', async () => {
    const { address, removeFiles } = await listening({ socketDirectory: undefined, ports: ANY_PORT }, 'linux');
    expect(existsSync(address)).toBe(true);
    removeFiles();
    removeFiles();
    expect(existsSync(dirname(address))).toBe(false);
  });

  it('is refused in a directory whose path is too long for a socket, and creates nothing there', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'long-'));
    try {
      const socketDirectory = join(parent, 'x'.repeat(100));
      await expect(listening({ socketDirectory, ports: ANY_PORT }, 'linux')).rejects.toThrow('too long for a socket');
    } finally {
      await rm(parent, { recursive: true });
    }
  });
});

describe('a port of Windows', () => {
  it('is the first free one of the range', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const taken = blocker.address();
    const min = typeof taken === 'object' && taken !== null ? taken.port : 0;
    try {
      const listener = await listening({ socketDirectory: undefined, ports: { min, max: min + 20 } }, 'win32');
      expect(listener.network).toBe('tcp');
      const port = Number(listener.address.replace('127.0.0.1:', ''));
      expect(port).toBeGreaterThan(min);
      expect(port).toBeLessThanOrEqual(min + 20);
      await expect(listening({ socketDirectory: undefined, ports: { min, max: min } }, 'win32')).rejects.toThrow(
        'EADDRINUSE',
      );
    } finally {
      blocker.close();
    }
  });
});
