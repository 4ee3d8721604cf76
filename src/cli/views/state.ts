/** What the `state` commands show: the recorded VMs and images, backups, and how they compare with the cluster. */

import type { Diagnostic } from '../../base/diagnostics.ts';
import { counted } from '../../base/values/units.ts';
import type { Differing } from '../../engine/evidence/record.ts';
import type { Plan } from '../../kinds/change.ts';
import type { Recovery, Standing } from '../../kinds/existing.ts';
import type { FileRecord } from '../../kinds/image/record.ts';
import type { StackState } from '../../kinds/recorded.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import type { LockHolder } from '../../state/store.ts';
import { type Terminal, toType } from '../terminal.ts';
import { printValue, renderPlan } from './plan/plan.ts';
import type { Paint } from './text/paint.ts';
import { renderTable } from './text/table.ts';
import { chooseView, type ViewDeps } from './view.ts';

export interface BackupEntry {
  readonly name: string;
  readonly serial: number | undefined;
  readonly vms: number | undefined;
  readonly readable: boolean;
}

/** A restored state compared with the cluster, by a plan that is only shown. */
export interface RestoredDrift {
  /** Absent if no plan can be made. */
  readonly plan?: Plan;
  readonly problems: readonly Diagnostic[];
  readonly differing: readonly Differing[];
  /** VMs that differ or that an unfinished run was creating. */
  readonly open: number;
}

export interface StateView {
  list(state: StackState): void;
  vm(address: string, vm: VmRecord): void;
  image(address: string, file: FileRecord): void;
  moved(from: string, to: string, vm: Pick<VmRecord, 'vmid' | 'name'>): void;
  /** `released` says whether an ownership line was removed; undefined if that was not requested. */
  forgotten(address: string, vmid: number, released: boolean | undefined): void;
  /** Without a holder there was no lock. */
  unlocked(holder: LockHolder | undefined): void;
  backedUp(backup: { readonly backup: string } | { readonly file: string }, state: StackState): void;
  migrated(migration: Migration): void;
  backups(entries: readonly BackupEntry[]): void;
  standings(standings: readonly Standing[]): void;
  restored(name: string, serial: number): void;
  restoredDrift(drift: RestoredDrift): void;
  /** Before the user is asked. */
  recovery(recovery: Recovery): void;
}

export interface Migration {
  readonly from: string;
  readonly to: string;
  readonly documents: number;
  readonly serial: number;
}

export function stateView(deps: ViewDeps): StateView {
  const tell = messages(deps.terminal);
  return chooseView<StateView>(deps, {
    human: ({ terminal, print, paint }) => ({
      list: (state) => {
        if (Object.keys(state.vms).length + Object.keys(state.files).length > 0) return print(renderList(state, paint));
        terminal.log(
          'info',
          `The state is empty. To create the stack: ${toType(terminal, 'apply')}. To rebuild a lost state: ${toType(terminal, 'state recover')}`,
        );
      },
      vm: (address, vm) => print(renderVm(address, vm, paint)),
      image: (address, file) => print([paint('bold', address), ...pairs(file)]),
      moved: (_from, to, vm) => tell.moved(to, vm),
      forgotten: tell.forgotten,
      unlocked: tell.unlocked,
      backedUp: tell.backedUp,
      migrated: tell.migrated,
      backups: (entries) => {
        if (entries.length === 0) return terminal.log('info', 'There is no backup yet.');
        print(renderBackups(entries, paint));
        terminal.log('info', `To restore one: ${toType(terminal, 'state restore', 'NAME')}`);
      },
      standings: (standings) => print(renderStandings(standings, paint)),
      restored: (_name, serial) => tell.restored(serial),
      restoredDrift: (drift) => {
        if (drift.plan && drift.open > 0) print(renderPlan(drift.plan, paint));
        tell.restoredDrift(drift);
      },
      recovery: (recovery) => {
        tell.recovery(recovery);
        const { state, found, learned } = recovery;
        print(found.length + learned.length === 0 ? [] : renderRecoverable(state, [...found, ...learned], paint));
      },
    }),
    json: ({ print }) => ({
      list: (state) => print(state),
      vm: (_address, vm) => print(vm),
      image: (_address, file) => print(file),
      moved: (from, to, vm) => {
        print({ from, to, vmid: vm.vmid });
        tell.moved(to, vm);
      },
      forgotten: (address, vmid, released) => {
        print({ forgotten: address, vmid, released: released === true });
        tell.forgotten(address, vmid, released);
      },
      unlocked: (holder) => {
        print(holder ? { unlocked: true, owner: holder.owner } : { unlocked: false });
        tell.unlocked(holder);
      },
      backedUp: (backup, state) => {
        print({ ...backup, serial: state.serial });
        tell.backedUp(backup, state);
      },
      migrated: (migration) => {
        print({ migrated: true, ...migration });
        tell.migrated(migration);
      },
      backups: (entries) => print(entries),
      standings: (standings) => print({ standings }),
      restored: (name, serial) => {
        print({ restored: name, serial });
        tell.restored(serial);
      },
      restoredDrift: (drift) => {
        print({ drift: { differing: drift.differing, problems: drift.problems } });
        tell.restoredDrift(drift);
      },
      recovery: (recovery) => {
        tell.recovery(recovery);
        const { found, learned, notFound, remarks, state } = recovery;
        print({ found, learned, notFound, remarks, state });
      },
    }),
  });
}

/** Messages for people and programs: text on a terminal, JSON lines with --json. */
function messages(terminal: Terminal) {
  return {
    moved: (to: string, { vmid, name }: Pick<VmRecord, 'vmid' | 'name'>) =>
      terminal.success(`VM ${vmid} (${name}) is now ${to}. The next apply updates its ownership line.`),
    forgotten: (address: string, vmid: number, released: boolean | undefined) =>
      terminal.success(`${address} is no longer in the state. ${ownership(address, vmid, released, terminal)}`),
    unlocked: (holder: LockHolder | undefined) => {
      if (!holder) return terminal.success('There is no lock.');
      const { life, hasExpired } = holder;
      const removed = hasExpired
        ? 'Removed an expired lock: its run did not renew it in time'
        : life === 'dead'
          ? 'Removed a stale lock: its run is dead'
          : 'Removed the lock';
      terminal.success(`${removed}. To resume that run: ${toType(terminal, 'apply')}`);
    },
    backedUp: (backup: { readonly backup: string } | { readonly file: string }, state: StackState) => {
      const facts = `(serial ${state.serial}, ${countVms(state)})`;
      terminal.success(
        'file' in backup
          ? `Backed up to ${backup.file} ${facts}. To restore it: ${toType(terminal, 'state restore', backup.file)}`
          : `Backed up as "${backup.backup}" ${facts}.`,
      );
    },
    migrated: ({ from, to, documents, serial }: Migration) =>
      terminal.success(
        `Moved the state (serial ${serial}, ${counted(documents, 'document')}, each read back) to ${to}. ${from} now only says so. Name the new store under "state" in the stack file, or in PROXWRIGHT_STATE.`,
      ),
    restored: (serial: number) =>
      terminal.success(`Restored as serial ${serial}. The previous state is kept as a backup.`),
    restoredDrift: ({ plan, problems, open }: RestoredDrift) => {
      for (const problem of problems) terminal.diagnostic(problem);
      if (!plan) return terminal.log('warn', 'No plan can be made from this state yet; see above.');
      if (open === 0) return terminal.success('No drift: the cluster, the file and the restored state agree.');
      const differ = counted(open, 'VM differs', 'VMs differ');
      terminal.log(
        'warn',
        `${differ} from the restored state; nothing was changed. To correct this: ${toType(terminal, 'apply')}`,
      );
    },
    recovery: ({ notFound, remarks }: Recovery) => {
      for (const remark of remarks) terminal.log('warn', remark);
      for (const address of notFound) {
        terminal.log('warn', `No VM's notes name ${address}; its record in the state is kept.`);
      }
    },
  };
}

/** The ownership line in the notes outlives the state, and a plan that would create the VM again stops at it. */
function ownership(address: string, vmid: number, released: boolean | undefined, terminal: Terminal): string {
  if (released === true) return `VM ${vmid} no longer has an ownership line.`;
  if (released === false) return `No VM ${vmid} of this stack exists, so there was no ownership line to remove.`;
  return (
    `If VM ${vmid} is still the one that was recorded, it keeps the ownership line in its notes: to adopt it again, run ` +
    `${toType(terminal, 'import', address, String(vmid))}; to release it, delete the line that begins with "proxwright:". ` +
    `If another VM has the ID ${vmid} now, there is nothing left to do.`
  );
}

export function countVms({ vms }: StackState): string {
  return counted(Object.keys(vms).length, 'VM');
}

function renderList(state: StackState, paint: Paint): string[] {
  const machines = Object.entries(state.vms).map(([address, vm]) => [
    address,
    vm.name,
    String(vm.vmid || ''),
    vm.node,
    vm.phase,
    vm.uuid ?? '',
  ]);
  const files = Object.values(state.files).map(({ address, volid, node, incomplete }) => [
    address,
    volid,
    '',
    node,
    incomplete ? 'incomplete' : 'complete',
    '',
  ]);
  return renderTable(['address', 'name', 'id', 'node', 'phase', 'uuid'], [...files, ...machines], paint);
}

/** Secrets are recorded as digests, so every value can be shown. */
function renderVm(address: string, vm: VmRecord, paint: Paint): string[] {
  const { lastApplied, macs, addresses, secrets, ...facts } = vm;
  const sections: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
    ['MAC addresses', macs],
    ['addresses', addresses],
    ['last applied', lastApplied],
    ['secrets (digests)', secrets],
  ];
  return [
    paint('bold', address),
    ...pairs(facts),
    ...sections.flatMap(([title, values]) =>
      Object.keys(values).length === 0 ? [] : [paint('bold', title), ...pairs(values)],
    ),
  ];
}

function pairs(values: Readonly<Record<string, unknown>>): string[] {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `  ${name.padEnd(width)}  ${printValue(value)}`);
}

function renderBackups(entries: readonly BackupEntry[], paint: Paint): string[] {
  const rows = entries.map(({ name, serial, vms, readable }) => [
    name,
    String(serial ?? ''),
    String(vms ?? ''),
    readable ? '' : 'damaged',
  ]);
  return renderTable(['backup', 'serial', 'VMs', 'note'], rows, paint);
}

const STANDINGS: Readonly<Record<Standing['standing'], string>> = {
  same: 'as recorded',
  gone: 'gone from the cluster: the next plan creates it again',
  another: 'another VM has this id now: it is not changed',
  hidden: 'not checked: the token needs VM.Audit',
  unfinished: 'was being created',
};

function renderStandings(standings: readonly Standing[], paint: Paint): string[] {
  const rows = standings.map(({ address, vmid, name, node, standing }) => [
    address,
    String(vmid),
    name,
    node ?? '',
    paint(standing === 'same' ? 'green' : 'yellow', STANDINGS[standing]),
  ]);
  return rows.length === 0 ? [] : renderTable(['address', 'id', 'name', 'node', 'in the cluster'], rows, paint);
}

function renderRecoverable(state: StackState, addresses: readonly string[], paint: Paint): string[] {
  const rows = addresses.map((address) => {
    const vm = state.vms[address];
    const known = Object.entries(vm?.addresses ?? {}).map(([slot, [first = '']]) => `${slot} ${first}`);
    return [address, String(vm?.vmid ?? ''), vm?.name ?? '', vm?.node ?? '', vm?.phase ?? '', known.join(', ')];
  });
  return renderTable(['address', 'id', 'name', 'node', 'phase', 'IP address'], rows, paint);
}
