import { describe, expect, it } from 'vitest';
import { stackOutputs } from './outputs.ts';
import { outputFiles } from './render.ts';
import { STACK, STATE, stackOf, stateOf, vm } from './testing/lab.ts';

const OUTPUTS = stackOutputs(STACK, STATE);

describe('the output files', () => {
  it('are the outputs as a whole, and two for each VM that has an id', () => {
    const files = outputFiles(OUTPUTS);
    expect(files.map(({ name }) => name)).toEqual([
      ...['outputs.json', 'outputs.env', 'inventory.yaml', 'dnsmasq.conf', 'talos.sh'],
      ...[101, 102, 111, 112].flatMap((id) => [`vm_${id}_ip.txt`, `vm_${id}_summary.txt`]),
    ]);
    expect(files.filter(({ isScript }) => isScript).map(({ name }) => name)).toEqual(['talos.sh']);
    const textOf = (name: string) => files.find((file) => file.name === name)?.text;
    expect(textOf('vm_111_ip.txt')).toBe('192.168.7.7\n');
    expect(textOf('vm_112_ip.txt')).toBe('');
    expect(textOf('vm_111_summary.txt')).toMatchInlineSnapshot(`
      "name: lab-worker-1
      id: 111
      node: pve1
      role: worker
      status: complete
      address: 192.168.7.7
      net2: 192.168.7.7 (BC:24:11:00:01:01)
      net10: 10.9.0.7 (BC:24:11:00:01:02)
      "
    `);
    expect(textOf('vm_112_summary.txt')).toMatchInlineSnapshot(`
      "name: lab-worker-2
      id: 112
      node: pve1
      role: worker
      status: incomplete
      address: unknown
      net0: unknown (BC:24:11:00:00:12)
      "
    `);
  });

  it('have no script where there is nothing to hand over to Talos', () => {
    const outputs = stackOutputs(stackOf([vm('web', 1, { guest: 'plain', role: 'control-plane' })]), stateOf({}));
    expect(outputFiles(outputs).map(({ name }) => name)).not.toContain('talos.sh');
  });
});
