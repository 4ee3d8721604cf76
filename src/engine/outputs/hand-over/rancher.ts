/**
 * The hand-over to Rancher: installs cert-manager and Rancher with Helm on the cluster of the managers. VMs with other roles
 * are for clusters that Rancher creates; Rancher shows the command to run on each of them.
 */

import { shellQuoted } from '../../../base/text/shell.ts';
import type { StackOutputs } from '../outputs.ts';
import { k3sParts, noServers, targetOf, targetPart } from './k3s.ts';
import { addressOf, addressPart, arrayPart, labelWords, scriptOf } from './parts.ts';

const FORMAT = 'rancher-script';

export function rancherScript(outputs: StackOutputs): string {
  const { servers, others } = k3sParts(outputs);
  if (servers.length === 0) throw noServers(FORMAT);
  return scriptOf(
    outputs,
    {
      format: FORMAT,
      purpose: 'installs Rancher on the K3s or RKE2 cluster of its managers, with Helm.',
      settings: [
        'RANCHER_HOSTNAME    host name of Rancher; required',
        'RANCHER_FOLDER      folder for the first password',
        "KUBECONFIG          kubeconfig of the managers' cluster (default: from the K3s script)",
        'RANCHER_VERSION     version of the chart; CERT_MANAGER_VERSION: of cert-manager (default: newest)',
        'SSH_USER            user in the SSH commands shown at the end',
      ],
    },
    [
      addressPart([...servers, ...others]),
      targetPart(others),
      [
        `folder=\${RANCHER_FOLDER:-${shellQuoted(`rancher-${outputs.stack}`)}}`,
        `export KUBECONFIG=\${KUBECONFIG:-${shellQuoted(`k3s-${outputs.stack}/kubeconfig`)}}`,
        arrayPart(
          'manager_names',
          servers.map(({ name }) => shellQuoted(name)),
        ),
        arrayPart('manager_addresses', servers.map(addressOf)),
        arrayPart(
          'app_names',
          others.map(({ name }) => shellQuoted(name)),
        ),
        arrayPart('app_targets', others.map(targetOf)),
        arrayPart(
          'app_labels',
          others.map((vm) => shellQuoted(labelWords(vm, '--label '))),
        ),
      ].join('\n'),
      BODY,
    ],
  );
}

const BODY = `
need kubectl 'See https://kubernetes.io/docs/tasks/tools/'
need helm 'See https://helm.sh/docs/intro/install/'
hostname=\${RANCHER_HOSTNAME:-}
[ -n "$hostname" ] || stop "Rancher needs a DNS name that points to \${manager_addresses[*]}.
  Run: export RANCHER_HOSTNAME=rancher.example.org
  Then run this script again."
[ -s "$KUBECONFIG" ] || stop "There is no $KUBECONFIG. Create the cluster first (proxwright output --format k3s-script), or run:
  export KUBECONFIG=<kubeconfig of the managers' cluster>"
private_folder "$folder" '*'

# Rancher manages the cluster it is installed in, so make sure that it is the right one.
nodes=$(bounded 60 kubectl get nodes --output name) || stop "The cluster of $KUBECONFIG does not answer."
for name in "\${manager_names[@]}"; do
  grep -qxF "node/$name" <<<"$nodes" || stop "$name is not a node of the cluster of $KUBECONFIG. It is another cluster, or it is not complete.
  See: kubectl get nodes"
done

if [ ! -s "$folder/bootstrap-password" ]; then
  od -An -N16 -tx1 /dev/urandom | tr -d ' \\n' >"$folder/bootstrap-password.new"
  mv "$folder/bootstrap-password.new" "$folder/bootstrap-password"
fi

# Skips an installed release, so that running this script again upgrades nothing.
is_deployed() {
  local status
  status=$(bounded 60 helm status "$2" --namespace "$1" 2>/dev/null) || return 1
  grep -qx 'STATUS: deployed' <<<"$status"
}

# chart NAMESPACE RELEASE REPOSITORY VERSION ARGUMENTS...
chart() {
  local namespace=$1 release=$2 repository=$3 version=$4
  shift 4
  if is_deployed "$namespace" "$release"; then
    say "$release: already installed"
    return
  fi
  say "$release: installing"
  bounded "$((wait_seconds + 60))" helm upgrade --install "$release" "$release" --repo "$repository" \\
    --namespace "$namespace" --create-namespace \${version:+--version "$version"} --wait --timeout "\${wait_seconds}s" "$@" ||
    stop "$release was not installed. See: kubectl get events --namespace $namespace; then run this script again."
}

chart cert-manager cert-manager https://charts.jetstack.io "\${CERT_MANAGER_VERSION:-}" --set crds.enabled=true
chart cattle-system rancher https://releases.rancher.com/server-charts/stable "\${RANCHER_VERSION:-}" \\
  --set "hostname=$hostname" --set "replicas=\${#manager_names[@]}" \\
  --set-file "bootstrapPassword=$folder/bootstrap-password"
bounded "$((wait_seconds + 60))" kubectl rollout status deployment/rancher --namespace cattle-system --timeout "\${wait_seconds}s" ||
  stop 'Rancher did not start. See: kubectl get pods --namespace cattle-system; then run this script again.'

say "Done: https://$hostname/ with the password in $folder/bootstrap-password (for the first login)."
if [ "\${#app_names[@]}" -gt 0 ]; then
  say 'To create an application cluster, choose Cluster Management, Create, Custom, then run the command that Rancher shows on each of:'
  for ((i = 0; i < \${#app_names[@]}; i++)); do
    say "  \${app_names[i]}: ssh -- \${app_targets[i]} (add to the command: \${app_labels[i]})"
  done
fi
`;
