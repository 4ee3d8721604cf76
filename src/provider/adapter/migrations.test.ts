import { describe, expect, it } from 'vitest';
import { KnownVms } from '../kinds/vm/leftovers.ts';
import { vmKind } from '../kinds/vm/resource.ts';
import { migrated } from './offline.ts';

const MIGRATIONS = [
  ({ cores, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, cpu: { cores } }),
  ({ cpu, ...rest }: Readonly<Record<string, unknown>>) => ({ ...rest, cpu, restart: 'never' }),
];

describe('a stored state', () => {
  it('passes through every migration from its own version on', () => {
    expect(migrated(MIGRATIONS, 0, { name: 'a', cores: 2 })).toEqual({
      name: 'a',
      cpu: { cores: 2 },
      restart: 'never',
    });
    expect(migrated(MIGRATIONS, 1, { name: 'a', cpu: { cores: 2 } })).toMatchObject({ restart: 'never' });
    expect(migrated(MIGRATIONS, 2, { name: 'a', cpu: null })).toEqual({ name: 'a', cpu: null });
  });

  it('has a migration for each version of the schema', () => {
    const { migrations, schema } = vmKind(new KnownVms());
    expect(migrations).toHaveLength(schema.version);
  });
});
