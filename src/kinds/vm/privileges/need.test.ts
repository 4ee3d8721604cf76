import { describe, expect, it } from 'vitest';
import { privilegeRules } from '../../privileges/need.ts';

describe('privilegeRules', () => {
  it('depends on the release', () => {
    expect(privilegeRules({ version: '8.3.0' })).toEqual({
      agent: 'VM.Monitor',
      tagsOfNewVms: false,
      cpuModels: 'nodes',
      randomNumbers: false,
    });
    expect(privilegeRules({ version: '9.2.11' })).toEqual({
      agent: 'VM.GuestAgent',
      tagsOfNewVms: true,
      cpuModels: 'mapping',
      randomNumbers: true,
    });
  });
});
