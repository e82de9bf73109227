package foreign

import (
	"context"
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
