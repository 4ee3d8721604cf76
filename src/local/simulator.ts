/**
 * A simulator on this machine. The addresses of its guests lead nowhere, or to another machine, so the simulator itself
 * answers for their ports. Only endpoints on a loopback address are checked for being a simulator.
 */
import { isCanceled } from '../base/errors.ts';
import { guestPortPath, SIMULATOR_PATH } from '../base/simulator-paths.ts';
import { type PortProbe, TransportFailure } from '../base/transport.ts';
import { createHttpsTransport, type Endpoint, type Trust } from '../pve/index.ts';
import { tcpPortProbe } from './port-probe.ts';

export interface SimulatorFound {
  /** How much faster than real time it runs. */
  readonly speed: number;
  readonly ports: PortProbe;
}

export interface Connection {
  readonly endpoint: Endpoint;
  readonly trust?: Trust | undefined;
}

/**
 * Probes real ports, or asks a simulator about those of its guests. The first answer of the endpoint decides; until then no
 * port is open, because another machine may have the address of a simulated guest.
 */
export function portProbeFor(connection: Connection): PortProbe {
  let found: ReturnType<typeof lookForSimulator> | undefined;
  return {
    isOpen: async (address, port, options) => {
      found ??= lookForSimulator(connection);
      const what = await found;
      if (what === 'silent') {
        found = undefined;
        return false;
      }
      return (what === 'none' ? tcpPortProbe : what.ports).isOpen(address, port, options);
    },
  };
}

/** Undefined if the endpoint is not a simulator, or does not answer. */
export async function findSimulator(connection: Connection): Promise<SimulatorFound | undefined> {
  const found = await lookForSimulator(connection);
  return typeof found === 'string' ? undefined : found;
}

async function lookForSimulator({ endpoint, trust }: Connection): Promise<SimulatorFound | 'none' | 'silent'> {
  if (!isLoopback(endpoint.host)) return 'none';
  const transport = createHttpsTransport({ endpoint, trust, connectTimeoutMs: PATIENCE_MS });
  const ask = async (
    target: string,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal | undefined },
  ) => {
    const { status, body } = await transport.send({ method: 'GET', target, headers: {} }, options);
    return status === 200 ? (JSON.parse(body) as { readonly speed?: unknown; readonly open?: unknown }) : {};
  };
  try {
    const { speed } = await ask(SIMULATOR_PATH, { timeoutMs: PATIENCE_MS });
    if (typeof speed !== 'number') return 'none';
    const isOpen: PortProbe['isOpen'] = (address, port, options) =>
      ask(guestPortPath(address, port), options).then(
        ({ open }) => open === true,
        (error: unknown) => {
          if (isCanceled(error)) throw error;
          return false;
        },
      );
    return { speed, ports: { isOpen } };
  } catch (error) {
    return error instanceof TransportFailure && error.kind !== 'certificate' ? 'silent' : 'none';
  }
}

const PATIENCE_MS = 5_000;

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
