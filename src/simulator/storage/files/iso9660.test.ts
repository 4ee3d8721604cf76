import { describe, expect, it } from 'vitest';
import { isoImage } from '../../testing/storage.ts';
import { readDisc } from './iso9660.ts';

const namesOn = (bytes: Uint8Array) => [...(readDisc(bytes)?.files.keys() ?? [])].sort();

describe('a disc', () => {
  it.each(['rockRidgeAndJoliet', 'joliet', 'rockRidge', 'xorriso'] as const)('made with %s names is read', (image) => {
    const disc = readDisc(isoImage(image));
    expect(disc?.label.toLowerCase()).toBe('cidata');
    expect(namesOn(isoImage(image))).toEqual(['meta-data', 'network-config', 'user-data']);
    expect(Buffer.from(disc?.files.get('user-data') ?? []).toString()).toBe('#cloud-config\nhostname: fixture\n');
  });

  it('without long names shows the short ones', () => {
    expect(namesOn(isoImage('plain'))).not.toContain('user-data');
    expect(namesOn(isoImage('plain'))).toHaveLength(3);
  });

  it.each([
    ['nothing', new Uint8Array()],
    ['bytes of something else', new Uint8Array(100_000)],
    ['a disc that is cut off', isoImage('joliet').subarray(0, 45_000)],
  ])('is not found in %s', (_, bytes) => {
    expect(readDisc(bytes)).toBeUndefined();
  });
});
