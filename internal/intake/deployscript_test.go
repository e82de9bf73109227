package intake

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// What a deploy.sh passes on to Helm with every release counts like a release's own flags: one that
// changes what is installed, e.g. by a program, is refused. Nothing of the script is run.
func TestDeployScript_EveryRelease(t *testing.T) {
	d := mustDeployer(t, bundle.Helm)
	made := elsewhere(t, d, ownInput(t, "eks-training"))
	for name, c := range map[string]struct{ old, new, want string }{
		"as it is":      {"", "", ""},
		"in the helper": {"helm upgrade --install \"${name}\"", "helm upgrade --install --post-renderer ./evil.sh \"${name}\"", "helm flag --post-renderer is not understood, and may change what is installed"},
		"in a variable": {`flags=("$@")`, `flags=(--set a=b "$@")`, "helm flag --set is not understood"},
		"in a comment":  {"# Absolute,", "# helm upgrade --install --post-renderer x\n# Absolute,", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t, made)
			file := filepath.Join(dir, "deploy.sh")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if c.old != "" && !strings.Contains(string(text), c.old) {
				t.Fatalf("no %q in\n%s", c.old, text)
			}
			if err := os.WriteFile(file, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(filepath.Join(dir, "checksums.txt")); err != nil {
				t.Fatal(err)
			}
			_, err = Open(context.Background(), dir, d)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// An install.sh of AICR's may apply the chart's CRDs before an upgrade; the script for that is not run
// either. What it installs must not depend on what only a run can tell.
func TestInstallScript(t *testing.T) {
	const script = `set -euo pipefail
SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "${SCRIPT_DIR}"
source ./upstream.env
FORCE=""
if [[ "$(helm version)" == v4* ]]; then
  FORCE="--force-conflicts"
fi
CHART_REF="${CHART}"
if [[ -f "${SCRIPT_DIR}/.aicr-chart.tgz" ]]; then
  CHART_REF="${SCRIPT_DIR}/.aicr-chart.tgz"
fi
helm upgrade --install ${FORCE} 'a' "${CHART_REF}" --version "${VERSION}" --namespace 'one' -f values.yaml
`
	for name, c := range map[string]struct {
		old, new string
		files    map[string]string
		want     string // an error
		crds     string // the script for CRDs
	}{
		"as it is":        {},
		"CRDs":            {old: "helm upgrade", new: "if [[ -z \"${DRY_RUN_FLAG:-}\" ]]; then\n  bash ./apply-crds.sh\nfi\nhelm upgrade", files: map[string]string{"001-a/apply-crds.sh": "helm show crds x | kubectl apply --server-side -f -\n"}, crds: "001-a/apply-crds.sh"},
		"no script":       {old: "helm upgrade", new: "bash ./apply-crds.sh\nhelm upgrade", want: "001-a/apply-crds.sh is not in the bundle"},
		"another script":  {old: "helm upgrade", new: "bash ./apply-crds.sh\nhelm upgrade", files: map[string]string{"001-a/apply-crds.sh": "echo\n"}, want: "apply-crds.sh: this script is not understood"},
		"outside":         {old: "helm upgrade", new: "bash ../../apply-crds.sh\nhelm upgrade", want: "leads out of the bundle"},
		"perhaps":         {old: "helm upgrade --install", new: "[[ $(uname) == Linux ]] && helm upgrade --install", want: "whether this release is installed depends on a condition of the script"},
		"perhaps another": {old: "CHART_REF=\"${CHART}\"\n", new: "CHART_REF=\"${CHART}\"\nif [[ $(uname) == Linux ]]; then CHART_REF=oci://example.org/other; fi\n", want: "the value of $CHART_REF depends on a condition of the script"},
		"perhaps a value": {old: "\"--force-conflicts\"", new: "\"--set a=b\"", want: "the value of $FORCE depends on a condition of the script"},
		"no shell":        {old: "set -euo pipefail", new: "if then", want: "001-a/install.sh:1: this is not understood as a script of bash"},
		"a chart's file":  {files: map[string]string{"001-a/.aicr-chart.tgz": "x"}, want: "001-a/.aicr-chart.tgz"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(script, c.old) {
				t.Fatalf("no %q in\n%s", c.old, script)
			}
			files := map[string]string{"001-a/install.sh": strings.Replace(script, c.old, c.new, 1), "001-a/upstream.env": "CHART=oci://example.org/charts/a\nVERSION=1.0.0\n", "001-a/values.yaml": "x: 1\n"}
			maps.Copy(files, c.files)
			f, _, err := readHelm(treeOf(t, files))
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if u := f.units()[0]; len(f.units()) != 1 || u.name != "a" || u.namespace != "one" || u.repo != "oci://example.org/charts" || u.version != "1.0.0" || u.values.values["x"] == nil || u.crdScript != c.crds || !u.forces {
				t.Errorf("got %+v", f.units())
			}
		})
	}
}

// What a script changes in a cluster besides installing releases is not run, and the result says so. A
// release of helm install is one too; one without a chart is refused with what is missing.
func TestInstallScript_Besides(t *testing.T) {
	const install = "source ./upstream.env\nhelm upgrade --install a \"${CHART}\" --repo \"${REPO}\" --version 1.0.0 --namespace n\n"
	for name, tc := range map[string]struct {
		script, env, besides, err string
		releases                  int
	}{
		"nothing":                       {"kubectl get nodes\nhelm version\n" + install, "CHART=a\nREPO=https://example.com\n", "", "", 1},
		"applies":                       {install + "kubectl --context x apply -f extra.yaml\n", "CHART=a\nREPO=https://example.com\n", "001-a/install.sh:3 has kubectl apply, and scripts are not run", "", 1},
		"uninstalls":                    {install + "helm uninstall b\n", "CHART=a\nREPO=https://example.com\n", "helm uninstall", "", 1},
		"a program":                     {"aws eks list-clusters\n" + install, "CHART=a\nREPO=https://example.com\n", "001-a/install.sh:1 has aws, and scripts are not run", "", 1},
		"a shell":                       {install + "curl -s https://example.com/x | bash\n", "CHART=a\nREPO=https://example.com\n", "001-a/install.sh:3 has bash, and scripts", "", 1},
		"a namespace":                   {install + "command -v helm\nsudo timeout -k 5 60 kubectl delete namespace x | cat\n", "CHART=a\nREPO=https://example.com\n", "001-a/install.sh:4 has kubectl delete", "", 1},
		"by a variable":                 {install + "$TOOL apply\n", "CHART=a\nREPO=https://example.com\n", "has the command $TOOL", "", 1},
		"text":                          {"echo \"$(date)\" | tee log\n" + install, "CHART=a\nREPO=https://example.com\n", "", "", 1},
		"a version that a command says": {strings.Replace(install, "1.0.0", `"$(cat VERSION)"`, 1), "CHART=a\nREPO=https://example.com\n", "", `001-a/install.sh:2: "$(cat VERSION)" can be known only when the script runs`, 0},
		"a version of a variable":       {"V=$(cat VERSION)\n" + strings.Replace(install, "1.0.0", "$V", 1), "CHART=a\nREPO=https://example.com\n", "", "001-a/install.sh:3: $V can be known only when the script runs", 0},
		"a version that is not set":     {strings.Replace(install, "1.0.0", `"${VERSION}"`, 1), "CHART=a\nREPO=https://example.com\n", "", `"${VERSION}" can be known only when the script runs`, 0},
		"by way of another":             {"ARGS=(--version \"$VERSION\")\n" + strings.Replace(install, "--version 1.0.0", `"${ARGS[@]}"`, 1), "CHART=a\nREPO=https://example.com\n", "", `"${ARGS[@]}" can be known only`, 0},
		"of a function":                 {"f() { helm install a a --repo https://example.com --version \"$1\" --namespace n; }\nf \"$(cat VERSION)\"\n", "", "", "001-a/install.sh:2: \"$1\" can be known only", 0},
		"a version with a default":      {strings.Replace(install, "1.0.0", `"${VERSION:-1.0.0}"`, 1), "CHART=a\nREPO=https://example.com\n", "", "", 1},
		"a time that a command says":    {strings.Replace(install, "--version", `--timeout "$(cat T)" --version`, 1), "CHART=a\nREPO=https://example.com\n", "", "", 1},
		"helm install":                  {install + "helm install b ./b --namespace n\n", "CHART=a\nREPO=https://example.com\n", "", "", 2},
		"without chart":                 {install, "REPO=https://example.com\n", "", "001-a/install.sh:2: release a has no chart: what names it in the script is empty", 0},
	} {
		tree := treeOf(t, map[string]string{"001-a/install.sh": tc.script, "001-a/upstream.env": tc.env, "001-a/b/Chart.yaml": "apiVersion: v2\nname: b\nversion: 1.0.0\n"})
		f, besides, err := readHelm(tree)
		besides = append(besides, tree.notes...)
		if err == nil && f.units()[0].forces {
			t.Errorf("%s: no script has --force-conflicts, and a release is said to have it", name)
		}
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %s", name, err, tc.err)
			}
			continue
		}
		if err != nil || len(f.units()) != tc.releases || !strings.Contains(strings.Join(besides, "\n"), tc.besides) || tc.besides == "" && len(besides) > 0 {
			t.Errorf("%s: got %v, %v, %v", name, f, besides, err)
		}
	}
}

// What a deploy.sh installs besides every install.sh is part of the bundle, in its place (F353).
func TestDeployScript_More(t *testing.T) {
	const loop = "for dir in \"${SCRIPT_DIR}\"/[0-9][0-9][0-9]-*/; do\n  attempt=0\n  while true; do\n    if ( cd \"${dir}\" && bash install.sh ); then break; fi\n    kubectl delete job \"$(kubectl get jobs)\"\n  done\ndone\n"
	const more = "helm upgrade --install more oci://example.org/charts/more --version 2.0.0 --namespace m\n"
	// The constructs of AICR's own script.
	const today = `set -euo pipefail
SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
WORK="$(mktemp -d)"
trap 'rm -rf "${WORK}"; exit 130' INT TERM
RETRIES=5
while [[ $# -gt 0 ]]; do
  case "$1" in
    --retries)
      if ! [[ "$2" =~ ^[0-9]+$ ]]; then exit 1; fi
      RETRIES="$2"; shift 2 ;;
    *) echo "unknown"; exit 1 ;;
  esac
done
CONN=()
if [[ -n "${KUBE_CONTEXT:-}" ]]; then CONN+=(--context "${KUBE_CONTEXT}"); fi
function _header() { local dir; printf -v dir '%q' "$2"; printf '%s\n' "${dir}"; }
function cleanup() {
  local names
  names=$(kubectl ${CONN[@]+"${CONN[@]}"} get jobs -n "$1" || true)
  while IFS= read -r name; do
    [[ -z "${name}" ]] && continue
    kubectl ${CONN[@]+"${CONN[@]}"} delete job "${name}" -n "$1" || true
  done <<< "${names}"
}
function untaint() {
  local -a keys=("a" "b")
  for key in "${keys[@]}"; do
    while IFS=$'\t' read -r node rest; do kubectl taint node "${node}" "${key}-" || true; done < <(kubectl get nodes | awk '{print $1}')
  done
}
failed=false
untaint
if command -v jq &>/dev/null; then failed=false; fi
if [[ "${failed}" == "true" ]]; then exit 1; fi
cd "${WORK}"
STEP=0
for dir in "${SCRIPT_DIR}"/[0-9][0-9][0-9]-*/; do
  [[ -d "${dir}" ]] || continue
  dir="${dir%/}"
  base="${dir##*/}"
  name="${base#[0-9][0-9][0-9]-}"
  STEP=$((STEP+1))
  _header "${name}" "${dir}"
  case "${name}" in
    *-readiness) ARGS="--wait --timeout 90m" ;;
    *) ARGS="--wait" ;;
  esac
  export ARGS
  attempt=0
  while true; do
    if ( cd "${dir}" && bash install.sh ); then break; fi
    attempt=$((attempt + 1))
    if [[ ${attempt} -gt ${RETRIES} ]]; then exit 1; fi
    cleanup "${name}"
    sleep $(( attempt * attempt * 5 ))
  done
done
`
	for name, tc := range map[string]struct{ script, releases, besides, note, err string }{
		"as today's":        {today, "a", "", "", ""},
		"today's and more":  {today + "cd \"${SCRIPT_DIR}\"\n" + more, "a more", "", "", ""},
		"no more":           {loop + "kubectl rollout restart ds/x\nkubectl taint node x y-\n", "a", "", "", ""},
		"behind":            {loop + more, "a more", "", "", ""},
		"before":            {more + loop, "more a", "", "", ""},
		"objects":           {loop + "kubectl apply -f extra.yaml\n", "a", "deploy.sh:8 has kubectl apply", "", ""},
		"perhaps":           {loop + "if kubectl get crd x; then\n  " + more + "fi\n", "a", "", "deploy.sh:9 may install a release besides every install.sh", ""},
		"again":             {loop + "helm upgrade --install a oci://example.org/charts/a --namespace n --version 1.0.0\n", "", "", "", "deploy.sh:8: release a is installed twice: "},
		"with another flag": {loop + "helm upgrade --install more oci://example.org/charts/more --set a=b\n", "", "", "", "deploy.sh:8: helm flag --set is not understood"},
		"no shell":          {"if then\n", "a", "", "deploy.sh:1: this is not understood as a script of bash", ""},
	} {
		read := treeOf(t, map[string]string{"001-a/install.sh": "source ./upstream.env\nhelm upgrade --install a \"${CHART}\" --version 1.0.0 --namespace n\n", "001-a/upstream.env": "CHART=oci://example.org/charts/a\n", "deploy.sh": tc.script})
		f, besides, err := readHelm(read)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: got %v, want %s", name, err, tc.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var releases []string
		for _, u := range f.units() {
			releases = append(releases, u.name)
		}
		for what, c := range map[string]struct{ got, want string }{"releases": {strings.Join(releases, " "), tc.releases}, "besides": {strings.Join(besides, "\n"), tc.besides}, "notes": {strings.Join(read.notes, "\n"), tc.note}} {
			if !strings.Contains(c.got, c.want) || (c.want == "") != (c.got == "") || what == "releases" && c.got != c.want {
				t.Errorf("%s: %s: got %q, want %q", name, what, c.got, c.want)
			}
		}
	}
}

// A file that is too large, and values that are a list, are named with where they are.
func TestOpen_Places(t *testing.T) {
	d := mustDeployer(t, bundle.Helm)
	made := elsewhere(t, d, ownInput(t, "eks-training"))
	for text, want := range map[string]string{
		"- 1\n":                         "cert-manager/values.yaml:1: this is no mapping",
		strings.Repeat("#", mostFile+1): "/cert-manager/values.yaml: ",
	} {
		dir := written(t, made)
		if err := os.WriteFile(filepath.Join(dir, "cert-manager", "values.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "checksums.txt")); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(context.Background(), dir, d); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
