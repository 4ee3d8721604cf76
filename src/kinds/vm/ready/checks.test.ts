import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../../base/address.ts';
import { type VmFieldsInput, vmFieldsSchema } from '../fields/index.ts';
import { managedNic, type ReadyChecks, readyChecks, readyTarget } from './checks.ts';

const fields = (more: Partial<VmFieldsInput> = {}) => vmFieldsSchema.parse({ name: 'web', node: 'pve1', ...more });
const checks = (more: Partial<VmFieldsInput>) => readyChecks(fields(more), 1_800_000);

const NOTHING: ReadyChecks = {
  agentPings: 0,
  address: false,
  osInfo: false,
  cloudInit: false,
  agentService: false,
  commands: [],
  ports: [],
  portsIfAddressed: [],
  settleMs: 0,
  timeoutMs: 1_800_000,
};

describe('what ready means', () => {
  it('for a cloud-init guest: agent, address and operating system', () => {
    expect(checks({ guest: 'cloud-init' })).toEqual({ ...NOTHING, agentPings: 3, address: true, osInfo: true });
  });

  it('for Talos: its port, if an address is known, and no agent', () => {
    expect(checks({ guest: 'talos' })).toEqual({ ...NOTHING, portsIfAddressed: [50_000] });
  });

  it('for a plain guest: only that it was started', () => {
    expect(checks({})).toEqual(NOTHING);
  });

  it.each<[Partial<VmFieldsInput>, Partial<ReadyChecks>]>([
    [
      { guest: 'cloud-init', ready: { pings: 5, settle: '10s', timeout: '5m' } },
      { agentPings: 5, settleMs: 10_000, timeoutMs: 300_000 },
    ],
    [
      { guest: 'cloud-init', ready: { os_info: false } },
      { agentPings: 3, address: true, osInfo: false },
    ],
    [
      { guest: 'cloud-init', ready: { agent: false } },
      { agentPings: 0, address: false, osInfo: false },
    ],
    [
      { guest: 'talos', ready: { agent: true } },
      { agentPings: 3, portsIfAddressed: [50_000] },
    ],
    [{ guest: 'talos', ready: { tcp: [] } }, { portsIfAddressed: [] }],
    [
      { guest: 'plain', ready: { address: true } },
      { agentPings: 0, address: true },
    ],
    [
      { guest: 'plain', ready: { cloud_init: true } },
      { agentPings: 3, cloudInit: true, address: false },
    ],
    [
      { guest: 'plain', ready: { agent_service: true } },
      { agentPings: 3, agentService: true, address: false },
    ],
    [{ guest: 'plain', ready: { os_info: false } }, { agentPings: 0 }],
    [
      { guest: 'plain', ready: { os_info: false, cloud_init: true } },
      { agentPings: 3, osInfo: false },
    ],
  ])('%#: each part can be set', (given, expected) => {
    expect(checks(given)).toMatchObject(expected);
  });

  it('takes commands and ports from the stack, and runs the commands through the agent', () => {
    const given = checks({ ready: { exec: [['uname', '-a']], tcp: [22, 80] } });
    expect(given).toEqual({ ...NOTHING, agentPings: 3, commands: [['uname', '-a']], ports: [22, 80] });
  });
});

describe('the VM to wait for', () => {
  it('knows each NIC by its MAC and by the addresses the stack gives it', () => {
    const nics = {
      net0: { ipv4: 'dhcp' as const },
      net1: { ipv4: { address: '10.0.20.11/24' }, ipv6: { address: 'fd00::11/64' } },
    };
    const macs = { net10: 'BC:24:11:00:00:03', net1: 'BC:24:11:00:00:02', net0: 'BC:24:11:00:00:01' };
    expect(readyTarget(vmAddress('web'), fields({ nics }), { vmid: 401, node: 'pve2', macs })).toEqual({
      address: 'vm.web',
      vmid: 401,
      node: 'pve2',
      managedNic: 'net0',
      nics: [
        { slot: 'net0', mac: 'BC:24:11:00:00:01', expected: [] },
        { slot: 'net1', mac: 'BC:24:11:00:00:02', expected: ['10.0.20.11', 'fd00::11'] },
        { slot: 'net10', mac: 'BC:24:11:00:00:03', expected: [] },
      ],
    });
  });

  it.each<[string, VmFieldsInput['nics'], string | undefined]>([
    ['the first there is', undefined, 'net0'],
    ['the first the stack mentions', { net2: { bridge: 'vmbr0' }, net1: { bridge: 'vmbr0' } }, 'net1'],
    ['the first with addresses', { net0: { bridge: 'vmbr0' }, net1: { ipv4: 'dhcp' } }, 'net1'],
    ['none that is removed', { net0: { remove: true } }, 'net1'],
    ['none that is unplugged', { net0: { link_down: true, ipv4: 'dhcp' } }, 'net1'],
  ])('talks through %s', (_name, nics, slot) => {
    expect(managedNic(fields(nics ? { nics } : {}), ['net10', 'net1', 'net0'])).toBe(slot);
  });

  it('has no managed NIC if it has no NIC', () => {
    expect(managedNic(fields(), [])).toBeUndefined();
  });
});
