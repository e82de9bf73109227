package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
)

// A run that is started again has the flags of the first, in full.
func TestWatchCommandLine(t *testing.T) {
	cmd := RunCommand(&cli.App{}, &reports.CIFiles{})
	if err := cmd.ParseFlags([]string{"-d", "helm,flux-oci", "--watch", "--charts", "a", "--charts", "b", "--cluster=kind"}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(commandLine(cmd, []string{"eks"}), " ")
	for _, want := range []string{"--deployer=helm --deployer=flux-oci", "--charts=a --charts=b", "--platform=kind", " -- eks"} {
		if !strings.Contains(" "+got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "watch") {
		t.Errorf("%q watches again", got)
	}
}

// What a run uses is the named recipes' own files and charts: others change without it.
func TestWatchedFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "recipes"), os.DirFS(filepath.Join(repository, "recipes"))); err != nil {
		t.Fatal(err)
	}
	a := &app{App: &cli.App{Getenv: func(string) string { return "" }}}
	w := watched{app: a, args: []string{"eks-training"}}
	w.flags.recipes.Recipes = filepath.Join(dir, "recipes")
	before := w.state()
	edit := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, "recipes", name)
		old, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(old, text...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	edit("overlays/gke-cos-training.yaml", "# another recipe's\n")
	if w.state() != before {
		t.Error("another recipe's overlay counts")
	}
	for _, name := range []string{"overlays/eks-training.yaml", "components/nodewright-customizations/manifests/tuning.yaml", "registry.yaml"} {
		edit(name, "# changed\n")
		if now := w.state(); now == before {
			t.Errorf("%s does not count", name)
		} else {
			before = now
		}
	}
	edit("overlays/eks-training.yaml", "  broken: [\n")
	if w.state() == before {
		t.Error("a mistake does not count")
	}
}
