/** The HA manager controls power, so `ha` and `power` must agree. */
import type { VmRule } from './rule.ts';

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
          ? 'The VM should stay stopped (power: stopped), but the HA manager would start it (ha.state: started).'
          : `The VM should run (power: running), but the HA manager would stop it (ha.state: ${ha.state}).`,
      hint: power === 'stopped' ? 'Write ha: { state: stopped }, or power: running.' : 'Also write power: stopped.',
    };
  },
};
