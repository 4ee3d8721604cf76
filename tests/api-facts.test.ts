/** The generated facts about the API of Proxmox VE against their input, and the rules by which types are made of them. */
import { describe, expect, it } from 'vitest';
import type { ParamSchemas } from '../src/simulator/schema/types.ts';
import { readFacts, renderFacts } from '../tools/api-facts/facts.ts';
import { renderParams } from '../tools/api-facts/params.ts';
import { generatedFacts } from '../tools/generate-api-facts.ts';

/** Its parameters differ between releases. */
const CONFIG = 'PUT /nodes/{node}/qemu/{vmid}/config';
/** Not of the API, so no release differs. */
const UNCHANGED = 'PUT /nodes/{node}/example/{vmid}';

/** The line of the endpoint in the generated types. */
function typeOf(params: ParamSchemas, name = UNCHANGED): string | undefined {
  const lines = renderParams({ [name]: { params, permissions: {} } }).split('\n');
  return lines.find((line) => line.includes(`'${name}'`))?.replace(/^.*?: /, '');
}

describe('the generated API facts', () => {
  it('are what npm run facts would write', async () => {
    const files = await generatedFacts();
    expect(files).toHaveLength(3);
    for (const { path, present, expected } of files) expect(present === expected, path).toBe(true);
  });

  it('differ when the input differs', () => {
    const json = (type: string) => JSON.stringify({ [CONFIG]: { params: { cores: { type } }, allowtoken: 1 } });
    const [one, other] = [readFacts(json('integer')), readFacts(json('string'))];
    expect(renderFacts(one)).not.toBe(renderFacts(other));
    expect(renderParams(one)).not.toBe(renderParams(other));
  });
});

describe('the type of an endpoint', () => {
  it('has a type for every kind of parameter, and leaves families to the texts', () => {
    expect(
      typeOf({
        cores: { type: 'integer' },
        cpulimit: { type: 'number', optional: true },
        force: { type: 'boolean', optional: true },
        bios: { type: 'string', enum: ['seabios', 'ovmf'], optional: true },
        map: { type: 'array', items: { type: 'string' } },
        'net[n]': { type: 'string', count: 32, optional: true },
      }),
    ).toBe(
      "{ readonly bios?: 'seabios' | 'ovmf'; readonly cores: number; readonly cpulimit?: number; " +
        'readonly force?: boolean; readonly map: readonly (string)[] };',
    );
  });

  it('admits what older releases send: another type, or nothing', () => {
    const type = typeOf({ memory: { type: 'string', optional: true }, 'allow-ksm': { type: 'boolean' } }, CONFIG);
    expect(type).toBe("{ readonly 'allow-ksm'?: boolean; readonly memory?: number | string };");
  });

  it('has the parameters of the path in every case', () => {
    expect(typeOf({ vmid: { type: 'integer', optional: true } })).toBe('{ readonly vmid: number };');
  });
});
