import { describe, expect, it } from 'vitest';
import { loadStack, resolveStack } from '../../spec/index.ts';
import { testDeps } from '../testing/deps.ts';
import { connect } from './connect.ts';

const FINGERPRINT = 'AA:'.repeat(31).concat('AA');
const GIVEN = { PROXMOX_VE_ENDPOINT: 'https://pve1:8006', PROXMOX_VE_API_TOKEN: 'a@pam!env=secret' };

async function connected(connection: string, environment: Record<string, string>) {
  const text = `version: 1\nstack: demo\nconnection: ${connection}\nvms: {}\n`;
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.yaml'));
  if (!stack) throw new Error(JSON.stringify(diagnostics));
  const { deps, warnings } = testDeps({ environment });
  const { endpoint, principal } = await connect({ stack, directory: '.', file: 'stack.yaml' }, deps);
  return { endpoint, principal, warnings };
}

describe('the connection', () => {
  it('comes from the environment if the file does not set it', async () => {
    expect(await connected('{}', GIVEN)).toEqual({
      endpoint: 'https://pve1:8006',
      principal: 'a@pam!env',
      warnings: [],
    });
  });

  it('comes from the file even if the environment is malformed', async () => {
    const file = `{ endpoint: "https://other:8007", token: { env: MINE }, fingerprint: "${FINGERPRINT}" }`;
    const environment = { MINE: 'b@pve!file=secret', PROXMOX_VE_API_TOKEN: 'malformed', PROXMOX_VE_ENDPOINT: 'http:' };
    expect(await connected(file, environment)).toMatchObject({
      endpoint: 'https://other:8007',
      principal: 'b@pve!file',
    });
  });

  it('is verified even if the environment asks for no verification', async () => {
    const { warnings } = await connected('{}', { ...GIVEN, PROXMOX_VE_INSECURE: 'true' });
    expect(warnings).toEqual([expect.stringContaining('PROXMOX_VE_INSECURE has no effect')]);
  });

  it.each([
    ['{}', { PROXMOX_VE_API_TOKEN: 'a@pam!env=c' }, 'No endpoint'],
    ['{ endpoint: pve1 }', {}, 'No credentials'],
    ['{ endpoint: pve1, token: { env: MINE } }', {}, 'MINE'],
    ['{ ca: missing.pem }', GIVEN, 'missing.pem'],
  ])('%s with %j is refused', async (connection, environment, complaint) => {
    await expect(connected(connection, environment)).rejects.toMatchObject({
      diagnostic: { detail: expect.stringContaining(complaint) },
    });
  });
});
