package aicrclitest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// inAICRsLayout gives a bundle's files as AICR's CLI lays them out: directories with a number in
// front, install.sh and upstream.env for Helm, and no name of a release where the controllers have
// one by default.
func inAICRsLayout(b *bundle.Bundle) []bundle.File {
	var files []bundle.File
	add := func(path, content string, mode uint32) {
		files = append(files, bundle.File{Path: path, Mode: mode, Content: []byte(content)})
	}
	numbered := map[string]string{} // the directory of a release
	for i, inst := range b.Installs {
		numbered[inst.Release.Name] = fmt.Sprintf("%03d-%s", i+1, inst.Release.Name)
	}
	for _, f := range b.Files {
		dir, rest, _ := strings.Cut(f.Path, "/")
		switch to := numbered[dir]; {
		case f.Path == "checksums.txt" || f.Path == "deploy.sh" || f.Path == "flux-root.yaml" || strings.HasSuffix(f.Path, "README.md") || f.Path == "recipe.yaml" && b.Deployer != bundle.Helm:
		case b.Deployer == bundle.Helm && to != "" || (b.Deployer == bundle.ArgoCDOCI || b.Deployer == bundle.ArgoCDGit) && to != "":
			content := string(f.Content)
			if rest == "application.yaml" {
				content = strings.ReplaceAll(content, "path: "+dir+"/chart", "path: "+to)
				content = strings.ReplaceAll(content, "$values/"+dir+"/", "$values/"+to+"/")
				content = strings.ReplaceAll(content, "      releaseName: "+dir+"\n", "")
				content = strings.ReplaceAll(content, "    helm:\n    path:", "    path:")
			}
			add(to+"/"+strings.TrimPrefix(rest, "chart/"), content, f.Mode)
		case strings.HasSuffix(f.Path, "/helmrelease.yaml"):
			var kept []string
			for _, line := range strings.Split(string(f.Content), "\n") {
				if !strings.HasPrefix(line, "  releaseName:") && !strings.HasPrefix(line, "  storageNamespace:") {
					kept = append(kept, line)
				}
			}
			add(f.Path, strings.Join(kept, "\n"), f.Mode)
		default:
			files = append(files, f)
		}
	}
	if b.Deployer == bundle.Helm {
		add("deploy.sh", "#!/usr/bin/env bash\nset -euo pipefail\nfor dir in [0-9][0-9][0-9]-*/; do bash \"${dir}install.sh\"; done\n", 0o755)
		for _, inst := range b.Installs {
			installScript(inst, numbered[inst.Release.Name], add)
		}
	}
	var sums strings.Builder
	for _, f := range files {
		_, _ = fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.Content), f.Path) // a builder does not fail
	}
	add("checksums.txt", sums.String(), 0o644)
	return files
}

// connection is how AICR's scripts find out which cluster they are for, since v1.0.
const connection = `HELM_CONN=()
named() {
  kubeconfig="$1"
  shift
  HELM_CONN+=("$@")
}
if [[ -n "${KUBECONFIG_FLAG:-}" ]]; then
  argv=(${KUBECONFIG_FLAG})
  i=0
  while (( i < ${#argv[@]} )); do
    case "${argv[i]}" in
      --kubeconfig) named "${argv[i+1]}" --kubeconfig "${argv[i+1]}"; i=$(( i + 2 )) ;;
      *) echo "unknown option" >&2; exit 1 ;;
    esac
  done
  unset KUBECONFIG_FLAG
fi
if [[ -n "${KUBE_CONTEXT:-}" ]]; then
  HELM_CONN+=(--kube-context "${KUBE_CONTEXT}")
fi
HELM_MAJOR=$(helm version --template '{{.Version}}' 2>/dev/null | sed -nE 's/^v([0-9]+)\..*/\1/p')
FORCE_CONFLICTS_FLAG=""
if [[ "${HELM_MAJOR:-0}" -ge 4 ]]; then
  FORCE_CONFLICTS_FLAG="--force-conflicts"
fi
`

// pulled is the chart that the script for CRDs has pulled, if it has.
const pulled = `CHART_REF="${CHART}"
CHART_VERSION_ARGS=(--version "${VERSION}")
if [[ -z "${DRY_RUN_FLAG:-}" && -f "${SCRIPT_DIR}/.aicr-chart.tgz" ]]; then
  CHART_REF="${SCRIPT_DIR}/.aicr-chart.tgz"
  CHART_VERSION_ARGS=()
  REPO=""
fi
`

func installScript(inst bundle.Install, dir string, add func(path, content string, mode uint32)) {
	r := inst.Release
	source, chart, version := "", "./", ""
	if !r.Local {
		source, chart, version = pulled, `"${CHART_REF}"`, "${REPO:+--repo \"${REPO}\"} \"${CHART_VERSION_ARGS[@]}\" \\\n  "
		add(dir+"/upstream.env", fmt.Sprintf("CHART=%s\nREPO=%s\nVERSION=%s\n", inst.Ref, inst.RepoURL, r.ChartVersion), 0o644)
	}
	add(dir+"/cluster-values.yaml", "{}\n", 0o644)
	add(dir+"/install.sh", "#!/usr/bin/env bash\nset -euo pipefail\nSCRIPT_DIR=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\ncd \"${SCRIPT_DIR}\"\n"+
		map[bool]string{false: "source ./upstream.env\n"}[r.Local]+connection+source+
		"helm upgrade --install ${FORCE_CONFLICTS_FLAG} '"+r.Name+"' "+chart+" \\\n  "+version+
		"--namespace '"+r.Namespace+"' --create-namespace \\\n  -f values.yaml -f cluster-values.yaml \\\n  ${COMPONENT_WAIT_ARGS:-} ${DRY_RUN_FLAG:-} ${HELM_CONN[@]+\"${HELM_CONN[@]}\"}\n", 0o755)
}

// spoil does what a variant does to the files that it has written.
func (d double) spoil(out string) error {
	switch d.variant {
	case Linking:
		return os.Symlink("/etc/passwd", filepath.Join(out, "notes.txt"))
	case Curious:
		return os.WriteFile(filepath.Join(out, "environment.txt"), []byte(strings.Join(os.Environ(), "\n")), 0o644)
	case Leaving:
		for name, change := range map[string][2]string{
			"kustomization.yaml":          {"resources:\n", "resources:\n- ../../../etc/passwd\n"},
			"001-cert-manager/install.sh": {"-f values.yaml", "-f ../../../etc/passwd"},
		} {
			path := filepath.Join(out, filepath.FromSlash(name))
			text, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o644); err != nil {
				return err
			}
		}
		return os.Remove(filepath.Join(out, "checksums.txt"))
	}
	return nil
}

// hang starts a program that does not end, and waits for it. Its process ID is in the file child.
func hang() error {
	fmt.Println("working on it")
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		return err
	}
	if err := os.WriteFile("child", fmt.Appendln(nil, child.Process.Pid), 0o644); err != nil {
		return err
	}
	return child.Wait()
}
