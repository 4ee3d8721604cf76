/** The HA manager has the last word about power, so the file must not say two things. */
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
          ? 'The VM is to stay stopped (power: stopped), but the HA manager would start it (ha.state: started).'
          : `The VM is to run (power: running), but the HA manager would stop it (ha.state: ${ha.state}).`,
      hint: power === 'stopped' ? 'Say ha: { state: stopped }, or power: running.' : 'Say power: stopped as well.',
    };
  },
};
