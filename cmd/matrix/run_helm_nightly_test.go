//go:build nightly

package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The same inputs with both versions of Helm: what one overwrites or leaves alone is a conflict of the other. Where the
// two are compared, they make the same of a recipe.
func TestNightlyHelm(t *testing.T) {
	for name, tc := range map[string]struct {
		args string // DIR is that of testdata
		code int
		want []string
	}{
		"an autoscaler's replicas, Helm 3":           {"--app DIR/after --from DIR/before --helm 3", 0, []string{"2 passed"}},
		"a definition that exists, Helm 3":           {"--app DIR/crds --with DIR/widgets.yaml --helm 3", 0, []string{"1 passed"}},
		"a definition that exists, Helm 4":           {"--app DIR/crds --with DIR/widgets.yaml --helm 4", 51, []string{"failed to install CRD crds/widgets.yaml: conflict"}},
		"both, and they differ in nothing":           {"eks-training --deployer helm --helm 3,4 --drift --remove", 0, []string{"helm-4 produced the same 232 objects as helm", "2 passed"}},
		"an autoscaler's replicas, helmfile, Helm 3": {"--app DIR/helmfile-after --from DIR/helmfile-before --deployer helmfile --helm 3", 0, []string{"helm: helmfile runs Helm v3.", "2 passed"}},
		"an autoscaler's replicas, helmfile, Helm 4": {"--app DIR/helmfile-after --from DIR/helmfile-before --deployer helmfile --helm 4", 73,
			[]string{`"kube-controller-manager" with subresource "scale" has changed spec.replicas since`, "--deployer helmfile --helm 4", "helm: helmfile runs Helm v4."}},
		"a definition that exists, helmfile, Helm 3": {"--app DIR/helmfile-crds --with DIR/widgets.yaml --deployer helmfile --helm 3", 0, []string{"1 passed"}},
		"a definition that exists, helmfile, Helm 4": {"--app DIR/helmfile-crds --with DIR/widgets.yaml --deployer helmfile --helm 4", 51, []string{"failed to install CRD crds/widgets.yaml: conflict"}},
		"helmfile's own, and both differ in nothing": {"eks-training --deployer helm,helmfile --helm 4", 0, []string{"helmfile produced the same", "2 passed"}},
		"conflicts forced, and told of": {"scaled --bundle-dir DIR/forced-after --deployer helm --service eks --from DIR/forced-before --charts simulated", 0,
			[]string{"Helm 4 takes over, by --force-conflicts, .spec.replicas of", "scripts pass --force-conflicts", "2 passed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths, _ := needStack(t)
			dir := helm4(t)
			for _, of := range []string{"before", "after"} {
				forced(t, filepath.Join(dir, of), filepath.Join(dir, "forced-"+of))
			}
			for _, of := range []string{"before", "after", "crds"} {
				byHelmfile(t, dir, of)
			}
			newProgram(t, buildProgram(t), paths).run(t, 10*time.Minute, nil, append([]string{"run"}, strings.Fields(strings.ReplaceAll(tc.args, "DIR", dir))...)...).want(t, tc.code, tc.want...)
		})
	}
}

// byHelmfile writes a file for helmfile that installs a chart of testdata.
func byHelmfile(t *testing.T, dir, chart string) {
	t.Helper()
	to := filepath.Join(dir, "helmfile-"+chart)
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	file := fmt.Sprintf("releases:\n- {name: scaled, namespace: scaled, chart: ../%s, wait: true}\n", chart)
	if err := os.WriteFile(filepath.Join(to, "helmfile.yaml"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
}

// forced writes a bundle for Helm whose script forces conflicts, as those of AICR's CLI do.
func forced(t *testing.T, chart, to string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(to, "001-scaled", "chart"), os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	script := "#!/usr/bin/env bash\nhelm upgrade --install --force-conflicts scaled ./chart --namespace scaled --create-namespace\n"
	if err := os.WriteFile(filepath.Join(to, "001-scaled", "install.sh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var sums strings.Builder
	if err := fs.WalkDir(os.DirFS(to), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(to, name))
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "checksums.txt"), []byte(sums.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
