import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../base/address.ts';
import { vmStep } from './steps.ts';

describe('vmStep', () => {
  it('names a step after its VM and what it does', () => {
    const step = vmStep(vmAddress('web'), 'vm.stop', { how: 'stop' }, { needs: ['vm.web/verify'] });
    expect(step).toEqual({
      id: 'vm.web/stop',
      stage: 'start',
      address: 'vm.web',
      action: 'vm.stop',
      input: { how: 'stop' },
      needs: ['vm.web/verify'],
    });
  });

  it('distinguishes steps of one action', () => {
    const resize = (slot: string) => vmStep(vmAddress('web'), 'vm.resize', { slot, sizeBytes: 1 }, { part: slot });
    expect([resize('scsi0').id, resize('scsi1').id]).toEqual(['vm.web/resize/scsi0', 'vm.web/resize/scsi1']);
  });
});
