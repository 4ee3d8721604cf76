/** The HA manager controls power, so `ha` and `power` must agree. */
import { advice, setting } from '../../base/hint.ts';
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
          ? '"power" is stopped, but the HA manager would start the VM: "ha.state" is started.'
          : `"power" is running, but the HA manager would stop the VM: "ha.state" is ${ha.state}.`,
      hint:
        power === 'stopped'
          ? advice`Write ${setting('ha', { state: 'stopped' })}, or ${setting('power', 'running')}.`
          : advice`Also write ${setting('power', 'stopped')}.`,
    };
  },
};
