import { describe, expect, it } from 'vitest';
import { behaves, ENDPOINTS, lostBetween, PRIVILEGES, privilegesOf, supportOf } from './compatibility.ts';

describe('the table of releases', () => {
  it('lists what an upgrade removes', () => {
    expect(lostBetween(PRIVILEGES, { version: '8.4.1' }, { version: '9.0.3' })).toEqual(['VM.Monitor']);
    expect(lostBetween(PRIVILEGES, { version: '9.0.3' }, { version: '9.2.11' })).toEqual([]);
    expect(lostBetween(ENDPOINTS, { version: '8.4.1' }, { version: '9.0.3' })).toEqual(['/cluster/ha/groups']);
  });

  it('distinguishes releases by their third number', () => {
    expect(behaves({ version: '9.2.4' }, 'tags of new VMs checked')).toBe(false);
    expect(behaves({ version: '9.2.5' }, 'tags of new VMs checked')).toBe(true);
    expect(behaves({ version: '9.2.11' }, 'tags of new VMs checked')).toBe(true);
    expect(behaves({ version: '9.0.0~11' }, 'geometry of drives')).toBe(false);
  });

  it('treats an unknown newer release as the newest one, and reports it as unknown', () => {
    expect(supportOf({ version: '7.4.3' })).toBe('too old');
    expect(supportOf({ version: '8.0.4' })).toBe('supported');
    expect(supportOf({ version: '9.2.11' })).toBe('supported');
    expect(supportOf({ version: '10.0.1' })).toBe('unknown');
    expect(privilegesOf({ version: '10.0.1' })).toEqual(privilegesOf({ version: '9.2.11' }));
  });
});
