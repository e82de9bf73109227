#!/usr/bin/env bash
# Deploys the recipe demo with Helm: 5 releases, in the order of the recipe, into the cluster that kubectl
# points at. It does not wait until pods are ready; hooks of a chart are waited for, as Helm always does.
#
#   ./deploy.sh [HELM FLAG...]      e.g. ./deploy.sh --kube-context staging --dry-run
#
# The flags are passed on to every `helm upgrade --install`. File names in them must be absolute: Helm is run in each release's directory.
set -euo pipefail

case "${1:-}" in
-h | --help)
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p;}' "${BASH_SOURCE[0]}"
  exit 0
  ;;
esac

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
total=5
step=0
flags=("$@")

# Absolute, as Helm is run elsewhere.
if [[ -n ${KUBECONFIG:-} ]]; then
  IFS=: read -ra files <<<"${KUBECONFIG}"
  KUBECONFIG="$(for file in "${files[@]}"; do [[ ${file} == /* ]] || file="${PWD}/${file}"; printf '%s:' "${file}"; done)"
  export KUBECONFIG="${KUBECONFIG%:}"
fi

# release NAME NAMESPACE CHART [HELM FLAG...]
release() {
  local name="$1" namespace="$2" chart="$3"
  shift 3
  step=$((step + 1))
  echo "[${step}/${total}] ${name} (namespace ${namespace}): ${chart}"
  # Helm takes a directory that is called as the chart for the chart. There is none in the release's own directory.
  (cd "${here}/${name}" && helm upgrade --install "${name}" "${chart}" --namespace "${namespace}" --create-namespace "$@" ${flags[@]+"${flags[@]}"})
}

release web web-system oci://127.0.0.1:5500/charts/web --version v1.4.0 --plain-http -f "${here}/web/values.yaml"
release monitor monitoring oci://127.0.0.1:5500/charts/monitor --version 82.8.0 --plain-http -f "${here}/monitor/values.yaml"
release gpu gpu oci://127.0.0.1:5500/charts/gpu --version 25.10.1 --plain-http -f "${here}/gpu/values.yaml"
release gpu-post gpu "${here}/gpu-post/chart"
release tuning tuning "${here}/tuning/chart"

echo "All 5 releases are deployed. See README.md for how to verify them."
