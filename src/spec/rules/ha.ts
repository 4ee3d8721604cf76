/** The HA manager has the last word about power, so the file must not say two things. */
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
          ? advice`Say ${setting('ha', { state: 'stopped' })}, or ${setting('power', 'running')}.`
          : advice`Say ${setting('power', 'stopped')} as well.`,
    };
  },
};
