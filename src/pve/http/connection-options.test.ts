import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../base/errors.ts';
import { connectionFromEnvironment, requireConnection } from './connection-options.ts';
import { parseToken, passwordCredentials, tokenFrom } from './credentials.ts';
import { caTrust, fingerprintTrust, parseEndpoint } from './endpoint.ts';

const SECRET = '8a4c1f1e-0000-4000-8000-123456789abc';
const FINGERPRINT = Array.from({ length: 32 }, (_, i) => (i + 160).toString(16).toUpperCase()).join(':');

function errorFrom(work: () => unknown): ProxwrightError {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(ProxwrightError);
    return error as ProxwrightError;
  }
  throw new Error('expected an error');
}

describe('an endpoint', () => {
  it.each([
    ['https://pve1.lab', 'https://pve1.lab:8006'],
    ['pve1.lab:8006', 'https://pve1.lab:8006'],
    ['pve1', 'https://pve1:8006'],
    ['https://pve1.lab:8006/', 'https://pve1.lab:8006'],
    ['https://pve1.lab:8006/api2/json', 'https://pve1.lab:8006'],
    ['https://pve1.lab:8006/api2/json/', 'https://pve1.lab:8006'],
    ['https://proxy.lab:443', 'https://proxy.lab:443'],
    ['10.0.0.7', 'https://10.0.0.7:8006'],
    ['https://[fd00::7]:8006', 'https://[fd00::7]:8006'],
    ['  https://PVE1.lab:8007  ', 'https://pve1.lab:8007'],
  ])('%s is %s', (text, url) => expect(parseEndpoint(text).url).toBe(url));

  it('names an IPv6 host without brackets, as sockets require', () => {
    expect(parseEndpoint('https://[fd00::7]')).toMatchObject({ host: 'fd00::7', port: 8006 });
  });

  it.each(['http://pve1:8006', 'ftp://pve1', 'https://pve1/web', 'https://pve1/?x=1', '', 'https://', 'https://pve 1'])(
    '%j is refused',
    (text) => expect(errorFrom(() => parseEndpoint(text)).code).toBe('BAD_VALUE'),
  );

  it('with a password is rejected without quoting the password', () => {
    const error = errorFrom(() => parseEndpoint('https://root:hunter2@pve1:8006'));
    expect(error.code).toBe('BAD_VALUE');
    expect(error.message).not.toContain('hunter2');
  });
});

describe('a token', () => {
  it.each([`deploy@pve!ci=${SECRET}`, ` PVEAPIToken=deploy@pve!ci=${SECRET}\n`])('is read from %j', (text) => {
    const token = parseToken(text);
    expect(token.tokenId).toBe('deploy@pve!ci');
    expect(token.secret.reveal()).toBe(SECRET);
    expect(inspect(token) + JSON.stringify(token)).not.toContain(SECRET);
  });

  it.each([
    [SECRET, 'no "="'],
    [`deploy!ci=${SECRET}`, 'has no realm'],
    [`deploy@pve=${SECRET}`, 'has no "!"'],
    [`deploy@pve!=${SECRET}`, 'is malformed'],
    ['deploy@pve!ci=', 'is empty'],
    ['deploy@pve!ci=a b', 'not a UUID'],
    [`=${SECRET}`, 'has no realm'],
    // In the form of a backup server, and with a trailing character.
    [`deploy@pve!ci:${SECRET}`, 'no "="'],
    [`deploy@pve!ci:${SECRET}=`, 'is malformed'],
    [`${SECRET}=deploy@pve!ci`, 'has no realm'],
    [`deploy@pve!ci=${SECRET}\r\nx-evil: 1`, 'not a UUID'],
    [`"deploy@pve!ci=${SECRET}"`, 'not a UUID'],
  ])('%j is rejected: %s', (text, reason) => {
    const error = errorFrom(() => parseToken(text));
    expect(error.code).toBe('BAD_CREDENTIALS');
    expect(error.diagnostic.detail).toContain(reason);
    expect(error.message).not.toContain(SECRET);
    expect(error.diagnostic.hint?.text).toContain('pveum user token add');
  });

  it('may come in two parts', () => {
    expect(tokenFrom('root@pam!tf', SECRET).tokenId).toBe('root@pam!tf');
  });
});

describe('a user name', () => {
  it('takes the realm from the name or from the option', () => {
    expect(passwordCredentials({ username: 'root', realm: 'pam', password: 'x' }).username).toBe('root@pam');
    expect(passwordCredentials({ username: 'root@pam', password: 'x' }).username).toBe('root@pam');
  });

  it('without a realm is rejected', () => {
    expect(errorFrom(() => passwordCredentials({ username: 'root', password: 'x' })).code).toBe('BAD_CREDENTIALS');
  });
});

describe('trust', () => {
  it.each([FINGERPRINT, FINGERPRINT.toLowerCase(), FINGERPRINT.replaceAll(':', ''), `SHA256:${FINGERPRINT}`])(
    'reads the fingerprint %s',
    (text) => expect(fingerprintTrust(text)).toEqual({ kind: 'fingerprint', sha256: FINGERPRINT }),
  );

  it('rejects text that is not a SHA-256 fingerprint', () => {
    expect(errorFrom(() => fingerprintTrust('AA:BB')).code).toBe('BAD_VALUE');
  });

  it.each(['', 'hello', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'])(
    'refuses the CA file %j',
    (pem) => {
      const error = errorFrom(() => caTrust(pem, './ca.pem'));
      expect(error.code).toBe('CERT_UNREADABLE');
      expect(error.diagnostic.where?.file).toBe('./ca.pem');
    },
  );
});

describe('the environment', () => {
  it('is read with the variable names of bpg', () => {
    const found = connectionFromEnvironment({
      PROXMOX_VE_ENDPOINT: 'https://pve1:8006/',
      PROXMOX_VE_API_TOKEN: `deploy@pve!ci=${SECRET}`,
      PROXMOX_VE_FINGERPRINT: FINGERPRINT,
      PROXMOX_VE_CA_FILE: '/etc/ca.pem',
    });
    expect(found.endpoint?.url).toBe('https://pve1:8006');
    expect(found.credentials).toMatchObject({ kind: 'token', tokenId: 'deploy@pve!ci' });
    expect(found.trust).toEqual({ kind: 'fingerprint', sha256: FINGERPRINT });
    expect(found.caFile).toBe('/etc/ca.pem');
  });

  it('is read with the variable names of Telmate', () => {
    const found = connectionFromEnvironment({
      PM_API_URL: 'https://pve1:8006/api2/json',
      PM_API_TOKEN_ID: 'deploy@pve!ci',
      PM_API_TOKEN_SECRET: SECRET,
    });
    expect(requireConnection(found).endpoint.url).toBe('https://pve1:8006');
    expect(found.credentials).toMatchObject({ tokenId: 'deploy@pve!ci' });
  });

  it('may contain user name and password', () => {
    const found = connectionFromEnvironment({ PROXMOX_VE_USERNAME: 'root@pam', PROXMOX_VE_PASSWORD: 'hunter2' });
    expect(found.credentials).toMatchObject({ kind: 'password', username: 'root@pam' });
  });

  it.each([SECRET, `deploy@pve!ci:${SECRET}`, `deploy@pve=${SECRET}`, `deploy@pve!ci=${SECRET}\nx`, '=', '!@='])(
    'with the malformed token %j says what a token looks like, and does not repeat the secret',
    (token) => {
      const error = errorFrom(() => connectionFromEnvironment({ PROXMOX_VE_API_TOKEN: token }));
      expect(error.code).toBe('BAD_CREDENTIALS');
      expect(error.diagnostic.hint?.text).toContain('A token looks like');
      expect(error.message).not.toContain(SECRET);
    },
  );

  it('with half a token says which half is missing', () => {
    const error = errorFrom(() => connectionFromEnvironment({ PM_API_TOKEN_SECRET: SECRET }));
    expect(error.diagnostic.detail).toContain('without PM_API_TOKEN_ID');
    expect(error.message).not.toContain(SECRET);
  });

  it('cannot turn verification off, and the error says what to paste instead', () => {
    const error = errorFrom(() => connectionFromEnvironment({ PROXMOX_VE_INSECURE: 'true' }));
    expect(error.code).toBe('CERT_UNTRUSTED');
    expect(error.diagnostic.hint?.text).toContain('PROXMOX_VE_FINGERPRINT=');
    expect(connectionFromEnvironment({ PROXMOX_VE_INSECURE: 'false' })).toEqual({});
  });

  it('may be empty; the error names what is missing', () => {
    expect(connectionFromEnvironment({})).toEqual({});
    expect(errorFrom(() => requireConnection({})).diagnostic.hint?.text).toContain('PROXMOX_VE_ENDPOINT');
    const endpoint = parseEndpoint('pve1');
    expect(errorFrom(() => requireConnection({ endpoint })).diagnostic.hint?.text).toContain('PROXMOX_VE_API_TOKEN');
  });
});
