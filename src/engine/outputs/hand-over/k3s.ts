/**
 * The hand-over to K3s: the first server creates the cluster, further servers and agents join it. The script uses the SSH
 * client of the person who runs it; Proxwright itself never connects to guests.
 */
import { advice, setting } from '../../../base/hint.ts';
import { commentText, shellQuoted } from '../../../base/text/shell.ts';
import type { MachineView } from '../../../kinds/shown.ts';
import type { StackOutputs } from '../outputs.ts';
import { addressOf, addressPart, arrayPart, labelWords, nothingToHandOver, scriptOf } from './parts.ts';

const FORMAT = 'k3s-script';
const SERVER_ROLES = ['control-plane', 'controlplane', 'server', 'manager'];
const AGENT_ROLES = ['worker', 'agent'];

/** Members of a K3s cluster by role, and VMs that are not part of it. */
export function k3sParts({ vms }: Pick<StackOutputs, 'vms'>): Record<'servers' | 'agents' | 'others', MachineView[]> {
  const able = vms.filter(({ isTalos }) => !isTalos);
  const servers = able.filter(({ role }) => role !== null && SERVER_ROLES.includes(role));
  const agents = able.filter(({ role }) => role !== null && AGENT_ROLES.includes(role));
  return { servers, agents, others: able.filter((vm) => !servers.includes(vm) && !agents.includes(vm)) };
}

export function noServers(format: string) {
  return nothingToHandOver(
    format,
    `This stack has no K3s server: no VM except Talos VMs has one of the roles ${SERVER_ROLES.join(', ')}.`,
    advice`Set the role of the servers in the stack file: ${setting('role', 'server')}. For agents, use ${setting('role', 'agent')} or ${setting('role', 'worker')}.`,
  );
}

export function k3sScript(outputs: StackOutputs): string {
  const { servers, agents, others } = k3sParts(outputs);
  if (servers.length === 0) throw noServers(FORMAT);
  const members = [...servers, ...agents];
  return scriptOf(
    outputs,
    {
      format: FORMAT,
      purpose: 'creates a K3s cluster on running VMs, through SSH.',
      settings: [
        'K3S_FOLDER          folder for the token, the kubeconfig and known hosts',
        'K3S_VERSION         version to install, such as v1.33.1+k3s1 (default: stable)',
        'K3S_SERVER_ARGS     more arguments for servers; K3S_AGENT_ARGS: for agents',
        'SSH_USER            user to log in as, with sudo rights',
      ],
    },
    [
      ...(others.length > 0
        ? [
            `# Not part of the cluster because of their roles: ${others.map(({ name }) => commentText(name)).join(', ')}`,
          ]
        : []),
      addressPart(members),
      targetPart(members),
      [
        `cluster=${shellQuoted(outputs.stack)}`,
        `folder=\${K3S_FOLDER:-${shellQuoted(`k3s-${outputs.stack}`)}}`,
        ...arraysOf('server', servers),
        arrayPart('server_addresses', servers.map(addressOf)),
        ...arraysOf('agent', agents),
      ].join('\n'),
      BODY,
    ],
  );
}

function arraysOf(kind: string, vms: readonly MachineView[]): string[] {
  return [
    arrayPart(
      `${kind}_names`,
      vms.map(({ name }) => shellQuoted(name)),
    ),
    arrayPart(`${kind}_targets`, vms.map(targetOf)),
    arrayPart(
      `${kind}_labels`,
      vms.map((vm) => shellQuoted(labelWords(vm))),
    ),
  ];
}

/** SSH targets by VM id, as variables. Without a user in the stack, the SSH configuration decides. */
export function targetPart(vms: readonly MachineView[]): string {
  return vms
    .map((vm) => {
      const user = vm.user === null ? `\${SSH_USER:+$SSH_USER@}` : `\${SSH_USER:-${shellQuoted(vm.user)}}@`;
      return `target_${vm.vmid ?? 'unknown'}=${user}${addressOf(vm)}`;
    })
    .join('\n');
}

/** In a script after `targetPart`. */
export const targetOf = ({ vmid }: MachineView) => `"$target_${vmid ?? 'unknown'}"`;

const BODY = `
need ssh 'Install the OpenSSH client.'
private_folder "$folder" '*'

# The token lets a machine join. It is copied through SSH into a file, never passed as an argument.
if [ ! -s "$folder/token" ]; then
  od -An -N32 -tx1 /dev/urandom | tr -d ' \\n' >"$folder/token.new"
  mv "$folder/token.new" "$folder/token"
fi
token=$(cat "$folder/token")

quote() { printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\\\\\''/g")"; }

# remote TARGET SCRIPT: runs a script there as root. The shell reads the whole script before it starts.
remote() {
  local input="main() {
$2
}
main </dev/null"
  # shellcheck disable=SC2016 # expanded on the other machine
  bounded "$wait_seconds" ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15 \\
    -o StrictHostKeyChecking=accept-new -o "UserKnownHostsFile=\\"$folder/known_hosts\\"" -- "$1" \\
    'if [ "$(id -u)" = 0 ]; then exec sh -s; else exec sudo -n sh -s; fi'
}

is_reachable() { remote "$1" 'true'; }

# state_of TARGET: runs, made (it was a server before) or fresh
state_of() {
  remote "$1" 'if systemctl is-active --quiet k3s; then echo runs
    elif [ -d /var/lib/rancher/k3s/server/db ]; then echo made
    else echo fresh; fi'
}

is_running() { remote "$1" "systemctl is-active --quiet $2"; }

url_of() {
  case $1 in
    *:*) printf 'https://[%s]:6443' "$1" ;;
    *) printf 'https://%s:6443' "$1" ;;
  esac
}

# label_command NAME LABELS
label_command() {
  local label
  printf 'k3s kubectl label --overwrite node %s' "$(quote "$1")"
  for label in $2; do printf ' %s' "$(quote "$label")"; done
}

# install NAME TARGET UNIT LABELS ARGUMENTS
install() {
  local version='' label labels=''
  for label in $4; do labels+=" --node-label $(quote "$label")"; done
  [ -z "\${K3S_VERSION:-}" ] || version="export INSTALL_K3S_VERSION=$(quote "$K3S_VERSION")"
  remote "$2" "set -eu
    $version
    (umask 077 && mkdir -p /etc/rancher/k3s && printf %s $(quote "$token") >/etc/rancher/k3s/token)
    installer=\\$(curl -sfL https://get.k3s.io)
    printf '%s\\\\n' \\"\\$installer\\" | sh -s - $5 --token-file /etc/rancher/k3s/token --node-name $(quote "$1")$labels" ||
    stop "$1: K3s was not installed. Check: ssh -- $2 sudo journalctl -u $3; then run this script again."
}

for target in "\${server_targets[@]}"; do
  wait_for "$target answers through SSH (to try it: ssh -- $target true; for another user: SSH_USER=<name>)" is_reachable "$target"
done

# Creates a cluster only if no server has one: otherwise there would be two clusters.
leader=''
made=''
for ((i = 0; i < \${#server_names[@]}; i++)); do
  state=$(state_of "\${server_targets[i]}") || stop "\${server_names[i]}: cannot read its state."
  case $state in
    runs) [ -n "$leader" ] || leader=$i ;;
    made) [ -n "$made" ] || made=$i ;;
  esac
done
if [ -z "$leader" ] && [ -n "$made" ]; then
  wait_for "K3s runs on \${server_names[made]}, which was a server before (to start it: ssh -- \${server_targets[made]} sudo systemctl start k3s; to start over without its data: ssh -- \${server_targets[made]} sudo k3s-uninstall.sh)" \\
    is_running "\${server_targets[made]}" k3s
  leader=$made
fi
if [ -z "$leader" ]; then
  say "\${server_names[0]}: creates the cluster"
  install "\${server_names[0]}" "\${server_targets[0]}" k3s "\${server_labels[0]}" "server --cluster-init \${K3S_SERVER_ARGS:-}"
  leader=0
fi
relabel=''
join=$(url_of "\${server_addresses[leader]}")

for ((i = 0; i < \${#server_names[@]}; i++)); do
  if is_running "\${server_targets[i]}" k3s; then
    say "\${server_names[i]}: server, running"
    relabel+=$(label_command "\${server_names[i]}" "\${server_labels[i]}")$'\\n'
  else
    say "\${server_names[i]}: joins as server"
    install "\${server_names[i]}" "\${server_targets[i]}" k3s "\${server_labels[i]}" "server --server $join \${K3S_SERVER_ARGS:-}"
  fi
done

for ((i = 0; i < \${#agent_names[@]}; i++)); do
  wait_for "\${agent_targets[i]} answers through SSH" is_reachable "\${agent_targets[i]}"
  if is_running "\${agent_targets[i]}" k3s-agent; then
    say "\${agent_names[i]}: agent, running"
    relabel+=$(label_command "\${agent_names[i]}" "\${agent_labels[i]}")$'\\n'
  else
    say "\${agent_names[i]}: joins as agent"
    install "\${agent_names[i]}" "\${agent_targets[i]}" k3s-agent "\${agent_labels[i]}" "agent --server $join \${K3S_AGENT_ARGS:-}"
  fi
done

wait_for "Kubernetes answers on \${server_names[leader]}" remote "\${server_targets[leader]}" 'k3s kubectl get --raw /readyz'
# VMs that joined earlier may be on other hosts by now.
[ -z "$relabel" ] || remote "\${server_targets[leader]}" "$relabel" >/dev/null ||
  say 'The labels for host and zone were not updated. Check: kubectl get nodes --show-labels'
kubeconfig=$(remote "\${server_targets[leader]}" 'cat /etc/rancher/k3s/k3s.yaml') || stop 'Cannot read the kubeconfig.'
printf '%s\\n' "\${kubeconfig//https:\\/\\/127.0.0.1:6443/$join}" >"$folder/kubeconfig.new"
mv "$folder/kubeconfig.new" "$folder/kubeconfig"
say "Done: cluster $cluster. Next:
  export KUBECONFIG=$folder/kubeconfig
  kubectl get nodes"
`;
