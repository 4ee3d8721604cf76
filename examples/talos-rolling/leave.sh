#!/usr/bin/env bash
# leave.sh NAME ADDRESS: takes a node out of its cluster before its VM goes.
set -euo pipefail
name=$1 address=$2
folder=${TALOS_FOLDER:-talos-talos-rolling}      # of the hand-over script
export TALOSCONFIG=$folder/talosconfig KUBECONFIG=$folder/kubeconfig

kubectl drain "$name" --ignore-daemonsets --delete-emptydir-data --timeout=10m
# A control plane also leaves etcd. Its disks are destroyed with the VM, so nothing else has to be reset.
talosctl --nodes "$address" reset --graceful --reboot=false --wait=false
kubectl delete node "$name" --ignore-not-found
