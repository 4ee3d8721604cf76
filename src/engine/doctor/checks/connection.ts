/** The connection to the server, its token, its clock, and the quorum of its cluster. */

import { type Diagnostic, factsOf } from '../../../base/diagnostics.ts';
import type { ProxwrightError } from '../../../base/errors.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import { counted, printDuration } from '../../../base/values/units.ts';
import { type CheckName, type Finding, findingsOf } from '../../../kinds/doctor/finding.ts';
import { NEWEST_RELEASE, OLDEST_RELEASE, supportOf } from '../../../pve/compatibility.ts';
import { PRINT_FINGERPRINT } from '../../../pve/http/endpoint.ts';
import { type Examination, median } from '../examination.ts';

const SLOW_MS = 1_000;
/** Generous, because the `Date` header has whole seconds and requests take time. */
const SKEWED_MS = 10_000;
const EXPIRES_SOON_MS = 14 * 24 * 3_600_000;

export function checkEndpoint({ endpoint }: Pick<Examination, 'endpoint'>): Finding[] {
  return [findingsOf('endpoint').good(`${endpoint} answers.`)];
}

const TRUSTS = {
  fingerprint: 'Matches the pinned fingerprint. Update the fingerprint when the certificate is renewed.',
  ca: 'Issued by the configured certificate authority.',
  system: 'Issued by an authority that this machine trusts.',
  none: 'None: the server runs in this process.',
} as const;

export function checkCertificate({ trust }: Pick<Examination, 'trust'>): Finding[] {
  const details = trust.fingerprint === undefined ? undefined : [`fingerprint: "${trust.fingerprint}"`];
  return [findingsOf('certificate').good(TRUSTS[trust.kind], { ...(details && { details }) })];
}

/** Why there is no connection; nothing else can be checked then. */
export function connectionFinding({ diagnostic }: ProxwrightError): Finding {
  const isFingerprint = /fingerprint/i.test(`${diagnostic.where?.file} ${diagnostic.where?.field}`);
  const say = findingsOf(isFingerprint ? 'certificate' : (FAILED[diagnostic.code] ?? 'endpoint'));
  const found = say.of(diagnostic, 'bad');
  if (diagnostic.code === 'UNREACHABLE') return { ...found, remedy: unreachableRemedy(diagnostic) };
  const presented = factsOf(diagnostic).fingerprint;
  if (diagnostic.code !== 'CERT_UNTRUSTED' || presented === undefined) return found;
  return {
    ...found,
    remedy: [
      `Compare it on the node: ${PRINT_FINGERPRINT}`,
      'If it matches, add this to the stack file:',
      `connection: { fingerprint: "${presented}" }`,
    ].join('\n'),
  };
}

/** Depends on how far the connection got. */
function unreachableRemedy(diagnostic: Diagnostic): string {
  const endpoint = diagnostic.where?.endpoint ?? '';
  const { hostname: host, port } = URL.canParse(endpoint) ? new URL(endpoint) : { hostname: '', port: '' };
  const usual = port === '8006' ? '' : `\nProxmox listens on port 8006: connection.endpoint: https://${host}:8006`;
  if (factsOf(diagnostic).systemCode === 'ENOTFOUND') {
    return `Correct the name, or use the IP address: connection.endpoint, PROXMOX_VE_ENDPOINT. To check whether this machine resolves it: getent hosts ${host}`;
  }
  return `Try it from here: curl -k ${endpoint}${usual}\nOn the node: systemctl status pveproxy`;
}

const FAILED: Readonly<Record<string, CheckName>> = {
  CERT_UNTRUSTED: 'certificate',
  CERT_UNREADABLE: 'certificate',
  LOGIN_REFUSED: 'token',
  BAD_CREDENTIALS: 'token',
};

export function checkVersion({ observed: { version } }: Pick<Examination, 'observed'>): Finding[] {
  const say = findingsOf('version');
  const tried = `${OLDEST_RELEASE} to ${NEWEST_RELEASE}`;
  switch (supportOf(version)) {
    case 'supported':
      return [say.good(`Proxmox VE ${version.version}.`)];
    case 'too old':
      return [
        say.bad(`Proxmox VE ${version.version} is older than the oldest supported release (${tried} are supported).`, {
          remedy: 'Upgrade the server: https://pve.proxmox.com/wiki/Category:Upgrade',
        }),
      ];
    case 'unknown':
      return [
        say.warning(
          `Proxmox VE ${version.version} is newer than the releases that Proxwright was tested with (${tried}).`,
          {
            remedy: 'Upgrade Proxwright. This version treats the server like the newest release it knows.',
          },
        ),
      ];
  }
}

export function checkToken({ principal, token, now }: Pick<Examination, 'principal' | 'token' | 'now'>): Finding[] {
  const say = findingsOf('token');
  const [user = principal, tokenId] = principal.split('!');
  if (tokenId === undefined) {
    return [
      say.warning(`Logged in as ${principal} with a password.`, {
        remedy: `Create a token, which you can revoke on its own: ${nodeCommand('pveum user token add', [user, 'proxwright'], { privsep: 1 })}`,
      }),
    ];
  }
  if (!token.ok) return [say.good(`${principal}, a token of ${user}.`)];
  const { privsep, expire } = token.value ?? {};
  const expiresAt = expire ? expire * 1000 : undefined;
  const kind =
    privsep === false
      ? `with all privileges of ${user}`
      : `with privilege separation: it has the privileges that both it and ${user} have`;
  if (expiresAt !== undefined && expiresAt - now < EXPIRES_SOON_MS) {
    const left = expiresAt > now ? `expires in ${printDuration(expiresAt - now)}` : 'has expired';
    return [
      say.warning(`${principal} ${left}.`, {
        remedy: `Remove the expiry date: ${nodeCommand('pveum user token modify', [user, tokenId], { expire: 0 })}`,
      }),
    ];
  }
  return [say.good(`${principal}, a token ${kind}.`)];
}

export function checkClock({ wire: { skewsMs, speed = 1 } }: Pick<Examination, 'wire'>): Finding[] {
  const say = findingsOf('clock');
  if (speed !== 1) return [say.good(`A simulator, whose clock runs ${speed} times as fast as real time.`)];
  const skewMs = median(skewsMs);
  if (skewMs === undefined) return [say.warning('The server reports no time.')];
  // The header truncates to seconds, which removes half a second on average.
  const offMs = Math.abs(skewMs + 500);
  if (offMs < SKEWED_MS) return [say.good('The clocks of the server and of this machine agree.')];
  const direction = skewMs > 0 ? 'ahead of' : 'behind';
  return [
    say.warning(`The server's clock is ${printDuration(offMs)} ${direction} the clock of this machine.`, {
      remedy: 'Check both machines: timedatectl. On a node: systemctl restart chrony',
    }),
  ];
}

export function checkLatency({ wire: { tookMs } }: Pick<Examination, 'wire'>): Finding[] {
  const say = findingsOf('latency');
  const middleMs = median(tookMs);
  if (middleMs === undefined) return [];
  const words = `Median response time of ${tookMs.length} requests: ${printDuration(Math.round(middleMs))}.`;
  if (middleMs < SLOW_MS) return [say.good(words)];
  return [
    say.warning(words, {
      remedy: 'Check the load of the node, or send fewer requests at once: rollout.limits.requests: 2',
    }),
  ];
}

export function checkQuorum({ cluster }: Pick<Examination, 'cluster'>): Finding[] {
  const say = findingsOf('quorum');
  if (!cluster.ok) return [say.unread('Quorum', cluster.needs)];
  const whole = cluster.value.find(({ type }) => type === 'cluster');
  const nodes = cluster.value.filter(({ type }) => type === 'node');
  const offline = nodes.filter(({ online }) => online === false).map(({ name }) => name);
  if (!whole) return [say.good('Single node, no cluster.')];
  if (whole.quorate === false) {
    return [
      say.bad(`Cluster ${whole.name} has no quorum: Proxmox refuses every change.`, {
        remedy: `Bring back ${offline.length > 0 ? offline.join(', ') : 'the missing nodes'}; on a node: ${nodeCommand('pvecm status', [])}`,
      }),
    ];
  }
  const words = `Cluster ${whole.name} has quorum, ${counted(nodes.length, 'node')}.`;
  if (offline.length === 0) return [say.good(words)];
  return [
    say.warning(`${words} Offline: ${offline.join(', ')}.`, {
      remedy: `On a node: ${nodeCommand('pvecm status', [])}`,
    }),
  ];
}
