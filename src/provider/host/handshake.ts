/**
 * The handshake between host and provider: what the host asks for in the environment, and the one line that answers it.
 * Nothing here touches the process.
 */
import type { Environment } from '../../base/processes.ts';

/** Not a secret: it only distinguishes a host from a person who starts the program by hand. */
export const MAGIC_COOKIE = 'd602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2';

const CORE_PROTOCOL = 1;
const PROTOCOL = 6;

export interface HandshakeRequest {
  /** PEM; undefined if the host wants no encryption. */
  readonly clientCertificate: string | undefined;
  readonly socketDirectory: string | undefined;
  readonly ports: { readonly min: number; readonly max: number };
  /** Whether the host expects the field that says if connections can be multiplexed. */
  readonly asksForMultiplexing: boolean;
}

export type HandshakeReading =
  | { readonly ok: true; readonly request: HandshakeRequest }
  | { readonly ok: false; readonly explanation: string };

export function readHandshake(environment: Environment): HandshakeReading {
  if (environment.TF_PLUGIN_MAGIC_COOKIE !== MAGIC_COOKIE) {
    return {
      ok: false,
      explanation: [
        'This program is a provider for Terraform and OpenTofu and is not meant to be started by hand.',
        'Name it in a configuration instead; terraform init or tofu init installs it and every command starts it.',
        'To manage virtual machines without Terraform, use the command proxwright.',
      ].join('\n'),
    };
  }
  const versions = environment.PLUGIN_PROTOCOL_VERSIONS ?? String(PROTOCOL);
  if (!versions.split(',').some((version) => Number(version) === PROTOCOL)) {
    return {
      ok: false,
      explanation: `This provider speaks plugin protocol ${PROTOCOL}; the host offers ${versions}. Terraform 1.0 or later is needed.`,
    };
  }
  return {
    ok: true,
    request: {
      clientCertificate: environment.PLUGIN_CLIENT_CERT || undefined,
      socketDirectory: environment.PLUGIN_UNIX_SOCKET_DIR || undefined,
      ports: portRange(environment),
      asksForMultiplexing: environment.PLUGIN_MULTIPLEX_GRPC !== undefined,
    },
  };
}

export interface Address {
  readonly network: 'unix' | 'tcp';
  readonly address: string;
}

/** `certificate` is DER; undefined where nothing is encrypted. */
export function handshakeLine(
  { network, address }: Address,
  certificate: Uint8Array | undefined,
  { asksForMultiplexing }: Pick<HandshakeRequest, 'asksForMultiplexing'>,
): string {
  // The host's decoder rejects padding.
  const encoded = certificate ? Buffer.from(certificate).toString('base64').replace(/=+$/, '') : '';
  const fields = [CORE_PROTOCOL, PROTOCOL, network, address, 'grpc', encoded];
  return `${[...fields, ...(asksForMultiplexing ? ['false'] : [])].join('|')}\n`;
}

function portRange(environment: Environment): HandshakeRequest['ports'] {
  const min = portOf(environment.PLUGIN_MIN_PORT);
  const max = portOf(environment.PLUGIN_MAX_PORT);
  // Port 0 lets the operating system choose.
  return min === undefined || max === undefined || max < min ? { min: 0, max: 0 } : { min, max };
}

function portOf(text: string | undefined): number | undefined {
  const port = Number(text);
  return text && Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}
