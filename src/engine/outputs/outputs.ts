/** The outputs of a stack, computed from the file and the state. Pure. */

import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command, setting } from '../../base/hint.ts';
import { closest } from '../../base/text/closest.ts';
import type { StackState } from '../../kinds/recorded.ts';
import { givenStack, KINDS } from '../../kinds/registry.ts';
import type { MachineView } from '../../kinds/shown.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import { CONTRACT_VERSION, DEPRECATED_OUTPUTS, type OutputName, type OutputValues } from './contract.ts';

export interface StackOutputs {
  readonly stack: string;
  /** The virtual address that the control planes share. */
  readonly vip: string | null;
  readonly values: OutputValues;
  /** In the order of the file, for formats that need more than the contract. */
  readonly vms: readonly MachineView[];
  /** One for each value that is null, with the reason. */
  readonly warnings: readonly Diagnostic[];
}

const KUBERNETES_PORT = 6443;

export function stackOutputs(declared: ResolvedStack, state: StackState): StackOutputs {
  const stack = givenStack(declared, state);
  const vms = KINDS.flatMap((kind) => kind.outputs?.(stack, state) ?? []);
  const talos = vms.filter(({ isTalos }) => isTalos);
  const controlPlanes = talos.filter(isControlPlane).map(({ ip }) => ip);
  const endpoint = stack.outputs.talos?.vip ?? controlPlanes.find((ip) => ip !== null);
  const values: OutputValues = {
    contract_version: CONTRACT_VERSION,
    vms: byName(vms, ({ vmid, node, zone, role, status, nics }) => ({
      vmid,
      node,
      zone,
      role,
      status,
      macs: Object.fromEntries(nics.map(({ slot, mac }) => [slot, mac])),
      addresses: Object.fromEntries(nics.map(({ slot, ip }) => [slot, ip])),
    })),
    talos_control_plane_endpoints: controlPlanes,
    talos_cluster_endpoint: endpoint === undefined ? null : `https://${inUrl(endpoint)}:${KUBERNETES_PORT}`,
    talos_node_ips: byName(talos, ({ ip }) => ip),
    talos_node_roles: byName(talos, ({ role }) => role),
    talos_vm_ids: byName(talos, ({ vmid }) => vmid),
    control_plane_ips: vms.filter(isControlPlane).map(({ ip }) => ip),
    worker_ips: vms.filter(({ role }) => role === 'worker').map(({ ip }) => ip),
    vm_ids: byName(vms, ({ vmid }) => vmid),
  };
  const noEndpoint = talos.length > 0 && endpoint === undefined ? [unknownEndpoint()] : [];
  return {
    stack: stack.name,
    vip: stack.outputs.talos?.vip ?? null,
    values,
    vms,
    warnings: [...vms.flatMap(unknownOf), ...noEndpoint],
  };
}

/** One output by its name. Warns about an old name, and about values that are null. */
export function readOutput(
  { values, warnings }: Pick<StackOutputs, 'values' | 'warnings'>,
  name: string,
): { readonly value: OutputValues[OutputName]; readonly warnings: readonly Diagnostic[] } {
  if (!isOutputName(values, name)) {
    const guess = closest(name, Object.keys(values));
    throw new ProxwrightError({
      code: 'MISSING_REFERENCE',
      detail: `There is no output "${name}".`,
      hint: guess ? `Did you mean "${guess}"?` : `Available outputs: ${Object.keys(values).join(', ')}.`,
    });
  }
  const instead = DEPRECATED_OUTPUTS[name];
  const value = values[name];
  const old = instead === undefined ? [] : [deprecated(name, instead)];
  return { value, warnings: [...old, ...(hasNull(value) ? warnings : [])] };
}

/** Roles and zones are optional: without one there is no gap. */
function hasNull(value: unknown, key?: string): boolean {
  if (value === null) return key !== 'role' && key !== 'zone';
  return typeof value === 'object' && Object.entries(value).some(([name, each]) => hasNull(each, name));
}

/** Talos writes the role as one word, Kubernetes with a hyphen. */
export const isControlPlane = ({ role }: Pick<MachineView, 'role'>) =>
  role === 'control-plane' || role === 'controlplane';

const isOutputName = (values: OutputValues, name: string): name is OutputName => Object.hasOwn(values, name);

const inUrl = (ip: string) => (ip.includes(':') ? `[${ip}]` : ip);

function byName<Value>(vms: readonly MachineView[], value: (vm: MachineView) => Value): Record<string, Value> {
  return Object.fromEntries(vms.map((vm) => [vm.name, value(vm)]));
}

function unknownOf({ address, name, status, nics }: MachineView): Diagnostic[] {
  if (status === 'absent') {
    return [
      asWarning(
        new ProxwrightError({
          code: 'NOT_FOUND',
          where: { address },
          detail: `${name} does not exist yet: its id and addresses are null.`,
          hint: advice`Create it: ${command('apply')}`,
        }),
      ),
    ];
  }
  const unknown = nics.filter(({ ip }) => ip === null).map(({ slot }) => slot);
  if (unknown.length === 0) return [];
  return [
    asWarning(
      new ProxwrightError({
        code: 'NO_ADDRESS',
        where: { address },
        detail: `No address of ${name} is known on ${unknown.join(', ')}; the outputs contain null.`,
        hint: 'Set an address in the stack file (nics.<slot>.ipv4), or run the guest agent in the VM.',
      }),
    ),
  ];
}

function unknownEndpoint(): Diagnostic {
  return asWarning(
    new ProxwrightError({
      code: 'NO_ADDRESS',
      detail: 'talos_cluster_endpoint is null: no address of a control plane is known.',
      hint: advice`Set the virtual address of the cluster: ${setting('outputs', { talos: { vip: '…' } })}`,
    }),
  );
}

function asWarning({ diagnostic }: ProxwrightError): Diagnostic {
  return { ...diagnostic, severity: 'warning' };
}

function deprecated(name: string, instead: string): Diagnostic {
  return {
    severity: 'warning',
    code: 'DEPRECATED_OUTPUT',
    summary: 'Deprecated output',
    detail: `"${name}" is deprecated and will be removed after contract version ${CONTRACT_VERSION}.`,
    hint: { text: `Read ${instead}.` },
  };
}
