#!/usr/bin/env bash
# join.sh NAME ADDRESS controlplane|worker: gives a new node its configuration, and waits until Kubernetes uses it.
set -euo pipefail
name=$1 address=$2 role=$3
folder=${TALOS_FOLDER:-talos-talos-rolling}
export TALOSCONFIG=$folder/talosconfig KUBECONFIG=$folder/kubeconfig

# A second run finds the node configured. Its name comes from the cloud-init drive of its VM: since Talos 1.12, a name
# in the machine configuration as well would be refused.
if ! talosctl --nodes "$address" version >/dev/null 2>&1; then
  # As the hand-over script does it: the label of the host, and your patch for this node.
  labels='{"machine":{"nodeLabels":{"proxwright/host":"'$PROXWRIGHT_VM_NODE'"}}}'
  patches=(--config-patch "$labels")
  patch=$folder/node-$name.yaml
  if [ -s "$patch" ]; then patches+=(--config-patch "@$patch"); fi
  talosctl apply-config --insecure --nodes "$address" --file "$folder/$role.yaml" "${patches[@]}"
fi
until kubectl get node "$name" >/dev/null 2>&1; do sleep 5; done
kubectl wait --for=condition=Ready "node/$name" --timeout=10m
kubectl uncordon "$name"
