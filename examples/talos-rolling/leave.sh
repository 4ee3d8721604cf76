#!/usr/bin/env bash
# leave.sh NAME ADDRESS: takes a node out of its cluster before its VM goes.
set -euo pipefail
name=$1 address=$2
folder=${TALOS_FOLDER:-talos-talos-rolling}      # of the hand-over script
export TALOSCONFIG=$folder/talosconfig KUBECONFIG=$folder/kubeconfig

kubectl drain "$name" --ignore-daemonsets --delete-emptydir-data --timeout=10m
# A control plane also leaves etcd: wait for that, because the VM goes next.
talosctl --nodes "$address" reset --graceful --reboot=false --timeout 4m
kubectl delete node "$name" --ignore-not-found
