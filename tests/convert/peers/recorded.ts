/**
 * What another provider made of an estate: its state, and the VMs and volumes of the cluster. It is written by a run with the
 * real provider, so that conversions can be checked where that provider is not.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import type { World } from '../../../src/simulator/index.ts';

const recordedEstate = z.object({
  /** As in a state file, without empty values. */
  resources: z.array(z.looseObject({ type: z.string(), name: z.string() })),
  vms: z.record(z.string(), z.object({ node: z.string(), config: z.record(z.string(), z.string()) })),
  volumes: z.array(z.object({ storage: z.string(), node: z.string(), name: z.string(), bytes: z.number() })),
});

export type RecordedEstate = z.output<typeof recordedEstate>;

export async function readRecorded(path: string): Promise<RecordedEstate> {
  return recordedEstate.parse(JSON.parse(await readFile(path, 'utf8')));
}

export async function writeRecorded(
  path: string,
  state: string,
  world: World,
  known: ReadonlySet<string>,
): Promise<void> {
  const { resources } = z.object({ resources: z.array(z.looseObject({})) }).parse(JSON.parse(state));
  const vms = [...world.vms.values()]
    .filter(({ vmid }) => !known.has(`vm ${vmid}`))
    .map(({ vmid, node, config }) => [vmid, { node, config: Object.fromEntries(config.current) }] as const);
  const volumes = [...world.storages.values()].flatMap(({ id: storage, volumes: places }) =>
    [...places].flatMap(([node, each]) =>
      [...each.values()]
        .filter(({ name }) => !known.has(`volume ${storage} ${node} ${name}`))
        .map(({ name, sizeBytes: bytes }) => ({ storage, node, name, bytes })),
    ),
  );
  const made = { resources: resources.map(withoutEmpty), vms: Object.fromEntries(vms), volumes };
  await writeFile(path, `${JSON.stringify(made, null, 1)}\n`);
}

/** Most attributes of a state are empty. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => {
      const isEmpty = each === null || each === '' || (Array.isArray(each) && each.length === 0);
      const isHost = [
        'private',
        'dependencies',
        'sensitive_attributes',
        'identity',
        'identity_schema_version',
      ].includes(name);
      return isEmpty || isHost ? [] : [[name, withoutEmpty(each)]];
    }),
  );
}
