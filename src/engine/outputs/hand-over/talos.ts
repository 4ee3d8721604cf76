/**
 * The hand-over to Talos: generates machine configurations for the endpoint of the cluster, applies them to each node by its
 * role, bootstraps once, and fetches the kubeconfig. talosctl generates the secrets in a folder of the user.
 */

import { shellQuoted } from '../../../base/text/shell.ts';
import type { MachineView } from '../../../kinds/shown.ts';
import { isControlPlane, type StackOutputs } from '../outputs.ts';
import { addressOf, addressPart, arrayPart, nothingToHandOver, scriptOf, topologyLabels } from './parts.ts';

const FORMAT = 'talos-script';

export function talosScript(outputs: StackOutputs): string {
  const nodes = outputs.vms.filter(({ isTalos }) => isTalos);
  const controlPlanes = nodes.filter(isControlPlane);
  const workers = nodes.filter((node) => !isControlPlane(node));
  const [first] = controlPlanes;
  if (!first) {
    throw nothingToHandOver(
      FORMAT,
      'No VM of this stack has guest: talos and role: control-plane.',
      'Set guest: talos in the stack file, and role: control-plane or role: worker for each group.',
    );
  }
  return scriptOf(
    outputs,
    {
      format: FORMAT,
      purpose: 'creates a Kubernetes cluster on running Talos VMs, with talosctl.',
      settings: ['TALOS_FOLDER        folder for configurations and secrets'],
    },
    [
      addressPart(nodes),
      [
        `cluster=${shellQuoted(outputs.stack)}`,
        // The user may set the first address, so the script computes the endpoint.
        `endpoint_address=${outputs.vip === null ? addressOf(first) : shellQuoted(outputs.vip)}`,
        `is_virtual=${outputs.vip === null ? 'no' : 'yes'}`,
        `folder=\${TALOS_FOLDER:-${shellQuoted(`talos-${outputs.stack}`)}}`,
        arrayPart(
          'control_names',
          controlPlanes.map(({ name }) => shellQuoted(name)),
        ),
        arrayPart('control_addresses', controlPlanes.map(addressOf)),
        arrayPart('control_labels', controlPlanes.map(labelPatch)),
        arrayPart(
          'worker_names',
          workers.map(({ name }) => shellQuoted(name)),
        ),
        arrayPart('worker_addresses', workers.map(addressOf)),
        arrayPart('worker_labels', workers.map(labelPatch)),
      ].join('\n'),
      BODY,
    ],
  );
}

/** Talos sets these labels on the Kubernetes node. */
function labelPatch(vm: MachineView): string {
  return shellQuoted(JSON.stringify({ machine: { nodeLabels: Object.fromEntries(topologyLabels(vm)) } }));
}

const BODY = `
case $endpoint_address in
  *:*) endpoint="https://[$endpoint_address]:6443" ;;
  *) endpoint="https://$endpoint_address:6443" ;;
esac
first=\${control_addresses[0]}

need talosctl 'See https://www.talos.dev/'
private_folder "$folder" 'secrets.yaml*' controlplane.yaml worker.yaml talosconfig kubeconfig new

# Without a node that holds the virtual address the cluster would never start.
if [ "$is_virtual" = yes ] && [ ! -e "$folder/patch-controlplane.yaml" ]; then
  stop "$endpoint_address is a virtual address, which the control planes use only if it is in their configuration.
  Create $folder/patch-controlplane.yaml, a talosctl patch that sets it.
  If a load balancer has the address, create an empty file: touch $folder/patch-controlplane.yaml"
fi

# Generates secrets once; everything else can be generated from them again.
if [ ! -s "$folder/secrets.yaml" ]; then
  rm -f "$folder/secrets.yaml.new"
  talosctl gen secrets --output-file "$folder/secrets.yaml.new"
  mv "$folder/secrets.yaml.new" "$folder/secrets.yaml"
fi

is_generated() { [ -s "$folder/controlplane.yaml" ] && [ -s "$folder/worker.yaml" ] && [ -s "$folder/talosconfig" ]; }
if is_generated; then
  grep -qF "$endpoint" "$folder/controlplane.yaml" || stop "$folder/controlplane.yaml is not for $endpoint.
  If the endpoint is right, remove the files and run this script again; the secrets stay:
  rm $folder/controlplane.yaml $folder/worker.yaml $folder/talosconfig"
  say "$folder: configurations already exist"
else
  patches=()
  [ ! -s "$folder/patch-all.yaml" ] || patches+=(--config-patch "@$folder/patch-all.yaml")
  [ ! -s "$folder/patch-controlplane.yaml" ] || patches+=(--config-patch-control-plane "@$folder/patch-controlplane.yaml")
  [ ! -s "$folder/patch-worker.yaml" ] || patches+=(--config-patch-worker "@$folder/patch-worker.yaml")
  rm -rf "$folder/new"
  talosctl gen config "$cluster" "$endpoint" --with-secrets "$folder/secrets.yaml" --output "$folder/new" \\
    \${patches[@]+"\${patches[@]}"}
  mv "$folder"/new/* "$folder/"
  rmdir "$folder/new"
  say "$folder: generated configurations for $endpoint"
fi
talosctl --talosconfig "$folder/talosconfig" config endpoint "\${control_addresses[@]}"
talosctl --talosconfig "$folder/talosconfig" config node "$first"

# talos ADDRESS COMMAND...: calls one node with our certificate.
talos() {
  local address=$1
  shift
  bounded 60 talosctl --talosconfig "$folder/talosconfig" --endpoints "$address" --nodes "$address" "$@"
}

# A configured node accepts our certificate; one in maintenance mode does not.
is_configured() { talos "$1" version >/dev/null 2>&1; }

# configure ADDRESS FILE LABELS [PATCH]
configure() {
  is_configured "$1" && return
  bounded 60 talosctl apply-config --insecure --nodes "$1" --file "$2" --config-patch "$3" \${4+--config-patch "@$4"}
}

# hand_over NAME ADDRESS TYPE LABELS
hand_over() {
  local patch="$folder/node-$1.yaml"
  if is_configured "$2"; then
    say "$1 ($2): already configured"
    # The VM may be on another host by now.
    talos "$2" patch machineconfig --mode=no-reboot --patch "$4" >/dev/null 2>&1 ||
      say "$1 ($2): its labels for host and zone were not updated. To see why: talosctl --nodes $2 patch machineconfig --patch '$4'"
  elif [ -s "$patch" ]; then
    wait_for "$1 ($2) accepts its configuration" configure "$2" "$folder/$3.yaml" "$4" "$patch"
    say "$1 ($2): configured as $3, with $patch"
  else
    wait_for "$1 ($2) accepts its configuration" configure "$2" "$folder/$3.yaml" "$4"
    say "$1 ($2): configured as $3"
  fi
}

for ((i = 0; i < \${#control_names[@]}; i++)); do
  hand_over "\${control_names[i]}" "\${control_addresses[i]}" controlplane "\${control_labels[i]}"
done

has_etcd() {
  local address
  for address in "\${control_addresses[@]}"; do
    talos "$address" etcd members >/dev/null 2>&1 && return
  done
  return 1
}

bootstrap() { has_etcd || talos "$first" bootstrap; }

# A second bootstrap would create a second cluster, so it runs only once.
if [ -e "$folder/bootstrapped" ]; then
  wait_for "etcd answers (if you recreated the VMs and want a new cluster: rm $folder/bootstrapped)" has_etcd
  say "$cluster: already bootstrapped"
else
  wait_for "\${control_names[0]} ($first) accepts the bootstrap" bootstrap
  : >"$folder/bootstrapped"
  say "$cluster: bootstrapped on \${control_names[0]}"
fi

for ((i = 0; i < \${#worker_names[@]}; i++)); do
  hand_over "\${worker_names[i]}" "\${worker_addresses[i]}" worker "\${worker_labels[i]}"
done

wait_for 'the kubeconfig' talos "$first" kubeconfig "$folder/kubeconfig" --force --merge=false
say "Done. To check until all nodes are ready:
  export TALOSCONFIG=$folder/talosconfig KUBECONFIG=$folder/kubeconfig
  talosctl health
  kubectl get nodes"
`;
