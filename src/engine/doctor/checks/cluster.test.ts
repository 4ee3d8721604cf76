import { describe, expect, it } from 'vitest';
import type { ClusterStatusEntry } from '../../../pve/index.ts';
import { checkQuorum } from './connection.ts';

const NOTHING = { quorate: undefined, online: undefined, local: undefined, ip: undefined };
const node = (name: string, online: boolean): ClusterStatusEntry => ({ ...NOTHING, type: 'node', name, online });
const cluster = (quorate: boolean): ClusterStatusEntry => ({ ...NOTHING, type: 'cluster', name: 'lab', quorate });
const check = (...value: ClusterStatusEntry[]) => checkQuorum({ cluster: { ok: true, value } })[0];

describe('the quorum', () => {
  it('is there, or there is nobody to agree with', () => {
    expect(check(cluster(true), node('pve1', true), node('pve2', true))).toMatchObject({ verdict: 'good' });
    expect(check(node('pve1', true))?.words).toContain('by itself');
  });

  it('is missing, and the nodes that are away are named', () => {
    expect(check(cluster(false), node('pve1', true), node('pve2', false))).toMatchObject({
      verdict: 'bad',
      remedy: expect.stringContaining('pve2'),
    });
  });

  it('is worth a word while a node is away', () => {
    expect(check(cluster(true), node('pve1', true), node('pve2', false))).toMatchObject({ verdict: 'warning' });
  });

  it('is not taken for granted where it may not be read', () => {
    expect(checkQuorum({ cluster: { ok: false, needs: 'Sys.Audit on /' } })).toEqual([
      { check: 'quorum', verdict: 'unknown', words: 'Quorum: not checked, the token needs Sys.Audit on /.' },
    ]);
  });
});
