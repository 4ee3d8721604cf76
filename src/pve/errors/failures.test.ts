/** The error for a response, or for none: its code decides whether a request is sent again, so each boundary matters. */

import { describe, expect, it } from 'vitest';
import { Secret } from '../../base/secret.ts';
import { TransportFailure, type WireResponse } from '../../base/transport.ts';
import { bare, refused } from '../testing/client.ts';
import { badAnswer, errorFromResponse, errorFromTransport, type RequestContext, serverWords } from './failures.ts';
import {
  isConnectionLost,
  isConnectionTrouble,
  isLockContention,
  isNotExecuted,
  isNotFound,
  isOutcomeUnknown,
} from './kinds.ts';

const QUESTION: RequestContext = {
  changes: false,
  request: 'GET /nodes/pve1/qemu/101/config',
  endpoint: 'https://pve.test:8006',
  principal: 'deploy@pve!ci',
  secrets: [new Secret('hunter2-hunter2')],
};
const CHANGE: RequestContext = { ...QUESTION, changes: true, request: 'POST /nodes/pve1/qemu/9000/clone' };
const LOCKED = 'VM is locked (backup)';

const codes = (response: WireResponse) =>
  [QUESTION, CHANGE].map((context) => errorFromResponse(context, response).code);
const detailOf = (response: WireResponse, context = QUESTION) => errorFromResponse(context, response).diagnostic.detail;

describe('a status', () => {
  it.each([
    [300, ['BAD_ANSWER', 'BAD_ANSWER']],
    [399, ['BAD_ANSWER', 'BAD_ANSWER']],
    [400, ['PARAMETER_REJECTED', 'PARAMETER_REJECTED']],
    [401, ['LOGIN_REFUSED', 'LOGIN_REFUSED']],
    [403, ['PRIVILEGE_MISSING', 'PRIVILEGE_MISSING']],
    [404, ['SERVER_FAULT', 'SERVER_FAULT']],
    [500, ['SERVER_FAULT', 'SERVER_FAULT']],
    [501, ['NOT_IMPLEMENTED', 'NOT_IMPLEMENTED']],
    [502, ['UNREACHABLE', 'OUTCOME_UNKNOWN']],
    [504, ['UNREACHABLE', 'OUTCOME_UNKNOWN']],
    [505, ['SERVER_FAULT', 'SERVER_FAULT']],
    [594, ['SERVER_FAULT', 'SERVER_FAULT']],
    [595, ['NOT_EXECUTED', 'NOT_EXECUTED']],
    [596, ['REQUEST_TIMEOUT', 'OUTCOME_UNKNOWN']],
    [597, ['UNREACHABLE', 'OUTCOME_UNKNOWN']],
    [599, ['UNREACHABLE', 'OUTCOME_UNKNOWN']],
    [600, ['SERVER_FAULT', 'SERVER_FAULT']],
  ])('%i means %j for a read and for a change', (status, expected) => {
    expect(codes(bare(status, 'Something'))).toEqual(expected);
  });

  it('of a broken connection to the API daemon is repeated for a read only', () => {
    expect(codes(bare(596, 'Broken pipe'))).toEqual(['UNREACHABLE', 'OUTCOME_UNKNOWN']);
    expect(codes(bare(596, 'Connection timed out'))).toEqual(['REQUEST_TIMEOUT', 'OUTCOME_UNKNOWN']);
  });

  it('of a disk that vanished passes by itself for a read only', () => {
    const words = "qemu-img: Could not open '/var/lib/vz/images/1/vm-1-disk-0.raw': No such file or directory";
    const outcomes = [QUESTION, CHANGE].map((context) => errorFromResponse(context, refused(500, words)).outcome);
    expect(outcomes).toEqual(['not-executed', 'known']);
    const unreadable = words.replace('No such file or directory', 'Permission denied');
    expect(errorFromResponse(QUESTION, refused(500, unreadable)).outcome).toBe('known');
  });

  it('of a list that met a VM which was just destroyed passes by itself, unless the request names that VM or changes something', () => {
    const words = "Configuration file 'nodes/pve1/qemu-server/123.conf' does not exist";
    const answer = (request: string, context = QUESTION, said = words) =>
      errorFromResponse({ ...context, request }, refused(500, said));
    const list = answer('GET /nodes/pve1/qemu');
    expect([list.code, list.outcome]).toEqual(['SERVER_FAULT', 'not-executed']);
    expect(list.diagnostic).toMatchObject({
      detail: `The server answered 500: "${words}".`,
      where: { request: 'GET /nodes/pve1/qemu' },
      facts: { serverSaid: words },
      hint: { text: 'A VM was destroyed while Proxmox listed all of them. Run the command again.' },
    });
    expect(isNotFound(answer('GET /nodes/pve1/qemu/123/config'), 'guest')).toBe(true);
    expect(isNotFound(answer('GET /nodes/pve1/qemu/12/config'), 'guest')).toBe(false);
    expect(isNotFound(answer('POST /nodes/pve1/qemu/9000/clone', CHANGE), 'guest')).toBe(true);
  });

  it('of the proxy itself takes precedence over its message, which is about its own connection', () => {
    expect(codes(bare(589, LOCKED))).toEqual(['GUEST_LOCKED', 'GUEST_LOCKED']);
    expect(codes(bare(590, LOCKED))).toEqual(['SERVER_FAULT', 'SERVER_FAULT']);
    expect(codes(bare(596, LOCKED))).toEqual(['REQUEST_TIMEOUT', 'OUTCOME_UNKNOWN']);
  });

  it('is quoted with its message and its place', () => {
    const { detail, where } = errorFromResponse(QUESTION, bare(500, 'it broke')).diagnostic;
    expect(detail).toBe('The server answered 500: "it broke".');
    expect(where).toEqual({ endpoint: 'https://pve.test:8006', request: 'GET /nodes/pve1/qemu/101/config' });
  });

  it('keeps the words of the server as a fact, whether they have a known meaning or not', () => {
    const factsOf = (text: string) => errorFromResponse(QUESTION, bare(500, text)).diagnostic.facts;
    expect([factsOf(LOCKED), factsOf('it broke')]).toEqual([{ serverSaid: LOCKED }, { serverSaid: 'it broke' }]);
  });

  it.each([502, 595, 596, 301])('%i comes with a hint', (status) => {
    for (const context of [QUESTION, CHANGE]) {
      expect(errorFromResponse(context, bare(status, 'Something')).diagnostic.hint?.text).toMatch(/\w/);
    }
  });

  it.each([
    [595, 'nothing was done'],
    [596, 'may still be running'],
  ])('%i says for a change that %s', (status, words) => {
    expect(detailOf(bare(status, 'Something'), CHANGE)).toContain(words);
  });
});

describe('a message', () => {
  it('about one parameter takes precedence over the general parameter error', () => {
    const response = refused(400, 'Parameter verification failed.', { upid: 'no such task' });
    const error = errorFromResponse(QUESTION, response);
    expect(error.code).toBe('NOT_FOUND');
    expect(isNotFound(error, 'task')).toBe(true);
    expect(isNotFound(error, 'guest')).toBe(false);
  });

  it('about one parameter that have a known meaning take precedence over plain rejections', () => {
    const response = refused(400, 'Parameter verification failed.', {
      boot: "invalid bootorder: device 'scsi9' does not exist'",
      disk: "disk 'scsi9' does not exist",
    });
    expect(codes(response)).toEqual(['NOT_FOUND', 'NOT_FOUND']);
  });

  it('about a parameter with an unknown message keeps the general error', () => {
    const response = refused(400, 'Parameter verification failed.', { vmid: 'invalid format' });
    expect(codes(response)).toEqual(['PARAMETER_REJECTED', 'PARAMETER_REJECTED']);
    expect(detailOf(response)).toBe('The server answered 400: "Parameter verification failed."\nvmid: invalid format');
  });

  it('never contains a secret', () => {
    expect(detailOf(bare(500, 'what is hunter2-hunter2?'))).not.toContain('hunter2');
    const failure = new TransportFailure({ kind: 'cut', delivered: 'perhaps', message: 'saw hunter2-hunter2' });
    expect(errorFromTransport(QUESTION, failure).diagnostic.detail).not.toContain('hunter2');
    expect(badAnswer(QUESTION, 'hunter2-hunter2').diagnostic.detail).not.toContain('hunter2');
  });

  it('of a refusal names the user', () => {
    expect(detailOf(bare(403, 'Permission check failed (/vms/101, VM.Audit)'))).toContain('deploy@pve!ci may not');
    expect(detailOf(bare(500, 'Only root may use this option.'))).toContain('deploy@pve!ci may not');
    expect(detailOf(bare(401, 'No ticket'))).toContain('https://pve.test:8006 does not accept deploy@pve!ci');
  });

  it('of a refused login leads to a hint about the token, or the name and the password', () => {
    const token = errorFromResponse(QUESTION, bare(401, 'authentication failure')).diagnostic.hint;
    expect(JSON.stringify(token)).toContain('pveum user token list deploy@pve');
    const user = { ...QUESTION, principal: 'root@pam' };
    const password = JSON.stringify(errorFromResponse(user, bare(401, 'authentication failure')).diagnostic.hint);
    expect(password).toContain('password of root@pam');
  });

  it('about a missing privilege leads to the command that grants it', () => {
    const { hint } = errorFromResponse(QUESTION, bare(403, 'Permission check failed (/vms/101, VM.Audit)')).diagnostic;
    expect(JSON.stringify(hint)).toContain('pveum acl modify /vms/101');
  });
});

describe('no response', () => {
  const failed = (kind: TransportFailure['kind'], delivered: TransportFailure['delivered'], context = QUESTION) =>
    errorFromTransport(context, new TransportFailure({ kind, delivered, message: 'it went wrong' }));

  it.each([
    ['connect', 'no', 'UNREACHABLE', 'UNREACHABLE'],
    ['timeout', 'no', 'UNREACHABLE', 'UNREACHABLE'],
    ['timeout', 'perhaps', 'REQUEST_TIMEOUT', 'OUTCOME_UNKNOWN'],
    ['malformed', 'perhaps', 'BAD_ANSWER', 'OUTCOME_UNKNOWN'],
    ['cut', 'perhaps', 'UNREACHABLE', 'OUTCOME_UNKNOWN'],
    ['certificate', 'no', 'CERT_UNTRUSTED', 'CERT_UNTRUSTED'],
  ] as const)('by %s, delivered: %s, is %s to a question and %s to a change', (kind, delivered, question, change) => {
    for (const [context, code] of [
      [QUESTION, question],
      [CHANGE, change],
    ] as const) {
      const error = failed(kind, delivered, context);
      expect(error.code).toBe(code);
      expect(error.diagnostic.detail).toContain('https://pve.test:8006');
      expect(error.diagnostic.detail).toContain('it went wrong');
      expect(error.diagnostic.hint?.text).toMatch(/\w/);
      expect(error.diagnostic.where).toEqual({ endpoint: context.endpoint, request: context.request });
      expect(error.cause).toBeInstanceOf(TransportFailure);
    }
  });

  it.each([
    ['https://pve.test:8006', 'Check the endpoint, and that port 8006 is open from here.'],
    [
      'https://pve.test',
      'Check the endpoint, and that port 443 is open from here. Proxmox itself listens on port 8006.',
    ],
    [
      'https://pve.test:9',
      'Check the endpoint, and that port 9 is open from here. Proxmox itself listens on port 8006.',
    ],
    ['pve.test', 'Check the endpoint, and that port 8006 is open from here.'],
  ])('from %s names the port to open', (endpoint, hint) => {
    const { diagnostic } = failed('connect', 'no', { ...QUESTION, endpoint });
    expect(diagnostic.hint?.text).toBe(hint);
  });

  it('keeps the code of the operating system as a fact, if there is one', () => {
    const failure = { kind: 'connect', delivered: 'no', message: 'refused' } as const;
    const facts = (known: { systemCode?: string }) =>
      errorFromTransport(QUESTION, new TransportFailure({ ...failure, ...known })).diagnostic.facts;
    expect(facts({ systemCode: 'ECONNREFUSED' })).toEqual({ systemCode: 'ECONNREFUSED' });
    expect(facts({})).toBeUndefined();
  });

  it('because of a certificate shows its fingerprint, ready to be pinned', () => {
    const failure = { kind: 'certificate', delivered: 'no', message: 'self-signed' } as const;
    const shown = errorFromTransport(QUESTION, new TransportFailure({ ...failure, fingerprint: 'AA:BB' })).diagnostic;
    expect(shown.detail).toContain('SHA-256 fingerprint AA:BB');
    expect(shown.facts).toEqual({ fingerprint: 'AA:BB' });
    expect(JSON.stringify(shown.hint)).toContain('AA:BB');
    const hidden = errorFromTransport(QUESTION, new TransportFailure(failure)).diagnostic;
    expect(hidden.detail).toContain('presented a certificate, which');
    expect(JSON.stringify(hidden.hint)).toContain('connection.fingerprint');
  });
});

describe('a response that cannot be read', () => {
  it('leaves the outcome of a change unknown, but not that of a read', () => {
    expect(isOutcomeUnknown(badAnswer(CHANGE, 'no data'))).toBe(true);
    expect(isOutcomeUnknown(badAnswer(QUESTION, 'no data'))).toBe(false);
  });

  it('says which request it belongs to, and what is wrong with it', () => {
    const cause = new Error('no JSON');
    const error = badAnswer(QUESTION, 'no data', cause);
    expect(error.code).toBe('BAD_ANSWER');
    expect(error.diagnostic.detail).toContain('GET /nodes/pve1/qemu/101/config');
    expect(error.diagnostic.detail).toContain('no data');
    expect(error.diagnostic.hint?.text).toMatch(/\w/);
    expect(error.cause).toBe(cause);
  });
});

describe('the conclusions of a caller', () => {
  const of = (status: number, reason = 'Something', context = CHANGE) =>
    errorFromResponse(context, bare(status, reason));
  const cut = (delivered: TransportFailure['delivered'], context: RequestContext) =>
    errorFromTransport(context, new TransportFailure({ kind: 'cut', delivered, message: 'cut' }));
  const table = [
    // [error, not executed, outcome unknown, connection trouble, sight lost]
    ['a daemon that is down', of(595), true, false, true, true],
    ['a change that was never sent', cut('no', CHANGE), true, false, true, true],
    ['a change that was cut off', cut('perhaps', CHANGE), false, true, true, true],
    ['a question that took too long', of(596, 'Something', QUESTION), true, false, true, true],
    ['an unreadable answer', badAnswer(QUESTION, 'x'), false, false, false, true],
    ['a refused login', of(401, 'No ticket'), false, false, false, true],
    ['an expired ticket', of(401, 'permission denied - invalid PVE ticket'), false, false, false, true],
    ['a lock', of(500, LOCKED), false, false, false, false],
    ['a missing privilege', of(403), false, false, false, false],
    ['an error of ours', new TypeError('x'), false, false, false, false],
  ] as const;

  it.each(table)('from %s', (_, error, notExecuted, unknown, connection, connectionLost) => {
    expect([
      isNotExecuted(error),
      isOutcomeUnknown(error),
      isConnectionTrouble(error),
      isConnectionLost(error),
    ]).toEqual([notExecuted, unknown, connection, connectionLost]);
  });

  it('about a lock, and nothing else that is refused', () => {
    expect([of(500, LOCKED), of(500, 'it broke'), of(403)].map(isLockContention)).toEqual([true, false, false]);
  });

  it('about a missing thing, only for that thing', () => {
    const guest = of(500, "Configuration file 'nodes/pve1/qemu-server/4711.conf' does not exist");
    expect([isNotFound(guest), isNotFound(guest, 'guest'), isNotFound(guest, 'task')]).toEqual([true, true, false]);
    expect(isNotFound(of(500, LOCKED))).toBe(false);
    expect(isNotFound(new TypeError('x'))).toBe(false);
  });
});

const words = (body: string, reason = 'from the reason phrase', clean = (text: string) => text) =>
  serverWords({ status: 500, reason, headers: {}, body }, clean);

describe('the message of a server', () => {
  it.each([
    ['in the body, since 8.3', '{"data":null,"message":"from the body\\n"}', 'from the body'],
    ['in the reason phrase', '{"data":null}', 'from the reason phrase'],
    ['in the reason phrase where the body is no object', '["a"]', 'from the reason phrase'],
    ['in the reason phrase where the body is null', 'null', 'from the reason phrase'],
    ['in the reason phrase where the message is no text', '{"message":5}', 'from the reason phrase'],
  ])('is found %s', (_, body, message) => expect(words(body).message).toBe(message));

  it('is the plain body if there is neither', () => {
    expect(words(' permission denied ', '').message).toBe('permission denied');
  });

  it('is not the markup of a proxy', () => {
    expect(words('  <html>Bad Gateway</html>', '').message).toBe('no message');
    expect(words('1 < 2', '').message).toBe('1 < 2');
  });

  it('is cut off after 2,000 characters', () => {
    expect(words(JSON.stringify({ message: 'x'.repeat(2_000) })).message).toBe('x'.repeat(2_000));
    expect(words(JSON.stringify({ message: 'x'.repeat(2_001) })).message).toBe(`${'x'.repeat(2_000)}…`);
  });

  it('contains no secrets', () => {
    const clean = (text: string) => text.replaceAll('secret', '•••');
    const { message, errors } = words('{"message":"a secret","errors":{"secret":"secret"}}', '', clean);
    expect([message, errors]).toEqual(['a •••', [{ key: '•••', text: '•••' }]]);
  });
});

describe('errors by parameter', () => {
  it('are sorted, because the server sends them in random order', () => {
    const { errors } = words('{"errors":{"c":"3","a":"1\\n","b":{"deep":2}}}');
    expect(errors).toEqual([
      { key: 'a', text: '1' },
      { key: 'b', text: '{"deep":2}' },
      { key: 'c', text: '3' },
    ]);
  });

  it('are one line each in messages', () => {
    const { quoted } = words('{"message":"Parameter verification failed.","errors":{"a":"first \\n  second"}}');
    expect(quoted).toBe('"Parameter verification failed."\na: first; second');
    expect(words('{"message":"it broke"}').quoted).toBe('"it broke".');
  });

  it.each(['[]', '"x"', 'null'])('are empty if the server sends %s', (errors) => {
    expect(words(`{"message":"m","errors":${errors}}`).errors).toEqual([]);
  });
});
