import { describe, expect, it } from 'vitest';
import { pathPattern, taskMatcher } from './rule.ts';

describe('path patterns', () => {
  it.each([
    ['clone', '/nodes/pve1/qemu/100/clone', true],
    ['clone', '/nodes/pve1/qemu/100/reclone', false],
    ['clone', '/nodes/pve1/clone/100', false],
    ['qemu/*/config', '/nodes/pve1/qemu/100/config', true],
    ['qemu/*/config', '/nodes/pve1/qemu/100/snapshot/a/config', false],
    ['qemu/1*/config', '/nodes/pve1/qemu/205/config', false],
    ['/nodes/{node}/qemu/{vmid}/config', '/nodes/pve1/qemu/100/config', true],
    ['/qemu/{vmid}/config', '/nodes/pve1/qemu/100/config', false],
    ['/nodes/**', '/nodes/pve1/qemu/100/config', true],
    ['agent/**', '/nodes/pve1/qemu/100/agent/exec-status', true],
    ['version', '/version', true],
    ['a.b', '/axb', false],
  ])('%s on %s: %s', (pattern, path, expected) => {
    expect(pathPattern(pattern)(path)).toBe(expected);
  });
});

describe('task patterns', () => {
  it.each([
    [undefined, 'imgcopy', true],
    ['qmclone', 'qmclone', true],
    ['qm*', 'qmstart', true],
    ['qm*', 'imgdel', false],
  ])('%s on %s: %s', (task, type, expected) => {
    expect(taskMatcher({ ...(task !== undefined && { task }) })(type)).toBe(expected);
  });
});
