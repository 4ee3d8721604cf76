/** Rules for network cards, addresses, gateways and name servers. */
import { advice, setting } from '../../../base/hint.ts';
import {
  type IpAddress,
  isInside,
  isLinkLocal,
  isSameIp,
  networkOf,
  parseInterface,
  parseIp,
  printIp,
  specialUse,
} from '../../../base/values/ip-address.ts';
import type { ResolvedVm } from '../stack.ts';
import type { Violation, VmRule } from './rule.ts';

/** A card without a bridge uses QEMU's own NAT, which is rarely intended. */
export const newCardsHaveBridge: VmRule = {
  reads: ['nics.*.bridge', 'nics.*.remove', 'clone.template'],
  *check(vm) {
    if (vm.fields.clone) return;
    for (const [slot, { bridge, remove }] of Object.entries(vm.fields.nics ?? {})) {
      if (bridge !== undefined || remove) continue;
      yield {
        vm,
        path: `nics.${slot}`,
        severity: 'warning',
        detail: `"${slot}" has no bridge. Proxmox then uses NAT, and nothing can reach the VM.`,
        hint: advice`Write ${setting('bridge', 'vmbr0')}.`,
      };
    }
  },
};

/** Proxmox refuses to start such a VM: the MTU is below the minimum of IP. */
export const mtuCarriesIp: VmRule = {
  reads: ['nics.*.mtu'],
  *check(vm) {
    for (const [slot, { mtu }] of Object.entries(vm.fields.nics ?? {})) {
      if (mtu === undefined || mtu === 1 || mtu >= 576) continue;
      yield {
        vm,
        path: `nics.${slot}.mtu`,
        detail: `An MTU of ${mtu} is too small for IP. The minimum is 576, and 1 uses the bridge’s MTU.`,
      };
    }
  },
};

export const usableAddresses: VmRule = {
  reads: ['nics.*.ipv4', 'nics.*.ipv6'],
  *check(vm) {
    for (const [slot, nic] of Object.entries(vm.fields.nics ?? {})) {
      for (const [family, version] of [['ipv4', 4] as const, ['ipv6', 6] as const]) {
        const settings = nic[family];
        if (typeof settings === 'object') yield* checkInterface(vm, `nics.${slot}.${family}`, version, settings);
      }
    }
  },
};

function* checkInterface(
  vm: ResolvedVm,
  path: string,
  version: 4 | 6,
  { address: text, gateway }: { readonly address: string; readonly gateway?: string | undefined },
): Iterable<Violation> {
  const parsed = parseInterface(text);
  if (parsed?.address.version !== version) {
    yield {
      vm,
      path: `${path}.address`,
      detail: `"${text}" is not an IPv${version} address with a prefix length.`,
      hint:
        version === 4
          ? 'Write four numbers from 0 to 255 and a prefix length up to 32: 10.0.20.11/24.'
          : 'Write for example fd00::11/64.',
    };
    return;
  }
  const { first, last } = networkOf(parsed);
  const network = `${printIp(first)}/${parsed.length}`;
  const reason = specialUse(parsed.address) ?? boundaryName(parsed.address, first, last, network);
  if (reason !== undefined) {
    yield { vm, path: `${path}.address`, detail: `No VM can have the address ${printIp(parsed.address)}: ${reason}.` };
  }
  if (gateway === undefined) return;
  const router = parseIp(gateway);
  const problem = gatewayProblem(router, version);
  const misplaced = router && !problem ? misplacedGateway(router, parsed, network) : undefined;
  const detail = problem ?? misplaced ?? (router && boundaryProblem(router, first, last, network));
  if (detail !== undefined) {
    yield { vm, path: `${path}.gateway`, detail: `The gateway "${gateway}" cannot work: ${detail}.` };
  }
}

function gatewayProblem(router: IpAddress | undefined, version: 4 | 6): string | undefined {
  if (!router) return 'it is not an IP address';
  return router.version === version ? specialUse(router) : `it is an IPv${router.version} address`;
}

function misplacedGateway(
  router: IpAddress,
  own: { readonly address: IpAddress; readonly length: number },
  network: string,
): string | undefined {
  if (isSameIp(router, own.address)) return 'it is the address of the VM itself';
  // A host route has no network, and IPv6 routers often announce only their link-local address.
  const isHostRoute = own.length === (router.version === 4 ? 32 : 128);
  if (isHostRoute || (router.version === 6 && isLinkLocal(router))) return undefined;
  return isInside(router, own) ? undefined : `it is outside the network ${network}`;
}

function boundaryProblem(router: IpAddress, first: IpAddress, last: IpAddress, network: string): string | undefined {
  return isSameIp(first, last) ? undefined : boundaryName(router, first, last, network);
}

/** Networks of one or two addresses have neither a network nor a broadcast address. */
function boundaryName(address: IpAddress, first: IpAddress, last: IpAddress, network: string): string | undefined {
  if (last.value - first.value < 2n) return undefined;
  if (isSameIp(address, first)) return `it is the address of the network ${network} itself`;
  return address.version === 4 && isSameIp(address, last) ? `it is the broadcast address of ${network}` : undefined;
}

export const nameServersAreAddresses: VmRule = {
  reads: ['cloud_init.dns.servers'],
  *check(vm) {
    for (const [index, server] of (vm.fields.cloud_init?.dns?.servers ?? []).entries()) {
      if (parseIp(server)) continue;
      yield {
        vm,
        path: `cloud_init.dns.servers.${index}`,
        detail: `"${server}" is not an IP address. Give name servers by address, not by name.`,
      };
    }
  },
};
