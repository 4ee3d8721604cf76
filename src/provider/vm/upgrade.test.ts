import { describe, expect, it } from 'vitest';
import { VM_SCHEMA } from './schema.ts';
import { migrated, VM_MIGRATIONS } from './upgrade.ts';

const MIGRATIONS = [
  ({ cores, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, cpu: { cores } }),
  ({ cpu, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, cpu, restart: 'never' }),
];

describe('a stored state', () => {
  it('goes through every step from its own version on', () => {
    expect(migrated(MIGRATIONS, 0, { name: 'a', cores: 2 })).toEqual({
      name: 'a',
      cpu: { cores: 2 },
      restart: 'never',
    });
    expect(migrated(MIGRATIONS, 1, { name: 'a', cpu: { cores: 2 } })).toMatchObject({ restart: 'never' });
    expect(migrated(MIGRATIONS, 2, { name: 'a', cpu: null })).toEqual({ name: 'a', cpu: null });
  });

  it('has a step for each version of the schema', () => {
    expect(VM_MIGRATIONS).toHaveLength(VM_SCHEMA.version);
  });
});
