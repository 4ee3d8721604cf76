/** Rejects waiting for something that cannot happen. */
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
