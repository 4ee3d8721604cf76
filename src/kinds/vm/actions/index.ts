/** The actions of a VM, by name: what each does, how it is settled after an interrupted run, and what it occupies. */

import type { Address } from '../../../base/address.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, setting } from '../../../base/hint.ts';
import { shellWord } from '../../../base/text/shell.ts';
import type { ActionDefinition, Occupancy } from '../../action.ts';
import { describeMove } from '../plan/disk-moves.ts';
import type { CloneInput, HookInput, VmActionName, VmInputs } from '../steps.ts';
import { configure, resizeDisk, verifyVm } from './configure.ts';
import type { VmContext } from './context.ts';
import { besideHolder, giveDisk, holdDisks, takeDisk, unhold } from './disks/kept-disks.ts';
import { moveDisk } from './disks/move-disk.ts';
import { removeSeeds, sendSeed } from './disks/seed.ts';
import { manageHa } from './ha.ts';
import { runHook } from './hook.ts';
import { destroyVm } from './life/destroy.ts';
import { cloneVm, createVm } from './life/make.ts';
import { forgetVm, reserveId, takeFrom } from './life/records.ts';
import { besideReplaced, removeReplaced, setAside } from './life/replaced.ts';
import { migrateVm } from './migrate.ts';
import { awaitReady, restartVm, startVm, stopVm } from './power.ts';
import { settleChange, settleHandOver, settleMaking } from './settle.ts';
import { deleteSnapshot, rollBack, takeSnapshot } from './snapshot.ts';

export const VM_ACTIONS: { readonly [Name in VmActionName]: ActionDefinition<VmInputs[Name], VmContext> } = {
  'vm.take-from': { label: 'prepare', run: takeFrom },
  'vm.forget': { label: 'prepare', run: forgetVm },
  'vm.set-aside': { label: 'prepare', run: setAside },
  'vm.remove-replaced': {
    label: 'destroy',
    run: removeReplaced,
    settle: (context, open) => settleChange(besideReplaced(context), open),
    occupies: () => ({ kind: 'destroy' }),
    describe: ({ vmid }) => `then the old VM ${vmid} is destroyed`,
  },
  'vm.reserve': { label: 'prepare', run: reserveId, claims: ({ vmid, planned }) => vmid ?? planned },
  'vm.clone': { label: 'clone', run: cloneVm, settle: settleMaking, occupies: occupiedByClone },
  'vm.create': { label: 'create', run: createVm, settle: settleMaking },
  'vm.configure': { label: 'configure', run: configure, settle: settleChange },
  'vm.move-disk': {
    label: 'move',
    run: moveDisk,
    settle: settleChange,
    occupies: ({ node, from, storage }) => ({
      kind: 'copy',
      nodes: [node],
      storages: [...new Set([from, storage])],
      isCreation: false,
    }),
    describe: describeMove,
  },
  'vm.hold': {
    label: 'prepare',
    run: holdDisks,
    settle: (context, open) => settleMaking(besideHolder(context), open),
  },
  'vm.give-disk': { label: 'move', run: giveDisk, settle: settleHandOver },
  'vm.take-disk': { label: 'move', run: takeDisk, settle: settleHandOver },
  'vm.unhold': {
    label: 'configure',
    run: unhold,
    settle: (context, open) => settleChange(besideHolder(context), open),
  },
  'vm.resize': { label: 'configure', run: resizeDisk, settle: settleChange },
  'vm.verify': { label: 'configure', run: verifyVm, settle: settleChange },
  'vm.start': { label: 'start', run: startVm, settle: settleChange, describe: () => 'the VM is started' },
  'vm.stop': { label: 'stop', run: stopVm, settle: settleChange, describe: () => 'the VM is shut down' },
  'vm.restart': { label: 'restart', run: restartVm, settle: settleChange },
  'vm.destroy': { label: 'destroy', run: destroyVm, settle: settleChange, occupies: () => ({ kind: 'destroy' }) },
  'vm.migrate': {
    label: 'migrate',
    run: migrateVm,
    settle: settleChange,
    occupies: ({ from, target }) => ({
      kind: 'copy',
      nodes: from === undefined ? [target] : [from, target],
      storages: [],
      isCreation: false,
    }),
    describe: ({ target }) => `the VM moves to ${target}`,
  },
  'vm.snapshot': {
    label: 'snapshot',
    run: takeSnapshot,
    settle: settleChange,
    describe: ({ name, memory }) =>
      `${name === undefined ? 'a snapshot is taken first' : `snapshot ${name} is taken`}${memory ? ', with the memory' : ''}`,
  },
  'vm.delete-snapshot': {
    label: 'snapshot',
    run: deleteSnapshot,
    settle: settleChange,
    describe: ({ name, onlyAutomatic }) =>
      onlyAutomatic ? `the older snapshot ${name} is deleted` : `snapshot ${name} is deleted`,
  },
  'vm.rollback': {
    label: 'rollback',
    run: rollBack,
    settle: settleChange,
    verbs: { update: 'roll back' },
    describe: ({ name }) => `the VM is rolled back to snapshot ${name}`,
  },
  'vm.ha': { label: 'ha', run: manageHa, settle: settleChange },
  'vm.seed': { label: 'configure', run: sendSeed, settle: settleChange },
  'vm.unseed': { label: 'configure', run: removeSeeds, settle: settleChange },
  'vm.ready': {
    label: 'ready',
    run: awaitReady,
    occupies: () => ({ kind: 'wait' }),
    waitsUpTo: ({ checks }) => checks.timeoutMs,
  },
  'vm.hook': {
    label: 'hook',
    run: runHook,
    undecided: undecidedHook,
    programs: ({ run }) => run.slice(0, 1),
    waitsUpTo: ({ timeoutMs }) => timeoutMs,
  },
};

/** Whether it ended is unknown, and running it twice may do harm. */
function undecidedHook({ moment, endUnknown }: HookInput, address: Address): ProxwrightError | undefined {
  if (!endUnknown) return undefined;
  return new ProxwrightError({
    code: 'HOOK_UNKNOWN',
    where: { address, field: `hooks.${moment}` },
    detail: `An earlier run started the hook ${moment} of ${address} and ended before the hook did. Whether it is done, or still running, is not known. Nothing was changed.`,
    hint: advice`Look at what it did. Then repeat the command with --hook-again ${shellWord(address)} to run the hook again, or with --hook-done ${shellWord(address)} if it is done. If it may always run twice, write ${setting(`hooks.${moment}.repeatable`, true)}.`,
  });
}

function occupiedByClone({ source, storage, storages = [] }: CloneInput): Occupancy {
  return {
    kind: 'copy',
    nodes: [source.node],
    storages: storage === undefined ? storages : [storage],
    isCreation: true,
  };
}
