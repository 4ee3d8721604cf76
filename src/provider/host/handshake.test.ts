/** The handshake line, and the explanation for a person who starts the provider by hand. */
import { describe, expect, it } from 'vitest';
import { type HandshakeRequest, handshakeLine, MAGIC_COOKIE, readHandshake } from './handshake.ts';

const HOST = { TF_PLUGIN_MAGIC_COOKIE: MAGIC_COOKIE, PLUGIN_PROTOCOL_VERSIONS: '5,6' };

function requestOf(environment: Readonly<Record<string, string>>): HandshakeRequest {
  const reading = readHandshake({ ...HOST, ...environment });
  if (!reading.ok) throw new Error(reading.explanation);
  return reading.request;
}

describe('what the host asks for', () => {
  it('is refused without the cookie, with an explanation for a person', () => {
    for (const cookie of [undefined, '', 'other']) {
      const reading = readHandshake({ ...HOST, TF_PLUGIN_MAGIC_COOKIE: cookie });
      expect(reading).toMatchObject({
        ok: false,
        explanation: expect.stringContaining('not meant to be started by hand'),
      });
    }
  });

  it('must include protocol 6', () => {
    expect(readHandshake({ ...HOST, PLUGIN_PROTOCOL_VERSIONS: '6' }).ok).toBe(true);
    expect(readHandshake({ ...HOST, PLUGIN_PROTOCOL_VERSIONS: '6,5' }).ok).toBe(true);
    for (const versions of ['5', '4,5', '16', '']) {
      const reading = readHandshake({ ...HOST, PLUGIN_PROTOCOL_VERSIONS: versions });
      expect(reading).toMatchObject({ ok: false, explanation: expect.stringContaining('plugin protocol 6') });
    }
  });

  it('includes encryption only if the host shows a certificate', () => {
    expect(requestOf({}).clientCertificate).toBeUndefined();
    expect(requestOf({ PLUGIN_CLIENT_CERT: '' }).clientCertificate).toBeUndefined();
    expect(requestOf({ PLUGIN_CLIENT_CERT: 'PEM' }).clientCertificate).toBe('PEM');
  });

  it('may name a directory and a range of ports', () => {
    const { socketDirectory, ports } = requestOf({
      PLUGIN_UNIX_SOCKET_DIR: '/run/x',
      PLUGIN_MIN_PORT: '10000',
      PLUGIN_MAX_PORT: '25000',
    });
    expect({ socketDirectory, ports }).toEqual({ socketDirectory: '/run/x', ports: { min: 10_000, max: 25_000 } });
    expect(requestOf({ PLUGIN_MIN_PORT: '9', PLUGIN_MAX_PORT: '8' }).ports).toEqual({ min: 0, max: 0 });
    expect(requestOf({ PLUGIN_MIN_PORT: 'x', PLUGIN_MAX_PORT: '70000' }).ports).toEqual({ min: 0, max: 0 });
  });
});

describe('the handshake line', () => {
  it('has the certificate without padding', () => {
    const line = handshakeLine({ network: 'unix', address: '/d/s' }, Buffer.from('a'), { asksForMultiplexing: false });
    expect(line).toBe('1|6|unix|/d/s|grpc|YQ\n');
  });

  it('has an empty field for the certificate without encryption', () => {
    const address = { network: 'tcp', address: '127.0.0.1:4000' } as const;
    expect(handshakeLine(address, undefined, { asksForMultiplexing: false })).toBe('1|6|tcp|127.0.0.1:4000|grpc|\n');
  });

  it('has one more field for a host that asks about multiplexing', () => {
    const { asksForMultiplexing } = requestOf({ PLUGIN_MULTIPLEX_GRPC: 'true' });
    expect(handshakeLine({ network: 'unix', address: 's' }, undefined, { asksForMultiplexing })).toBe(
      '1|6|unix|s|grpc||false\n',
    );
  });
});
