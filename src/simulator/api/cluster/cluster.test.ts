import { describe, expect, it } from 'vitest';
import { ConfigBench } from '../../testing/bench.ts';

const options = (bench: ConfigBench) => bench.ask('GET /cluster/options', {});
const setOptions = (bench: ConfigBench, params: Record<string, string>) => bench.ask('PUT /cluster/options', params);

describe('datacenter options', () => {
  it('are text, except booleans of property strings; a description ends in a line feed', async () => {
    const bench = new ConfigBench();
    await setOptions(bench, { 'next-id': 'lower=200', 'tag-style': 'case-sensitive=1', description: 'a\nb' });
    expect(await options(bench)).toMatchObject({
      'next-id': { lower: '200' },
      'tag-style': { 'case-sensitive': 1 },
      description: 'a\nb\n',
    });
  });

  it('sort their tag lists at the next write', async () => {
    const bench = new ConfigBench();
    const access = { 'user-tag-access': 'user-allow=list,user-allow-list=d;c' };
    await setOptions(bench, { 'registered-tags': 'b;a', ...access });
    expect(await options(bench)).toMatchObject({ 'registered-tags': ['b', 'a'] });
    await setOptions(bench, { keyboard: 'de' });
    expect(await options(bench)).toMatchObject({
      'registered-tags': ['a', 'b'],
      'user-tag-access': { 'user-allow-list': ['c', 'd'] },
    });
  });

  it('refuse a range of ids that ends before it begins, and stay as they are', async () => {
    const bench = new ConfigBench();
    await setOptions(bench, { 'next-id': 'upper=150' });
    await expect(setOptions(bench, { 'next-id': 'lower=200,upper=150' })).rejects.toThrow(
      'lower (200) <= upper (150) boundary rule broken',
    );
    expect(await options(bench)).toMatchObject({ 'next-id': { upper: '150' } });
  });
});

describe('a mapping', () => {
  it('is only updated by a request that repeats its entries', async () => {
    const bench = new ConfigBench();
    const ask = (route: string, params: Record<string, string>) => bench.ask(route, params);
    const map = 'node=pve1,path=0000:00:01.0,id=1af4:1045';
    await ask('POST /cluster/mapping/pci', { id: 'dev', map });
    await expect(ask('PUT /cluster/mapping/pci/{id}', { id: 'dev', description: 'x' })).rejects.toThrow(
      "update hardware mapping failed: missing value for required option 'map'",
    );
    await ask('PUT /cluster/mapping/pci/{id}', { id: 'dev', description: 'x', map });
    expect(await ask('GET /cluster/mapping/pci/{id}', { id: 'dev' })).toMatchObject({ description: 'x', map: [map] });
  });

  it('of a device in a host without IOMMU must not name a group, and USB devices never exist', async () => {
    const bench = new ConfigBench();
    const ask = (route: string, params: Record<string, string>) => bench.ask(route, params);
    const device = 'node=pve1,path=0000:00:01.0,id=1af4:1045,subsystem-id=1af4:1045';
    await ask('POST /cluster/mapping/pci', { id: 'plain', map: device });
    await ask('POST /cluster/mapping/pci', { id: 'grouped', map: `${device},iommugroup=1` });
    await ask('POST /cluster/mapping/usb', { id: 'stick', map: 'node=pve1,id=1234:5678' });
    expect(await ask('GET /cluster/mapping/pci', { 'check-node': 'pve1' })).toMatchObject([
      { id: 'plain', checks: [] },
      {
        id: 'grouped',
        checks: [
          {
            message: "Invalid configuration: unexpected property 'iommugroup' configured for device '0000:00:01.0'\n",
          },
        ],
      },
    ]);
    expect(await ask('GET /cluster/mapping/usb', { 'check-node': 'pve1' })).toMatchObject([
      { errors: [{ message: "Invalid configuration: usb device '1234:5678' not found\n" }] },
    ]);
  });
});
