/** Rules for how a VM is created (by a clone, from an image, or empty), when it is ready, and who controls its power. */
import { advice, setting } from '../../../base/hint.ts';
import type { DiskFields } from '../fields/disks.ts';
import type { StackRule, VmRule } from './rule.ts';

/** A linked clone shares the template's volumes, so it has nothing to place or convert. */
export const linkedCloneStaysPut: VmRule = {
  reads: ['clone'],
  *check(vm) {
    const { clone } = vm.fields;
    if (clone?.mode !== 'linked') return;
    for (const field of ['storage', 'format'] as const) {
      if (clone[field] === undefined) continue;
      yield {
        vm,
        path: `clone.${field}`,
        detail: `A linked clone takes no "${field}": it shares the template’s disks and stays on their storage.`,
        hint: advice`Remove "${field}" (or write ${setting(field, null)} to undo a default), or write ${setting('mode', 'full')}.`,
      };
    }
  },
};

/** Without a template, a slot is created only from what the file says. */
export const newDisksAreComplete: VmRule = {
  reads: ['disks.*.remove', 'disks.*.iso', 'disks.*.storage', 'disks.*.size', 'disks.*.import_from', 'clone.template'],
  *check(vm) {
    for (const [slot, disk] of Object.entries(vm.fields.disks ?? {})) {
      const path = `disks.${slot}`;
      if (disk.remove || disk.iso !== undefined) continue;
      if (disk.import_from !== undefined && disk.storage === undefined) {
        yield { vm, path, detail: `"${slot}" is imported, but "storage" is not set.` };
      } else if (!vm.fields.clone && (disk.storage === undefined || !isMade(disk))) {
        yield {
          vm,
          path,
          detail: `"${slot}" would be new, because the VM is not cloned, but the file does not say ${disk.storage === undefined ? 'on which storage' : 'how large'} it is.`,
          hint: 'A new disk needs storage and size, or storage and import_from. A CD drive needs iso.',
        };
      }
    }
  },
};

function isMade({ size, import_from }: DiskFields): boolean {
  return size !== undefined || import_from !== undefined;
}

/** Rejects waiting for something that cannot happen. */
export const readinessIsPossible: VmRule = {
  reads: ['ready', 'agent.enabled', 'guest', 'power'],
  *check(vm) {
    const { ready, agent, guest, power } = vm.fields;
    if (power === 'stopped') {
      if (ready) {
        yield {
          vm,
          path: 'ready',
          severity: 'warning',
          detail: 'The VM stays stopped because of "power", so "ready" has no effect.',
        };
      }
      return;
    }
    if (agent?.enabled !== false) return;
    const asked = (['agent', 'pings', 'os_info', 'exec', 'cloud_init'] as const).find(
      (key) => ready?.[key] !== undefined && ready[key] !== false,
    );
    const isImplied = guest === 'cloud-init' && ready?.agent !== false;
    if (!asked && !isImplied) return;
    yield {
      vm,
      path: asked ? `ready.${asked}` : 'agent.enabled',
      detail: `The guest agent is turned off ("agent.enabled" is false), but the VM is ready only when it answers${asked ? '' : ', because guest is cloud-init'}.`,
      hint: asked
        ? 'Turn the agent on, or remove this.'
        : advice`Turn the agent on, or write ${setting('ready', { agent: false })}.`,
    };
  },
};

/** The HA manager controls power, so `ha` and `power` must agree. */
export const haAgreesWithPower: VmRule = {
  reads: ['ha', 'power'],
  *check(vm) {
    const { ha, power } = vm.fields;
    if (!ha || ha.state === 'ignored' || (power === 'running') === (ha.state === 'started')) return;
    yield {
      vm,
      path: 'ha.state',
      detail:
        power === 'stopped'
          ? '"power" is stopped, but the HA manager would start the VM: "ha.state" is started.'
          : `"power" is running, but the HA manager would stop the VM: "ha.state" is ${ha.state}.`,
      hint:
        power === 'stopped'
          ? advice`Write ${setting('ha', { state: 'stopped' })}, or ${setting('power', 'running')}.`
          : advice`Also write ${setting('power', 'stopped')}.`,
    };
  },
};

/** Members of a group take turns, so what limits all of them cannot differ between them. */
export const groupsAgreeOnTurns: StackRule = {
  reads: ['update'],
  *check(vms) {
    const first = new Map<string, (typeof vms)[number]>();
    for (const vm of vms) {
      const other = first.get(vm.group);
      if (!other) first.set(vm.group, vm);
      for (const field of ['max_unavailable', 'pause', 'on_failure'] as const) {
        if (!other || vm.fields.update?.[field] === other.fields.update?.[field]) continue;
        yield {
          vm,
          path: `update.${field}`,
          detail: `"update.${field}" is for the whole group, but ${vm.address} and ${other.address} have different values.`,
          hint: 'Set it for the group, or under "defaults" or "rollout".',
        };
      }
    }
  },
};
