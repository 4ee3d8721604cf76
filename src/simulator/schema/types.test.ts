import { describe, expect, it } from 'vitest';
import { API_FACTS } from './api-facts.generated.ts';
import { findParamSchema } from './types.ts';

describe('findParamSchema', () => {
  const params = API_FACTS['POST /nodes/{node}/qemu']?.params ?? {};

  it.each([
    ['net', 31],
    ['scsi', 30],
    ['virtio', 15],
    ['sata', 5],
    ['ide', 3],
    ['unused', 255],
    ['hostpci', 15],
    ['usb', 13],
    ['serial', 3],
    ['parallel', 2],
    ['numa', 7],
    ['ipconfig', 31],
    ['virtiofs', 9],
  ])('has %s0 to %s%d and no more', (family, last) => {
    expect(findParamSchema(params, `${family}0`)).toBeDefined();
    expect(findParamSchema(params, `${family}${last}`)).toBeDefined();
    expect(findParamSchema(params, `${family}${last + 1}`)).toBeUndefined();
  });

  it('does not mistake other spellings and inherited names for parameters', () => {
    for (const name of ['net', 'net00', 'net[n]', 'net-1', 'constructor', 'toString']) {
      expect(findParamSchema(params, name)).toBeUndefined();
    }
  });
});
