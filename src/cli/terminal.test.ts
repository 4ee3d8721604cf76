import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../base/errors.ts';
import { advice, command, ownLanguage } from '../base/hint.ts';
import { KnownSecrets, Secret } from '../base/secret.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { chooseLogLevel, createTerminal, type TerminalOptions, toType } from './terminal.ts';
import { paintFor } from './views/text/paint.ts';

function capture(options: Partial<TerminalOptions> = {}, stream: { isTTY?: boolean; hasColors?: () => boolean } = {}) {
  const written = { stdout: '', stderr: '' };
  const output = (name: keyof typeof written) => ({
    ...stream,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const terminal = createTerminal({
    stdout: output('stdout'),
    stderr: output('stderr'),
    clock: new VirtualClock(),
    secrets: new KnownSecrets(),
    ...options,
  });
  return { terminal, written };
}

const PROBLEM = new ProxwrightError({
  code: 'UNKNOWN_FIELD',
  where: { file: 'stack.yaml', line: 14, column: 5, address: 'vm.web' },
  detail: '"memmory" is not a field of a vm.',
  hint: { text: 'Did you mean "memory"?' },
}).diagnostic;

describe('the terminal', () => {
  it('keeps results apart from messages', () => {
    const { terminal, written } = capture();
    terminal.log('info', 'working');
    terminal.success('done');
    terminal.log('warn', 'careful', { vm: 100 });
    terminal.result('answer=42');
    expect(written.stdout).toBe('answer=42\n');
    expect(written.stderr).toBe('INFO    working\nSUCCESS done\nWARNING careful vm=100\n');
  });

  it('hides messages below the chosen level', () => {
    const { terminal, written } = capture({ level: 'warn' });
    terminal.log('debug', 'a');
    terminal.log('info', 'b');
    terminal.success('c');
    terminal.log('warn', 'd');
    terminal.log('error', 'e');
    expect(written.stderr).toBe('WARNING d\nERROR   e\n');
  });

  it('writes the commands of a hint for the stack that the options select', () => {
    const { terminal, written } = capture({ language: ownLanguage(['--file', 'my lab.yaml']) });
    const hint = advice`Run ${command('apply', '--only', 'vm.web')}, or ${command('sim')}.`;
    terminal.diagnostic({ ...PROBLEM, hint });
    expect(written.stderr).toContain("Run proxwright apply --file 'my lab.yaml' --only vm.web, or proxwright sim.");
    expect(toType(terminal, 'plan')).toBe("proxwright plan --file 'my lab.yaml'");
  });

  it('prints a diagnostic as text', () => {
    const { terminal, written } = capture();
    terminal.diagnostic(PROBLEM);
    expect(written.stderr).toBe(
      'error: Unknown field [UNKNOWN_FIELD]\n  at stack.yaml:14:5 — vm.web\n' +
        '  "memmory" is not a field of a vm.\n  Did you mean "memory"?\n',
    );
  });

  it('prints JSON lines with --json', () => {
    const { terminal, written } = capture({ json: true });
    terminal.log('info', 'working', { vm: 100 });
    terminal.diagnostic(PROBLEM);
    const lines = written.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([
      { time: '2026-01-01T00:00:00.000Z', level: 'info', message: 'working', fields: { vm: 100 } },
      { time: '2026-01-01T00:00:00.000Z', level: 'error', diagnostic: PROBLEM },
    ]);
  });

  it.each([
    ['colours on a terminal', { isTTY: true }, true],
    ['no colours on a terminal without any', { isTTY: true, hasColors: () => false }, false],
    ['no colours in a pipe', {}, false],
  ])('uses %s', (_what, stream, expected) => {
    const { terminal, written } = capture({}, stream);
    terminal.log('error', 'no');
    expect(written.stderr.includes('\u001b[31m')).toBe(expected);
  });
});

describe('foreign text', () => {
  const HOSTILE = 'vm \u001b]0;owned\u0007\u001b[31m \u202e hunter22';
  const problem = new ProxwrightError({ code: 'TASK_FAILED', detail: HOSTILE, hint: HOSTILE }).diagnostic;
  const secrets = new KnownSecrets([new Secret('hunter22')]);

  it.each([
    ['on a terminal', { isTTY: true }, {}],
    ['in a pipe', {}, {}],
    ['in JSON', {}, { json: true }],
  ])('reaches no stream with a control character or a secret %s', (_where, stream, options) => {
    const { terminal, written } = capture({ ...options, secrets, level: 'debug' }, stream);
    terminal.log('debug', HOSTILE, { said: HOSTILE });
    terminal.success(HOSTILE);
    terminal.diagnostic(problem);
    terminal.result(HOSTILE);
    terminal.data({ [HOSTILE]: HOSTILE });
    const text = `${written.stdout}${written.stderr}`;
    for (const part of ['owned\u0007', '\u001b]', '\u202e', 'hunter22']) expect(text).not.toContain(part);
    // The colours of the labels are ours; the server's red is not.
    expect(written.stdout).not.toContain('\u001b');
    expect(text).toContain('owned');
    for (const line of written.stdout.split('\n').slice(1, 2)) {
      expect(Object.keys(JSON.parse(line))[0]).toContain('\u202e');
    }
  });

  it('cannot imitate a separate message', () => {
    const { terminal, written } = capture();
    terminal.log('warn', 'the task says:\nSUCCESS all done');
    expect(written.stderr).toBe('WARNING the task says:\n        SUCCESS all done\n');
  });

  it('cannot imitate the colours of a view', () => {
    const { terminal, written } = capture({}, { isTTY: true });
    const paint = paintFor({ write: () => {}, isTTY: true });
    const ours = paint('green', 'ok');
    terminal.result(`${ours} \u001b[32mok\u001b[39m ${ours.replace(/[0-9a-f]{16}/g, '0123456789abcdef')}`);
    expect(written.stdout.split('\u001b[32m')).toHaveLength(2);
  });
});

describe('the log level', () => {
  it('comes from the option, then from the environment, and is info by default', () => {
    expect(chooseLogLevel('debug', { PROXMOX_LOG_LEVEL: 'error' })).toBe('debug');
    expect(chooseLogLevel(undefined, { PROXMOX_LOG_LEVEL: 'ERROR' })).toBe('error');
    expect(chooseLogLevel(undefined, {})).toBe('info');
  });

  it('is rejected if it is unknown', () => {
    expect(() => chooseLogLevel('loud', {})).toThrow(/"loud" is not a log level/);
    expect(() => chooseLogLevel(undefined, { PROXMOX_LOG_LEVEL: 'loud' })).toThrow(/PROXMOX_LOG_LEVEL/);
  });
});
