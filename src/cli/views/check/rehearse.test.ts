import { describe, expect, it } from 'vitest';
import type { ResourceRecord, StepRecord } from '../../../engine/record/run-record.ts';
import type { Rehearsal } from '../../../rehearse/rehearse.ts';
import { plainPaint } from '../text/paint.ts';
import { renderRehearsal } from './rehearse.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

function resource(address: string, second: number, status: ResourceRecord['status'] = 'done'): ResourceRecord {
  const step = { step: `${address} start`, address, action: 'vm.start', durationMs: 2000 + second } as StepRecord;
  return {
    address,
    status,
    startedAt: at(second),
    endedAt: at(second + 20),
    steps: [step],
  } as Partial<ResourceRecord> as ResourceRecord;
}

function rehearsalOf(resources: readonly ResourceRecord[], more: Partial<Rehearsal> = {}): Rehearsal {
  return {
    ok: true,
    run: { startedAt: at(0), resources, steps: resources.flatMap(({ steps }) => steps) },
    tookMs: 60_000,
    fastestMs: 50_000,
    slowestMs: 80_000,
    peaks: [],
    order: resources.map(({ address }, index) => ({ address, what: 'start', afterMs: index * 1000 })),
    warnings: [],
    problems: [],
    planDifferences: [],
    durations: [],
    assumptions: [],
    ...more,
  } as unknown as Rehearsal; // what the view reads
}

const lines = (rehearsal: Rehearsal) => renderRehearsal({ stack: 'lab', rehearsal, reads: 31 }, plainPaint);

describe('a rehearsal on a terminal', () => {
  it('has a row for each of a few VMs', () => {
    const text = lines(rehearsalOf([resource('vm.web[1]', 0), resource('vm.web[2]', 5)])).join('\n');
    expect(text).toMatch(/vm\.web\[1\] +\+0ms +\+20s +done +start 2\.0s/);
    expect(text).toMatch(/vm\.web\[2\] +\+5\.0s +\+25s +done/);
    expect(text).toMatch(/\+1\.0s +start +vm\.web\[2\]/);
  });

  it('has a row for each group of 300 VMs, and one for each that fails', () => {
    const workers = Array.from({ length: 299 }, (_, index) => resource(`vm.worker[${index + 1}]`, index));
    const rehearsal = rehearsalOf([...workers, resource('vm.worker[300]', 299, 'failed')]);
    const text = lines(rehearsal).join('\n');
    expect(text).toMatch(/vm\.worker \(299\) +\+0ms +\+5m 18s +done +start 2\.3s/);
    expect(text).toMatch(/vm\.worker\[300\] +\+4m 59s +\+5m 19s +failed/);
    expect(text).toMatch(/\+0ms to \+4m 59s +start +vm\.worker \(300\)/);
    expect(lines(rehearsal).length).toBeLessThan(20);
  });

  it('names a shared storage once, whatever the number of nodes', () => {
    const GIB = 1024 ** 3;
    const peak = (before: number, most: number) => ({
      beforeBytes: before * GIB,
      peakBytes: most * GIB,
      totalBytes: 100 * GIB,
    });
    const nfs = { storage: 'nfs', shared: true, ...peak(10, 20) };
    const peaks = ['pve1', 'pve2'].map((node) => ({
      node,
      memory: peak(1, 5),
      storages: [{ storage: 'local-lvm', shared: false, ...peak(2, node === 'pve1' ? 3 : 2) }, nfs],
    }));
    const text = lines(rehearsalOf([resource('vm.web[1]', 0)], { peaks })).join('\n');
    expect(text).toMatch(
      /pve1 +memory +1\.0 GiB +5\.0 GiB +100\.0 GiB\npve1 +local-lvm .*\npve2 +memory .*\nshared +nfs +10\.0 GiB/,
    );
    expect(text.match(/nfs/g)).toHaveLength(1);
  });

  it('keeps the order where groups take turns', () => {
    const mixed = Array.from({ length: 32 }, (_, index) =>
      resource(index < 20 ? `vm.a[${index}]` : index < 22 ? 'vm.b' : `vm.a[${index}]`, index),
    );
    const text = lines(rehearsalOf(mixed)).join('\n');
    expect(text).toMatch(/\+0ms to \+19s +start +vm\.a \(20\)/);
    expect(text).toMatch(/\+22s to \+31s +start +vm\.a \(10\)/);
  });
});
