/** Frames and timeouts as the gRPC specification writes them. */
import { describe, expect, it } from 'vitest';
import { BodyCollector, frame, STATUS, timeoutMs, unframe } from './grpc-wire.ts';

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('frame', () => {
  it('puts a flag and four bytes of length before the message', () => {
    expect(frame(bytes('0801'))).toEqual(bytes('00 00000002 0801'));
    expect(frame(new Uint8Array())).toEqual(bytes('00 00000000'));
    expect(frame(new Uint8Array(65_536)).subarray(0, 5)).toEqual(bytes('00 00010000'));
  });
});

describe('unframe', () => {
  it('returns the message of a whole frame', () => {
    expect(unframe(bytes('00 00000002 0801'))).toEqual({ ok: true, message: bytes('0801') });
    expect(unframe(bytes('00 00000000'))).toEqual({ ok: true, message: bytes('') });
  });

  it.each([
    ['no message', '', STATUS.unimplemented],
    ['a cut head', '00 000000', STATUS.internal],
    ['a cut message', '00 00000003 0801', STATUS.internal],
    ['a head without its message', '00 00000001', STATUS.internal],
    ['a second message', '00 00000001 08 00 00000000', STATUS.unimplemented],
    ['a compressed message', '01 00000001 08', STATUS.unimplemented],
  ])('refuses %s', (_, body, status) => {
    expect(unframe(bytes(body))).toMatchObject({ ok: false, status });
  });
});

describe('a body', () => {
  it('is joined from its pieces, up to the limit', () => {
    const body = new BodyCollector(2);
    for (const piece of ['00 0000', '0002', '08', '01']) expect(body.add(bytes(piece))).toBeUndefined();
    expect(body.finish()).toEqual({ ok: true, message: bytes('0801') });
  });

  it('is refused at the first byte beyond the limit', () => {
    const body = new BodyCollector(2);
    expect(body.add(bytes('00 00000003 0801'))).toBeUndefined();
    expect(body.add(bytes('02'))).toEqual({
      ok: false,
      status: STATUS.resourceExhausted,
      reason: 'the message is larger than 2 bytes',
    });
  });
});

describe('timeoutMs', () => {
  it.each([
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3_000],
    ['250m', 250],
    ['1500u', 2],
    ['1n', 1],
    ['99999999H', 2 ** 31 - 1],
  ])('reads %s as %i ms', (text, ms) => {
    expect(timeoutMs(text)).toBe(ms);
  });

  it.each(['', '1', 'S', '1s', '-1S', '1.5S', '123456789S', '1S '])('refuses %j', (text) => {
    expect(timeoutMs(text)).toBeUndefined();
  });
});
