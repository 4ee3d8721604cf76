/**
 * The same scenarios against a real server, to learn whether the recordings still describe it. It must hold the
 * recorded base world: the VMs, storages, users and tokens that `base-world.json` shows.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { httpsTransport, type Trust } from './replay/https-transport.ts';
import { loadScenario, scenarioNames } from './replay/load.ts';
import { formatResult } from './replay/report.ts';
import { replayScenario } from './replay/run.ts';
import type { Credentials } from './replay/session.ts';

const REQUIRED = [
  'PROXMOX_VE_ENDPOINT',
  'PROXMOX_VE_API_TOKEN',
  'PROXMOX_VE_CONTRACT_ADMIN_TOKEN',
  'PROXMOX_VE_CONTRACT_NOACL_TOKEN',
  'PROXMOX_VE_CONTRACT_PASSWORD',
] as const;

const missing = REQUIRED.filter((name) => !process.env[name]);
const trust = trustFromEnvironment();
const reason = missing.length > 0 ? `${missing.join(', ')} not set` : 'neither CA file nor fingerprint set';
const ready = missing.length === 0 && trust !== undefined;
if (!ready) process.stdout.write(`live contract tests skipped: ${reason}\n`);

describe.skipIf(!ready)('a real server', () => {
  it.each(scenarioNames())('answers as recorded in %s', async (name) => {
    if (!trust) throw new Error(reason);
    const scenario = loadScenario(name);
    const transport = httpsTransport(new URL(setting('PROXMOX_VE_ENDPOINT')).origin, trust);
    const result = await replayScenario(scenario, {
      transport,
      clock: systemClock,
      credentials: credentialsFromEnvironment(),
      exactTime: false,
    });
    expect(formatResult(result)).toBe(`ok   ${name} ${scenario.steps.length}/${scenario.steps.length}`);
  });
});

function setting(name: (typeof REQUIRED)[number]): string {
  return process.env[name] ?? '';
}

function credentialsFromEnvironment(): Credentials {
  return {
    tokens: {
      root: setting('PROXMOX_VE_API_TOKEN'),
      admin: setting('PROXMOX_VE_CONTRACT_ADMIN_TOKEN'),
      noacl: setting('PROXMOX_VE_CONTRACT_NOACL_TOKEN'),
    },
    login: { username: 'root@pam', password: setting('PROXMOX_VE_CONTRACT_PASSWORD') },
  };
}

function trustFromEnvironment(): Trust | undefined {
  const file = process.env.PROXMOX_VE_CA_FILE;
  if (file) return { ca: readFileSync(file, 'utf8') };
  const fingerprint = process.env.PROXMOX_VE_FINGERPRINT;
  return fingerprint ? { fingerprint } : undefined;
}
