#!/usr/bin/env bash
# Applies the recipe demo: 5 releases, in the order of the recipe, to the cluster that kubectl points at. Of
# each come its namespace, its CRDs until they are Established, and the rest. It does not wait until pods are ready.
#
#   ./apply.sh [KUBECTL FLAG...]      e.g. ./apply.sh --context staging
#
# The flags are passed on to every kubectl.
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

# release NAME
release() {
  local name="$1" file
  step=$((step + 1))
  echo "[${step}/${total}] ${name}"
  for file in namespace crds manifests; do
    file="${here}/${name}/${file}.yaml"
    [[ -e ${file} ]] || continue
    # A field manager for each release: the API server refuses an object that two of them want differently.
    kubectl apply --server-side --field-manager "helm-template/${name}" --filename "${file}" ${flags[@]+"${flags[@]}"}
    [[ ${file} != */crds.yaml ]] || kubectl wait --for condition=Established --timeout 60s --filename "${file}" ${flags[@]+"${flags[@]}"}
  done
}

release web
release monitor
release gpu
release gpu-post
release tuning

echo "All 5 releases are applied. See README.md for how to verify them."
