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

describe('the environment as a fallback', () => {
  it('keeps every variable but the request to skip verification if the configuration sets nothing', () => {
    const { PROXMOX_VE_INSECURE: _, ...others } = ENVIRONMENT;
    expect(environmentBeside(ENVIRONMENT, new Set())).toEqual(others);
  });

  it.each([
    ['endpoint', ['PROXMOX_VE_ENDPOINT', 'PM_API_URL']],
    ['credentials', ['PROXMOX_VE_API_TOKEN', 'PM_PASS']],
    ['trust', ['PROXMOX_VE_CA_FILE']],
  ] as const)('loses all names of the %s that the configuration sets', (part, names) => {
    const left = Object.keys(environmentBeside(ENVIRONMENT, new Set([part])));
    expect(Object.keys(ENVIRONMENT).filter((name) => !left.includes(name))).toEqual([...names, 'PROXMOX_VE_INSECURE']);
  });
});

describe('a request to skip verification', () => {
  it.each(['1', 'true', 'YES', ' on '])('leads to a warning if it is %j', (value) => {
    expect(unmetInsecurity({ PM_TLS_INSECURE: value })).toEqual([
      'PM_TLS_INSECURE has no effect: the certificate is always verified, by CA or fingerprint.',
    ]);
  });

  it.each(['', '0', 'false'])('does not count if it is %j', (value) => {
    expect(unmetInsecurity({ PROXMOX_VE_INSECURE: value })).toEqual([]);
  });
});
