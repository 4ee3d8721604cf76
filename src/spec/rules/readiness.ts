/** Waiting for something that cannot come is refused. */
import { advice, setting } from '../../base/hint.ts';
import type { VmRule } from './rule.ts';

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
          detail: '"power" is stopped, so nothing of "ready" is waited for.',
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
      detail: `The guest agent is switched off ("agent.enabled" is false), but the VM is ready only when it answers${asked ? '' : ', because guest is cloud-init'}.`,
      hint: asked
        ? 'Switch the agent on, or take this out.'
        : advice`Switch the agent on, or say ${setting('ready', { agent: false })}.`,
    };
  },
};
