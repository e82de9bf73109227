#!/usr/bin/env bash
# Removes the 5 releases of the recipe demo with Helm, the last one first, from the cluster that kubectl points at. A
# release that is not there is passed over. Helm leaves CRDs, namespaces and persistent volume claims behind.
#
#   ./undeploy.sh [HELM FLAG...]      e.g. ./undeploy.sh --kube-context staging --wait
#
# The flags are passed on to every `helm uninstall`.
set -euo pipefail

case "${1:-}" in
-h | --help)
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
  exit 0
  ;;
esac

total=5
step=0
flags=("$@")

# release NAME NAMESPACE
release() {
  step=$((step + 1))
  echo "[${step}/${total}] ${1} (namespace ${2})"
  helm uninstall "${1}" --namespace "${2}" --ignore-not-found ${flags[@]+"${flags[@]}"}
}

release tuning tuning
release gpu-post gpu
release gpu gpu
release monitor monitoring
release web web-system

echo "All 5 releases are removed."
