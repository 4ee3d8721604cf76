import fc from 'fast-check';
import { describe, it } from 'vitest';
import { isFamily } from '../../base/errors.ts';
import { parseRuleFile } from '../faults/rule.ts';
import { parseShortForm } from '../faults/short-form.ts';
import { loadWorld } from './load-world.ts';

const WORLD = `
cluster: lab
nodes:
  alpha: {memory: 8G, bridges: {vmbr0: {dhcp: {first: 10.0.0.1, last: 10.0.0.9}}}}
storages:
  tank: {type: zfspool, volumes: [{name: vm-100-disk-0, size: 8G, guest: talos}]}
vms:
  100: {config: {name: web, scsi0: 'tank:vm-100-disk-0,size=8G'}}
users:
  a@pve: {tokens: {t: {secret: x}}}
acl: [{path: /, role: PVEAdmin, user: a@pve}]
`;

/** A valid file with one piece replaced by another. */
const damaged = (text: string) =>
  fc
    .tuple(
      fc.nat(text.length),
      fc.nat(12),
      fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('{', '- ', ': ', '[', '&a ', '*a', '!!', '"', '\n  ')),
    )
    .map(([at, cut, insert]) => `${text.slice(0, at)}${insert}${text.slice(at + cut)}`);

/** Either it loads, or a diagnostic says what is wrong. */
function worksOrComplains(act: () => unknown): void {
  try {
    act();
  } catch (error) {
    if (!isFamily(error, 'spec')) throw error;
  }
}

describe('any text as a world file', () => {
  it('a world file loads or is refused with a diagnostic', () => {
    fc.assert(
      fc.property(fc.oneof(damaged(WORLD), fc.string()), (text) =>
        worksOrComplains(() => loadWorld(text, 'world.yaml', { now: 0 })),
      ),
      { numRuns: 500 },
    );
  });

  it('a file of fault rules loads or is refused with a diagnostic', () => {
    const rules = '- kind: lock\n  match: {path: qemu/*/config}\n  at: 2\n- {kind: task-fail, percent: 40}\n';
    fc.assert(
      fc.property(damaged(rules), (text) => worksOrComplains(() => parseRuleFile(text, 'faults.yaml'))),
      { numRuns: 300 },
    );
  });

  it('rules on the command line are understood or refused with a diagnostic', () => {
    fc.assert(
      fc.property(fc.oneof(damaged('lock:qemu/*/config@2x3,task-fail=40:qmclone@10%~5s'), fc.string()), (text) =>
        worksOrComplains(() => parseShortForm(text)),
      ),
      { numRuns: 500 },
    );
  });
});
