// Command manifestgen writes kwok/manifests: the upstream manifests that `matrix run --platform
// kind` applies, out of the modules that kwok/stack/go.mod names, so that a run downloads none and
// their versions are those of the stack. Run it with `make update-manifests`.
//
// What the harness sets is not done here: package internal/infra/kind changes the objects when it
// applies them.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manifestgen STACK OUTPUT: the directory of the stack's go.mod, and the one to write")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "manifestgen:", err)
		os.Exit(1)
	}
}

// module is what `go list -m -json` says of one.
type module struct{ Path, Version, Dir string }

// source is a module and what is taken from it.
type source struct {
	module string
	render func(m module) ([]byte, error)
}

// file is one that is written.
type file struct {
	name    string
	sources []source
}

func files() []file {
	return []file{
		{"argocd.yaml", []source{{"github.com/argoproj/argo-cd/v3", argocd(func(name string) bool { return !unused.MatchString(name) && !strings.HasPrefix(name, applicationSets) })}}},
		{"argocd-applicationset.yaml", []source{{"github.com/argoproj/argo-cd/v3", argocd(func(name string) bool { return strings.HasPrefix(name, applicationSets) })}}},
		{"flux.yaml", []source{
			{"github.com/fluxcd/source-controller", flux("source-controller", "../config/rbac")},
			{"github.com/fluxcd/kustomize-controller", flux("kustomize-controller", "../config/rbac")},
			{"github.com/fluxcd/helm-controller", flux("helm-controller", "../config/rbac")},
			{"github.com/fluxcd/source-watcher/v2", flux("source-watcher", "../config/default/rbac.yaml")}, // its config/rbac names no subjects of its own
		}},
		{"kwok.yaml", []source{{"sigs.k8s.io/kwok", kwok}}},
	}
}

func run(stack, output string) error {
	for _, f := range files() {
		var out bytes.Buffer
		out.WriteString("# Made by `make update-manifests`; do not edit. Third-party manifests, under the licences of their projects, from these Go modules:\n")
		var bodies [][]byte
		for _, s := range f.sources {
			m, err := find(stack, s.module)
			if err != nil {
				return err
			}
			body, err := s.render(m)
			if err != nil {
				return fmt.Errorf("%s from %s %s: %w", f.name, m.Path, m.Version, err)
			}
			fmt.Fprintf(&out, "# %s %s\n", m.Path, m.Version)
			bodies = append(bodies, bytes.TrimSpace(body))
		}
		for _, body := range bodies {
			out.WriteString("---\n")
			out.Write(body)
			out.WriteString("\n")
		}
		if err := os.WriteFile(filepath.Join(output, f.name), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// find asks the go command where the module of the stack is; it downloads one that is not in the
// module cache.
func find(stack, path string) (module, error) {
	cmd := exec.Command("go", "mod", "download", "-json", path)
	cmd.Dir = stack
	out, err := cmd.Output()
	var m module
	if err == nil {
		err = json.Unmarshal(out, &m)
	}
	if err == nil && m.Dir == "" {
		err = errors.New("the go command names no directory")
	}
	if err != nil {
		return m, fmt.Errorf("find %s with the go command in %s: %w", path, stack, err)
	}
	return m, nil
}

// unused are the parts of Argo CD that no lane needs: the web server, logins and notifications.
var unused = regexp.MustCompile(`^argocd-(server|dex-server|notifications)`)

// applicationSets is the prefix of the names of that controller's objects. Its CRD has another
// name, and stays with the others.
const applicationSets = "argocd-applicationset-controller"

// argocd takes the objects of Argo CD's install manifest for whose names wanted returns true.
func argocd(wanted func(name string) bool) func(m module) ([]byte, error) {
	return func(m module) ([]byte, error) {
		raw, err := os.ReadFile(filepath.Join(m.Dir, "manifests", "install.yaml"))
		if err != nil {
			return nil, err
		}
		var kept []string
		for doc := range strings.SplitSeq(string(raw), "\n---\n") {
			var head struct {
				Kind     string
				Metadata struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
				return nil, err
			}
			if head.Kind != "" && wanted(head.Metadata.Name) {
				kept = append(kept, strings.TrimSpace(doc))
			}
		}
		return []byte(strings.Join(kept, "\n---\n")), nil
	}
}

// flux builds the controller's own config/ as Flux's installer does: in one namespace, with images
// of its registry.
func flux(name, rbac string) func(m module) ([]byte, error) {
	return func(m module) ([]byte, error) {
		return build(filepath.Join(m.Dir, "config"), "config", map[string]any{
			"namespace": "flux-system",
			"resources": []string{"../config/crd", rbac, "../config/manager"},
			"images":    []any{map[string]any{"name": "fluxcd/" + name, "newName": "ghcr.io/fluxcd/" + name, "newTag": m.Version}},
		})
	}
}

func kwok(m module) ([]byte, error) {
	return build(filepath.Join(m.Dir, "kustomize"), "kustomize", map[string]any{
		"namespace": "aicr-kwok",
		"resources": []string{"../kustomize/rbac/service_account.yaml", "../kustomize/rbac/role.yaml", "../kustomize/rbac/role_binding.yaml", "../kustomize/kwok/deployment.yaml"},
		"images":    []any{map[string]any{"name": "registry.k8s.io/kwok/kwok", "newTag": m.Version}},
		"labels":    []any{map[string]any{"includeSelectors": true, "pairs": map[string]any{"app": "kwok-controller"}}},
	})
}

// build runs Kustomize in memory over a copy of dir, which is called name there.
func build(dir, name string, kustomization map[string]any) ([]byte, error) {
	memory := filesys.MakeFsInMemory()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return memory.WriteFile("/"+name+"/"+filepath.ToSlash(rel), raw)
	})
	if err != nil {
		return nil, err
	}
	raw, err := yaml.Marshal(kustomization)
	if err != nil {
		return nil, err
	}
	if err := memory.WriteFile("/build/kustomization.yaml", raw); err != nil {
		return nil, err
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone // source-watcher's roles are a file beside a kustomization that names addresses
	resources, err := krusty.MakeKustomizer(options).Run(memory, "/build")
	if err != nil {
		return nil, err
	}
	return resources.AsYaml()
}
