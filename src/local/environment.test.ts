import { describe, expect, it } from 'vitest';
import { environmentBeside, unmetInsecurity } from './environment.ts';

const ENVIRONMENT = {
  PROXMOX_VE_ENDPOINT: 'a',
  PM_API_URL: 'b',
  PROXMOX_VE_API_TOKEN: 'c',
  PM_PASS: 'd',
  PROXMOX_VE_CA_FILE: 'e',
  PROXMOX_VE_INSECURE: '1',
  HOME: 'f',
};

describe('the environment beside a configuration', () => {
  it('keeps everything but the wish to skip verification where the configuration says nothing', () => {
    const { PROXMOX_VE_INSECURE: _, ...others } = ENVIRONMENT;
    expect(environmentBeside(ENVIRONMENT, new Set())).toEqual(others);
  });

  it.each([
    ['endpoint', ['PROXMOX_VE_ENDPOINT', 'PM_API_URL']],
    ['credentials', ['PROXMOX_VE_API_TOKEN', 'PM_PASS']],
    ['trust', ['PROXMOX_VE_CA_FILE']],
  ] as const)('loses all names of the %s that the configuration says', (part, names) => {
    const left = Object.keys(environmentBeside(ENVIRONMENT, new Set([part])));
    expect(Object.keys(ENVIRONMENT).filter((name) => !left.includes(name))).toEqual([...names, 'PROXMOX_VE_INSECURE']);
  });
});

describe('a wish to skip verification', () => {
  it.each(['1', 'true', 'YES', ' on '])('is answered when it is %j', (value) => {
    expect(unmetInsecurity({ PM_TLS_INSECURE: value })).toEqual([
      'PM_TLS_INSECURE has no effect: the certificate is always verified, by CA or fingerprint.',
    ]);
  });

  it.each(['', '0', 'false'])('is none when it is %j', (value) => {
    expect(unmetInsecurity({ PROXMOX_VE_INSECURE: value })).toEqual([]);
  });
});
