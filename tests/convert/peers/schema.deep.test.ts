/** The mapping and the schemas of the real providers name the same attributes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SOURCES } from '../../../src/convert/mapping/sources.ts';
import { Workspace } from '../../../src/provider/testing/terraform.ts';
import { SOURCE } from '../../provider/terraform/support/hcl.ts';
import { ONE_HOST } from '../../provider/terraform/support/hosts.ts';
import { general, mappedPaths } from './mapped-paths.ts';
import { OLDER } from './older-spellings.ts';
import { findPeers, overridesFor } from './peers.ts';

interface Attribute {
  readonly type?: unknown;
  readonly required?: boolean | undefined;
  readonly optional?: boolean | undefined;
  readonly nested_type?: { readonly attributes: Readonly<Record<string, Attribute>> } | undefined;
}

interface Block {
  readonly attributes?: Readonly<Record<string, Attribute>> | undefined;
  readonly block_types?: Readonly<Record<string, { readonly block: Block }>> | undefined;
}

const attribute: z.ZodType<Attribute> = z.looseObject({
  type: z.unknown().optional(),
  required: z.boolean().optional(),
  optional: z.boolean().optional(),
  nested_type: z.looseObject({ attributes: z.lazy(() => z.record(z.string(), attribute)) }).optional(),
});

const block: z.ZodType<Block> = z.looseObject({
  attributes: z.record(z.string(), attribute).optional(),
  block_types: z.lazy(() => z.record(z.string(), z.looseObject({ block })).optional()),
});

const schemas = z.object({
  provider_schemas: z.record(
    z.string(),
    z.looseObject({ resource_schemas: z.record(z.string(), z.looseObject({ block })).optional() }),
  ),
});

/** Blocks that the schema has as an attribute: `["list", ["object", { … }]]`. */
const objects = z.tuple([z.enum(['list', 'set']), z.tuple([z.literal('object'), z.record(z.string(), z.unknown())])]);

/** What a configuration may set. */
function settable({ attributes = {}, block_types = {} }: Block, above = ''): readonly string[] {
  return [
    ...Object.entries(attributes).flatMap(([name, each]) => {
      if (each.nested_type) return settable(each.nested_type, `${above}${name}.`);
      const fields = objects.safeParse(each.type).data?.[1][1] ?? {};
      const path = `${above}${name}`;
      return each.optional || each.required ? [path, ...Object.keys(fields).map((field) => `${path}.${field}`)] : [];
    }),
    ...Object.entries(block_types).flatMap(([name, each]) => settable(each.block, `${above}${name}.`)),
  ];
}

/** Every attribute has an id; only for the newer ones of bpg does a configuration set it. */
const NOT_OURS = new Set(['id']);

const isAtOrBelow = (path: string, above: string): boolean => path === above || path.startsWith(`${above}.`);

const peers = await findPeers();

describe.each(ONE_HOST)('the schemas of other providers under $name $version', (host) => {
  it.for(['bpg', 'telmate'])('have what the mapping of %s names, and nothing else', async (name, { skip }) => {
    const peer = peers.find((each) => each.name === name);
    if (!peer) return skip('its provider is not here');
    const directory = await mkdtemp(join(tmpdir(), 'proxwright-schemas-'));
    const environment = { TF_CLI_CONFIG_FILE: await overridesFor([peer], directory) };
    const installation = { kind: 'reattach', environment: {} } as const;
    const workspace = await Workspace.create({ host, address: SOURCE, installation, environment });
    try {
      const text = `terraform {\n  required_providers {\n    proxmox = { source = "${peer.address}" }\n  }\n}\n`;
      await writeFile(join(workspace.directory, 'main.tf'), text);
      const { stdout } = await workspace.run(['providers', 'schema', '-json'], environment);
      const resources = schemas.parse(JSON.parse(stdout)).provider_schemas[peer.address]?.resource_schemas ?? {};
      for (const { types, rows } of SOURCES.filter(({ provider }) => provider === peer.name)) {
        const mapped = [...mappedPaths(rows)];
        const known = types.map((type) => new Set(settable(resources[type]?.block ?? {}).map(general)));
        const all = [...new Set(known.flatMap((each) => [...each]))];
        expect({
          type: types[0],
          unknown: all.filter(
            (path) => !NOT_OURS.has(path) && !mapped.some((each) => isAtOrBelow(path, each) || isAtOrBelow(each, path)),
          ),
          invented: mapped.filter((path) => !all.some((each) => isAtOrBelow(each, path))),
        }).toEqual({ type: types[0], unknown: [], invented: [...(OLDER[types[0] ?? ''] ?? [])] });
      }
    } finally {
      await workspace.remove();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
