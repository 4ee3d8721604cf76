import { describe, expect, it } from 'vitest';
import { withHookValues } from '../../kinds/vm/fields/lifecycle.ts';
import { onlyVm, problemsOf, stackOf, webStack } from '../testing/resolving.ts';

const HEAD = `version: 1
stack: s
defaults: { node: pve1, clone: { template: debian } }
vms:
`;
const group = (lines: string) =>
  `${HEAD}  web:\n${lines
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')}\n`;
const GIB = 1024 ** 3;

describe('count and each', () => {
  it('give addresses by number, by element, or by the group alone', () => {
    const { vms } = stackOf(`${HEAD}  a: { name: a }
  b: { count: 2, name: "b\${number}" }
  c: { each: [x, 7], name: "c-\${each}-\${number}" }
  d: { count: 0, name: d }
`);
    expect(vms.map(({ address, number, fields }) => [address, number, fields.name])).toEqual([
      ['vm.a', 1, 'a'],
      ['vm.b[1]', 1, 'b1'],
      ['vm.b[2]', 2, 'b2'],
      ['vm.c["x"]', 1, 'c-x-1'],
      ['vm.c["7"]', 2, 'c-7-2'],
    ]);
  });

  it.each([
    [`count: -1\nname: "a\${number}"`, '6:12 error BAD_VALUE: "count" must be at least 0'],
    [`count: 1.5\nname: "a\${number}"`, '6:12 error BAD_VALUE: "count" must be a whole number'],
    [`count: 51\nname: "a\${number}"`, '6:12 error BAD_VALUE: The group would have 51 VMs; at most 50 are allowed.'],
    ['count: 1\neach: [a]\nname: a', '"count" and "each" cannot be used together'],
    [`each: [a, a]\nname: "\${each}"`, '6:15 error BAD_VALUE: The element "a" occurs twice'],
    ['each: [[a]]\nname: a', '6:12 error BAD_VALUE: "each.0" must be text or a number; it is a list.'],
    ['each: a\nname: a', '6:11 error BAD_VALUE: "each" must be a list; it is "a".'],
  ])('refuse %j', (lines, problem) => {
    expect(problemsOf(group(lines))).toEqual([expect.stringContaining(problem)]);
  });

  it('allow larger groups if the limit is raised', () => {
    const text = `${group(`count: 60\nname: "a\${number}"`)}rollout: { limits: { group_size: 60 } }\n`;
    expect(stackOf(text).vms).toHaveLength(60);
  });

  it('keep sensitive elements out of addresses', () => {
    const text = `variables: { v: { type: list, sensitive: true, default: [hush] } }\n${group(`each: \${var.v}\nname: "a\${number}"`)}`;
    const problems = problemsOf(text);
    expect(problems).toEqual([expect.stringContaining('"each" cannot use a sensitive variable')]);
  });
});

describe('layers', () => {
  it('are merged key by key: defaults, group, override by number, override by name', () => {
    const text = `version: 1
stack: s
defaults:
  node: pve1
  clone: { template: debian, storage: tank }
  cpu: { cores: 1, sockets: 1, type: host }
  nics: { net0: { bridge: vmbr0, vlan: 20 }, net1: { bridge: vmbr1 } }
vms:
  web:
    count: 2
    name: web-\${number}
    cpu: { cores: 2 }
    nics: { net0: { vlan: 30 } }
    overrides:
      2: { cpu: { cores: 4 }, memory: 1GiB }
      web-2: { cpu: { sockets: 2 }, description: "member \${number}" }
`;
    const [first, second] = stackOf(text).vms.map(({ fields }) => fields);
    expect(first).toMatchObject({
      cpu: { cores: 2, sockets: 1, type: 'host' },
      nics: { net0: { bridge: 'vmbr0', vlan: 30 }, net1: { bridge: 'vmbr1' } },
      clone: { template: 'debian', storage: 'tank' },
    });
    expect(second).toMatchObject({ cpu: { cores: 4, sockets: 2, type: 'host' }, memory: GIB, description: 'member 2' });
  });

  it('let null remove a default, and one alternative replace another', () => {
    const text = `version: 1
stack: s
defaults:
  node: pve1
  clone: { template: debian, storage: tank }
  nics: { net0: { bridge: vmbr0 }, net1: { bridge: vmbr1, vlan: 5 } }
  cloud_init: { password: { env: PW } }
  pci: { hostpci0: { mapping: gpu, pcie: true } }
vms:
  web:
    name: web
    clone: { mode: linked, storage: null }
    nics: { net1: { remove: true } }
    cloud_init: { password: { file: ./pw } }
    pci: { hostpci0: { device: "01:00.0" } }
`;
    const { fields } = onlyVm(stackOf(text));
    expect(fields.clone).toEqual({ template: 'debian', mode: 'linked' });
    expect(fields.nics).toEqual({ net0: { bridge: 'vmbr0' }, net1: { remove: true } });
    expect(fields.cloud_init).toEqual({ password: { file: './pw' } });
    expect(fields.pci).toEqual({ hostpci0: { device: '01:00.0', pcie: true } });
  });

  it('point at the layer that holds a mistake', () => {
    const files = [{ name: 'vars.yaml', text: 'sizes:\n  web-1:\n    memory: lots\n' }];
    const text = `variables: { sizes: { type: map, of: vm } }\n${group(`count: 1\nname: web-\${number}\noverrides: \${var.sizes}`)}`;
    expect(problemsOf(text, { files })).toEqual([
      expect.stringContaining('vars.yaml:3:13 error BAD_VALUE: "memory": "lots" is not a size'),
    ]);
  });
});

describe('overrides that match no member', () => {
  it('are an error by name and a warning by number, because a group may shrink', () => {
    const text = group(`count: 1\nname: web-\${number}\noverrides: { 2: {}, wbe-1: {} }`);
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^8:18 warning MISSING_REFERENCE: The override for "2" matches no VM/),
      expect.stringMatching(/^8:25 error MISSING_REFERENCE: The override for "wbe-1".*Did you mean "web-1"/),
    ]);
  });

  it('of a shared variable are not reported if another group has that VM', () => {
    const text = `variables: { o: { type: map, of: vm, default: { a: { memory: 1GiB }, b: { memory: 2GiB }, z: {} } } }
${HEAD}  a: { name: a, overrides: "\${var.o}" }
  b: { name: b, overrides: "\${var.o}" }
`;
    expect(stackOf(text).vms.map(({ fields }) => fields.memory)).toEqual([GIB, 2 * GIB]);
    expect(problemsOf(text)).toEqual([
      expect.stringContaining('1:91 warning MISSING_REFERENCE: The override for "z"'),
      expect.anything(),
    ]);
  });
});

describe('ids', () => {
  it('are a pool for the group, unless a VM has its own', () => {
    const { vms } = stackOf(
      group(`count: 2\nname: "a\${number}"\nvmids: [101-103, 200]\noverrides: { 2: { vmid: 300 } }`),
    );
    expect(vms.map(({ vmids, fields }) => [vmids, fields.vmid])).toEqual([
      [[101, 102, 103, 200], undefined],
      [undefined, 300],
    ]);
  });

  it.each([
    ['vmids: 101-102', '8:8 error BAD_VALUE: "vmids" holds 2 IDs, but the group has 3 VMs.'],
    ['vmids: 99-110', '8:8 error BAD_VALUE: VM IDs are between 100 and 999999999, not 99-110.'],
    ['vmids: 120-110', 'The range 120-110 is reversed: its end is before its start.'],
    ['vmids: 100-999999999', '"vmids" names more than 10000 IDs.'],
    ['vmids: some', '"some" is neither an ID nor a range of IDs.'],
    ['vmids: 101-110\nvmid: 105', '"vmid" and "vmids" cannot be used together'],
  ])('refuse %j', (line, problem) => {
    const problems = problemsOf(group(`count: 3\nname: "a\${number}"\n${line}`));
    expect(problems).toContainEqual(expect.stringContaining(problem.replace('8:8', '8:12')));
  });
});

describe('addresses of a group', () => {
  const nic = (settings: string, count = 3) =>
    group(`count: ${count}\nname: "a\${number}"\nnics: { net0: { bridge: vmbr0, ${settings} } }`);
  const addresses = (text: string) =>
    stackOf(text).vms.map(({ fields: { nics } }) => {
      const { ipv4, ipv6 } = nics?.net0 ?? {};
      return [ipv4, ipv6].map((each) => (typeof each === 'object' ? each.address : each));
    });

  it('go to the members in order, from ranges and lists, IPv4 and IPv6', () => {
    expect(
      addresses(
        nic('ipv4: { addresses: [10.0.0.9-10.0.0.10/8, 10.0.0.20/8] }, ipv6: { addresses: fd00::fe-fd00::1ff/64 }'),
      ),
    ).toEqual([
      ['10.0.0.9/8', 'fd00::fe/64'],
      ['10.0.0.10/8', 'fd00::ff/64'],
      ['10.0.0.20/8', 'fd00::100/64'],
    ]);
  });

  it('are overridden by a single address of a member', () => {
    const text = `${nic('ipv4: { addresses: 10.0.0.1-10.0.0.2/8 }')}    overrides: { 3: { nics: { net0: { ipv4: { address: 10.9.9.9/8 } } } } }\n`;
    expect(addresses(text).map(([v4]) => v4)).toEqual(['10.0.0.1/8', '10.0.0.2/8', '10.9.9.9/8']);
  });

  it.each([
    ['10.0.0.1-10.0.0.2/8', '"addresses" holds 2 addresses, but the group has more VMs.'],
    ['10.0.0.9-10.0.0.1/8', 'is reversed'],
    ['10.0.0.250-10.0.1.5/24', 'are in different networks'],
    ['10.0.0.1-10.0.0.9', 'is not a range of addresses with a prefix length'],
    ['10.0.0.1-fd00::9/24', 'is not a range of addresses'],
    ['3', 'is not a range of addresses'],
  ])('refuse %s', (range, problem) => {
    expect(problemsOf(nic(`ipv4: { addresses: ${range} }`))).toEqual([
      expect.stringMatching(new RegExp(`^8:55 error BAD_VALUE: .*${problem}`)),
    ]);
  });

  it('cannot be used together with a single address', () => {
    expect(problemsOf(nic('ipv4: { address: 10.0.0.7/8, addresses: 10.0.0.1/8 }', 1))).toEqual([
      expect.stringContaining('"address" and "addresses" cannot be used together'),
    ]);
  });
});

describe('after', () => {
  const vms = (lines: string) => `${HEAD}${lines}`;

  it('accepts groups and single VMs', () => {
    const { vms: found } = stackOf(
      vms(`  a: { count: 2, name: "a\${number}" }
  b: { name: b, after: a }
  c: { name: c, after: ["vm.a[2]", vm.b] }
  d: { count: 0, name: d }
  e: { name: e, after: [d] }
`),
    );
    expect(found.map(({ address, after }) => [address, after])).toEqual([
      ['vm.a[1]', []],
      ['vm.a[2]', []],
      ['vm.b', ['vm.a[1]', 'vm.a[2]']],
      ['vm.c', ['vm.a[2]', 'vm.b']],
      ['vm.e', []],
    ]);
  });

  it.each([
    ['  a: { name: a, after: bb }\n  bbb: { name: b }\n', '5:24 error MISSING_REFERENCE: "after" names "bb"'],
    [`  a: { name: a, after: "vm.b[3]" }\n  b: { count: 2, name: "b\${number}" }\n`, 'Did you mean "vm.b[1]"?'],
    ['  a: { name: a, after: a }\n', '5:24 error BAD_VALUE: The group "a" cannot wait for itself.'],
    [
      '  a: { name: a, after: b }\n  b: { name: b, after: c }\n  c: { name: c, after: [a] }\n',
      '5:24 error BAD_VALUE: These groups wait for each other in a circle: a → b → c → a.',
    ],
    ['  a: { count: 0, name: a, after: b }\n  b: { name: b, after: a }\n', 'circle: a → b → a'],
  ])('refuses %j', (lines, problem) => {
    expect(problemsOf(vms(lines))).toEqual([expect.stringContaining(problem)]);
  });
});

describe('formerly', () => {
  it('gives each member its former address', () => {
    const { vms } = stackOf(`${HEAD}  a: { name: a, formerly: old }
  b: { count: 2, name: "b\${number}", formerly: [nodes], overrides: { 1: { formerly: vm.b } } }
  c: { each: [x], name: c, formerly: gpus }
  d: { name: d, formerly: 'vm.e["y"]' }
`);
    expect(vms.map(({ formerly }) => formerly)).toEqual([
      ['vm.old'],
      ['vm.nodes[1]', 'vm.b'],
      ['vm.nodes[2]'],
      ['vm.gpus["x"]'],
      ['vm.e["y"]'],
    ]);
  });

  it.each([
    ['  a: { name: a, formerly: b }\n  b: { name: b }\n', 'vm.b is the address of a current VM of this stack'],
    ['  a: { name: a, formerly: x }\n  b: { name: b, formerly: x }\n', 'vm.x cannot have become both vm.a and vm.b.'],
    [`  a: { count: 2, name: "a\${number}", formerly: vm.x }\n`, 'names one VM for a whole group'],
    ['  a: { name: a, formerly: "no such!" }\n', 'is neither a group name nor the address of a VM'],
  ])('refuses %j', (lines, problem) => {
    expect(problemsOf(`${HEAD}${lines}`)).toEqual([expect.stringContaining(problem)]);
  });
});

describe('names of groups', () => {
  it('can be part of an address', () => {
    expect(problemsOf(webStack('memory: 1GiB').replace('  web:', '  9 lives:'))).toEqual([
      expect.stringContaining('4:3 error BAD_VALUE: "9 lives" cannot name a group'),
    ]);
  });
});

describe('hooks', () => {
  it('keep the variables of the VM for later, and replace every other reference immediately', () => {
    const { vms } = stackOf(`version: 1
stack: s
variables: { context: { type: string, default: "a $\${name}" } }
defaults: { node: pve1, clone: { template: debian }, hooks: { before_stop: { run: [drain, "\${name}", "--context=\${var.context}"] } } }
vms:
  web: { count: 1, name: "web-\${number}", hooks: { after_ready: { run: [sh, -c, "echo $\${name} \${vmid} \${number}", 30], timeout: 90s } } }
`);
    const { before_stop: before, after_ready: after } = vms[0]?.fields.hooks ?? {};
    expect(before?.run).toEqual(['drain', `\${name}`, `--context=a $\${name}`]);
    expect(after).toEqual({ run: ['sh', '-c', `echo $\${name} \${vmid} 1`, '30'], timeout: 90_000 });
    const values = (run: readonly string[] = []) => run.map((each) => withHookValues(each, (name) => `<${name}>`));
    expect(values(before?.run)).toEqual(['drain', '<name>', `--context=a \${name}`]);
    expect(values(after?.run).slice(2, 3)).toEqual([`echo \${name} <vmid> 1`]);
  });

  it('refuse an unknown variable, and a variable of the VM outside hooks', () => {
    expect(problemsOf(group(`name: web\nhooks: { before_stop: { run: [drain, "\${nmae}"] } }`)).join('\n')).toContain(
      '"name"',
    );
    expect(problemsOf(group(`name: web\nrole: "\${vmid}"`)).join('\n')).toContain(`\${vmid} refers to nothing`);
    expect(problemsOf(group('name: web\nhooks: { before_stop: { run: [] } }'))).toHaveLength(1);
  });
});
