import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { KnownSecrets } from '../../base/secret.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import type { HttpsTransportOptions } from '../../pve/index.ts';
import { afterLogin, ok, scriptedTransport } from '../../pve/testing/client.ts';
import { encodeMsgpack } from '../cty/codec.ts';
import { type CtyObject, type CtyValue, objectOf, UNKNOWN } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { type Attributes, objectType } from '../schema/model.ts';
import { dottedOf } from '../values/diagnostics.ts';
import { Configuration } from './configuration.ts';
import { CONFIGURATION_SCHEMA } from './table.ts';

const TOKEN = 'deploy@pve!ci=00000000-0000-4000-8000-000000000003';
const FINGERPRINT = `${'AB:'.repeat(31)}AB`;
const GIVEN = { endpoint: 'https://pve1:8006', token: TOKEN };
/** Looks like a certificate, but cannot be decoded. */
const PEM = `-----BEGIN CERTIFICATE-----
MIIBfDCCASGgAwIBAgIUZ8n1WQ6Rzr0Yq4Jg3Q4n0Zb0e0kwCgYIKoZIzj0EAwIw
-----END CERTIFICATE-----`;

let directory = '';
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-configure-'));
  writeFileSync(join(directory, 'token'), `${TOKEN}\n`);
  writeFileSync(join(directory, 'not-a-certificate'), 'hello');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

type Written = { readonly [name: string]: CtyValue | Written };

function complete(written: Written, attributes: Attributes = CONFIGURATION_SCHEMA.attributes): CtyObject {
  return objectOf(
    Object.entries(attributes).map(([name, { type }]) => {
      const value = written[name] ?? null;
      const isGroup = type.kind === 'nested' && value !== null && typeof value === 'object';
      // Checked by the type of the attribute.
      return [name, isGroup ? complete(value as Written, type.attributes) : (value as CtyValue)];
    }),
  );
}

function configuration(environment: Record<string, string> = {}) {
  const connections: HttpsTransportOptions[] = [];
  const secrets = new KnownSecrets();
  const transport = scriptedTransport(afterLogin(() => ok([{ node: 'pve1', status: 'online' }])));
  const made = new Configuration({
    log: silentLogger,
    clock: new VirtualClock(),
    random: seededRandom(1),
    environment,
    directory,
    secrets,
    connectTransport: (options) => {
      connections.push(options);
      return transport;
    },
  });
  return { configuration: made, connections, transport, secrets };
}

async function configured(written: Written, environment: Record<string, string> = {}) {
  const { configuration: made, connections, transport, secrets } = configuration(environment);
  const diagnostics = await made.configure(complete(written), '1.11.4');
  return { diagnostics, deps: made.depsOf(), connections, transport, secrets, made };
}

const told = ({ severity, path = [], detail }: ProviderDiagnostic) =>
  `${severity} ${dottedOf(path) || '-'}: ${detail.split('\n')[0]}`;

describe('the schema of the provider', () => {
  it('has the rollout of a stack file, without what applies only to stacks', () => {
    const { rollout } = CONFIGURATION_SCHEMA.attributes;
    expect(objectType({ rollout: rollout as NonNullable<typeof rollout> })).toEqual([
      'object',
      {
        rollout: [
          'object',
          {
            stagger: 'string',
            readiness: 'string',
            disk_move_limit: 'string',
            retry: ['object', { attempts: 'number', first: 'string', max: 'string' }],
            limits: [
              'object',
              {
                vms: 'number',
                clones_per_node: 'number',
                clones_per_storage: 'number',
                destroys: 'number',
                requests: 'number',
                agent_calls: 'number',
              },
            ],
            timeouts: [
              'object',
              {
                clone: 'string',
                disk_move: 'string',
                image: 'string',
                unreachable: 'string',
                start: 'string',
                ready: 'string',
                shutdown: 'string',
                lock: 'string',
              },
            ],
          },
        ],
      },
    ]);
  });

  it('has only optional attributes, all described, and hides only the token', () => {
    const everything = (attributes: Attributes): [string, Attributes[string]][] =>
      Object.entries(attributes).flatMap(([name, attribute]) => [
        [name, attribute] as [string, Attributes[string]],
        ...(attribute.type.kind === 'nested' ? everything(attribute.type.attributes) : []),
      ]);
    const all = everything(CONFIGURATION_SCHEMA.attributes);
    expect(all.filter(([, { given }]) => given !== 'optional')).toEqual([]);
    expect(all.filter(([, { description }]) => description === '')).toEqual([]);
    expect(all.filter(([, { sensitive }]) => sensitive).map(([name]) => name)).toEqual(['token']);
  });
});

describe('the configuration of the provider', () => {
  it('comes from its attributes, without any request', async () => {
    const { diagnostics, deps, connections, transport, secrets } = await configured({
      ...GIVEN,
      fingerprint: FINGERPRINT.toLowerCase(),
      plan_checks: 'warn',
      rollout: { stagger: '30s', limits: { vms: 3, requests: 4 }, timeouts: { clone: '1h' } },
    });
    expect(diagnostics).toEqual([]);
    expect(deps?.work.endpoint).toBe('https://pve1:8006');
    expect(deps?.looks.principal).toBe('deploy@pve!ci');
    expect(deps?.planChecks).toBe('warn');
    expect(deps?.rollout).toMatchObject({
      staggerMs: 30_000,
      readiness: 'sequential',
      limits: { vms: 3, requests: 4, clonesPerNode: 2 },
      timeouts: { cloneMs: 3_600_000, startMs: 300_000 },
    });
    expect(connections).toEqual([
      expect.objectContaining({ trust: { kind: 'fingerprint', sha256: FINGERPRINT }, maxConnections: 4 }),
    ]);
    expect(transport.requests).toEqual([]);
    expect([...secrets].map((secret) => secret.reveal())).toEqual(['00000000-0000-4000-8000-000000000003']);
  });

  it.each<[Record<string, string>, string]>([
    [{ PROXMOX_VE_ENDPOINT: 'https://env:8006', PROXMOX_VE_API_TOKEN: TOKEN }, 'deploy@pve!ci'],
    [
      {
        PM_API_URL: 'https://env:8006/api2/json',
        PM_API_TOKEN_ID: 'deploy@pve!old',
        PM_API_TOKEN_SECRET: '00000000-0000-4000-8000-000000000009',
      },
      'deploy@pve!old',
    ],
    [{ PROXMOX_VE_ENDPOINT: 'env', PROXMOX_VE_USERNAME: 'root@pam', PROXMOX_VE_PASSWORD: 'secret' }, 'root@pam'],
    [{ PM_API_URL: 'https://env', PM_USER: 'root@pam', PM_PASS: 'secret' }, 'root@pam'],
  ])('comes from the environment: %j', async (environment, principal) => {
    const { diagnostics, deps } = await configured({}, environment);
    expect(diagnostics).toEqual([]);
    expect(deps?.work.endpoint).toBe('https://env:8006');
    expect(deps?.work.principal).toBe(principal);
  });

  it('takes the fingerprint from the environment', async () => {
    const { connections } = await configured(GIVEN, { PROXMOX_VE_FINGERPRINT: FINGERPRINT });
    expect(connections[0]?.trust).toEqual({ kind: 'fingerprint', sha256: FINGERPRINT });
  });

  it.each<Written>([{ token_file: 'token' }, { token_command: ['cat', 'token'] }])(
    'finds the token where %j says',
    async (written) => {
      const { deps, diagnostics } = await configured({ endpoint: 'pve1', ...written });
      expect(diagnostics).toEqual([]);
      expect(deps?.work.principal).toBe('deploy@pve!ci');
    },
  );

  it('prefers the attributes to the environment, even to a malformed one', async () => {
    const { deps, diagnostics } = await configured(
      { ...GIVEN, fingerprint: FINGERPRINT },
      { PROXMOX_VE_ENDPOINT: 'http:', PROXMOX_VE_API_TOKEN: 'malformed', PROXMOX_VE_FINGERPRINT: 'x' },
    );
    expect(diagnostics).toEqual([]);
    expect(deps?.work.endpoint).toBe('https://pve1:8006');
  });

  it('reports everything that is missing at once, each at its attribute', async () => {
    const { diagnostics, deps } = await configured({});
    expect(diagnostics.map(told)).toEqual([
      'error endpoint: The endpoint of the Proxmox server is not set.',
      'error token: No credentials are set.',
    ]);
    expect(deps).toBeUndefined();
  });

  it.each<[Record<string, string>, string]>([
    [{ PROXMOX_VE_ENDPOINT: 'ftp://pve1' }, 'error endpoint: The endpoint "ftp://pve1" cannot be used.'],
    [{ PROXMOX_VE_API_TOKEN: 'nothing' }, 'error token: The API token has no "="'],
    [{ PM_API_TOKEN_ID: 'a@pve!b' }, 'error token: PM_API_TOKEN_ID is set without PM_API_TOKEN_SECRET.'],
    [{ PROXMOX_VE_FINGERPRINT: 'AA' }, 'error fingerprint: "AA" is not a SHA-256 fingerprint'],
  ])('names the variable of a bad value: %j', async (wrong, complaint) => {
    const { diagnostics } = await configured(
      {},
      { PROXMOX_VE_ENDPOINT: 'pve1', ...('PM_API_TOKEN_ID' in wrong ? {} : { PROXMOX_VE_API_TOKEN: TOKEN }), ...wrong },
    );
    expect(diagnostics.map(told)).toEqual([expect.stringContaining(complaint)]);
    expect(diagnostics[0]?.detail).toContain(`(${Object.keys(wrong)[0]})`);
  });

  it.each<[Written, string]>([
    [{ endpoint: 'ftp://pve1' }, 'error endpoint: "endpoint": an endpoint looks like'],
    [{ token: 'deploy@pve' }, 'error token: The API token has no "="'],
    [{ token: TOKEN, token_file: 'x' }, 'error token_file: "token" and "token_file" cannot be used together.'],
    [{ token_command: [] }, 'error token_command: "token_command" must be at least 1 elements'],
    [{ fingerprint: 'AA' }, 'error fingerprint: "fingerprint" is "AA": a SHA-256 fingerprint is 32 pairs'],
    [{ fingerprint: FINGERPRINT, ca: 'ca.pem' }, 'error fingerprint: "fingerprint" and "ca" cannot be used together.'],
    [{ ca: PEM }, 'error ca: The CA certificate is not usable.'],
    [{ plan_checks: 'never' }, 'error plan_checks: "plan_checks" must be one of error, warn, off; it is "never".'],
    [{ rollout: { stagger: '30' } }, 'error rollout: "rollout.stagger": "30" is not a duration'],
    [{ rollout: { limits: { vms: 0 } } }, 'error rollout: "rollout.limits.vms" must be at least 1; it is 0.'],
    [{ rollout: { retry: { first: '1m', max: '1s' } } }, 'error rollout: "rollout.retry.max" is shorter than'],
  ])('is refused before anything is configured: %j', async (written, complaint) => {
    const { configuration: made } = configuration();
    expect(made.validate(complete(written)).map(told)).toEqual([expect.stringContaining(complaint)]);
    const { diagnostics, deps } = await configured({ ...GIVEN, ...written });
    expect(diagnostics.map(told)).toContainEqual(expect.stringContaining(complaint));
    expect(deps).toBeUndefined();
  });

  it.each<[Written, string]>([
    [{ ca: 'missing.pem' }, 'error ca: "missing.pem" cannot be read as a CA certificate: the file does not exist.'],
    [{ ca: 'not-a-certificate' }, 'error ca: The CA certificate "not-a-certificate" is not usable.'],
    [{ token: null, token_file: 'missing' }, 'error token_file: "missing" cannot be read as a secret'],
    [{ token: null, token_command: ['false'] }, 'error token_command: The command "false", which prints a secret'],
  ])('reports at its attribute which file cannot be used: %j', async (written, complaint) => {
    const { diagnostics } = await configured({ ...GIVEN, ...written });
    expect(diagnostics.map(told)).toEqual([expect.stringContaining(complaint)]);
  });

  it('never repeats a token', async () => {
    const { diagnostics } = await configured({ ...GIVEN, token: 'deploy@pve!ci 00000000-secret' });
    expect(JSON.stringify(diagnostics)).not.toContain('00000000-secret');
  });

  it.each<Written>([
    { endpoint: UNKNOWN },
    { token: UNKNOWN },
    { rollout: { limits: { vms: UNKNOWN } } },
    { rollout: UNKNOWN },
  ])('is not in force, and not an error, while something is unknown', async (written) => {
    const { configuration: made } = configuration();
    expect(made.validate(complete(written))).toEqual([]);
    const { diagnostics, deps } = await configured({ ...GIVEN, ...written });
    expect(diagnostics).toEqual([]);
    expect(deps).toBeUndefined();
  });

  it.each(['PROXMOX_VE_INSECURE', 'PM_TLS_INSECURE'])(
    'verifies the certificate even if %s asks to skip it, and says so if nothing is pinned',
    async (name) => {
      const variables = { [name]: 'true' };
      const warned = await configured(GIVEN, variables);
      expect(warned.deps).toBeDefined();
      expect(warned.diagnostics.map(told)).toEqual([
        `warning -: ${name} has no effect: the certificate is always verified, by CA or fingerprint.`,
      ]);
      expect((await configured({ ...GIVEN, fingerprint: FINGERPRINT }, variables)).diagnostics).toEqual([]);
      const attribute = await configured({ ...GIVEN, insecure: true, fingerprint: FINGERPRINT });
      expect(attribute.diagnostics.map(told)).toEqual([
        expect.stringContaining('warning insecure: "insecure" has no effect'),
      ]);
    },
  );

  it('matches its declared types', () => {
    const { attributes } = CONFIGURATION_SCHEMA;
    expect(() => encodeMsgpack(complete({ ...GIVEN, rollout: { limits: {} } }), objectType(attributes))).not.toThrow();
  });
});

describe('what a configured provider shares', () => {
  it('is read once for reads, and again for changes or after it was forgotten', async () => {
    const { deps, transport } = await configured(GIVEN);
    if (!deps) throw new Error('not configured');
    const { looks, work } = deps;
    await Promise.all([looks.nodes(), looks.nodes(), looks.nodes()]);
    expect(transport.lines()).toEqual(['GET /version', 'GET /nodes']);
    deps.forgetLooks();
    await looks.nodes();
    await work.nodes();
    await work.nodes();
    expect(transport.lines().filter((line) => line === 'GET /nodes')).toHaveLength(4);
  });

  it('ends as canceled when the host stops', async () => {
    const { deps, made } = await configured(GIVEN);
    if (!deps) throw new Error('not configured');
    made.stop();
    await expect(deps.looks.nodes({ signal: deps.signal })).rejects.toMatchObject({ code: 'CANCELED' });
  });

  it.each<Record<string, string>>([
    { PROXMOX_VE_USERNAME: 'root@pam', PROXMOX_VE_PASSWORD: 'x', PROXMOX_VE_OTP: '123456' },
    { PM_USER: 'root@pam', PM_PASS: 'x', PM_OTP: '123456' },
  ])('logs in once if the password can be used only once: %j', async (environment) => {
    const { deps } = await configured({ endpoint: 'pve1' }, environment);
    expect(deps?.looks).toBe(deps?.work);
  });

  it('reads secrets from the environment and redacts them from all output', async () => {
    const { deps, secrets } = await configured(GIVEN, { PASSWORD: 'correct horse' });
    expect((await deps?.readSecret({ env: 'PASSWORD' }))?.reveal()).toBe('correct horse');
    expect([...secrets].map((secret) => secret.reveal())).toContain('correct horse');
  });
});
