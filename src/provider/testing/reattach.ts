/**
 * A provider served inside the test's own process. Terraform attaches to it instead of starting one, which is fast and lets
 * breakpoints work. `HostClient` connects to it too.
 */

import { silentLogger } from '../../base/log.ts';
import { KnownSecrets } from '../../base/secret.ts';
import { listen } from '../host/listen.ts';
import { providerMethods } from '../host/provider-service.ts';
import { createProviderServer } from '../host/serve.ts';
import type { Provider } from '../provider.ts';

export interface Attached {
  readonly socketPath: string;
  /** What Terraform needs to find it. */
  readonly environment: { readonly TF_REATTACH_PROVIDERS: string };
  /** Calls whose handlers have not ended. */
  readonly pendingCalls: number;
  close(): void;
}

export const PROVIDER_ADDRESS = 'proxwright.dev/proxwright/proxwright';

export async function reattach(provider: Provider, address: string = PROVIDER_ADDRESS): Promise<Attached> {
  const methods = providerMethods({ provider: async () => provider, log: silentLogger, secrets: new KnownSecrets() });
  const server = createProviderServer({
    loadService: async () => methods,
    tls: undefined,
    events: { onShutdown: () => {}, onHostGone: () => {} },
  });
  const request = { socketDirectory: undefined, ports: { min: 0, max: 0 } };
  const listener = await listen(request, process.platform, (socket) => server.accept(socket));
  const plugin = {
    Protocol: 'grpc',
    ProtocolVersion: 6,
    Pid: process.pid,
    Test: true,
    Addr: { Network: listener.network, String: listener.address },
  };
  return {
    socketPath: listener.address,
    environment: { TF_REATTACH_PROVIDERS: JSON.stringify({ [address]: plugin }) },
    get pendingCalls() {
      return server.pendingCalls;
    },
    close: () => {
      server.close();
      listener.server.close();
      listener.removeFiles();
    },
  };
}
