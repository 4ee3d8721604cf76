import { describe, expect, it } from 'vitest';
import { debianWithAgent } from './profiles.ts';
import { type GuestContext, runProgram } from './programs.ts';

const CONTEXT: GuestContext = {
  hostName: 'web',
  guest: debianWithAgent,
  uptimeMs: 120_000,
  readFile: (path) => (path === '/etc/hostname' ? 'web\n' : undefined),
};

function run(command: readonly string[], input = '') {
  const result = runProgram(command, CONTEXT, input);
  return result && { code: result.exitCode, out: result.stdout, err: result.stderr };
}

describe('programs in a guest', () => {
  it.each([
    [['/bin/echo', 'hello world'], { code: 0, out: 'hello world\n', err: '' }],
    [['/bin/true'], { code: 0, out: '', err: '' }],
    [['false'], { code: 1, out: '', err: '' }],
    [['/bin/sh', '-c', 'echo err >&2; exit 3'], { code: 3, out: '', err: 'err\n' }],
    [
      ['/bin/sh', '-c', 'echo hi; id; exit 3'],
      { code: 3, out: 'hi\nuid=0(root) gid=0(root) groups=0(root)\n', err: '' },
    ],
    [['/bin/sh', '-c', 'false && echo never'], { code: 1, out: '', err: '' }],
    [['cat', '/etc/hostname'], { code: 0, out: 'web\n', err: '' }],
    [['cat', '/nosuch'], { code: 1, out: '', err: 'cat: /nosuch: No such file or directory\n' }],
    [['systemctl', 'is-active', 'qemu-guest-agent'], { code: 0, out: 'active\n', err: '' }],
    [['cloud-init', 'status'], { code: 0, out: 'status: done\n', err: '' }],
  ])('%j behaves as in a real guest', (command, expected) => {
    expect(run(command)).toEqual(expected);
  });

  it.each([
    ['active', 0],
    ['activating', 3],
    ['failed', 3],
    ['inactive', 3],
  ] as const)('report the agent service as %s if the profile says so', (agentService, code) => {
    const context = { ...CONTEXT, guest: { ...debianWithAgent, agentService } };
    const result = runProgram(['systemctl', 'is-active', 'qemu-guest-agent'], context, '');
    expect(result).toMatchObject({ stdout: `${agentService}\n`, exitCode: code });
  });

  it('read their input', () => {
    expect(run(['/bin/cat'], 'from stdin')).toEqual({ code: 0, out: 'from stdin', err: '' });
  });

  it('take the time that they declare', () => {
    expect(runProgram(['sleep', '5'], CONTEXT, '')?.runsForMs).toBe(5_000);
  });

  it.each([['/no/such/program'], ['/bin/nosuch'], ['constructor']])('%s does not exist', (path) => {
    expect(run([path])).toBeUndefined();
  });
});
