package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
)

func TestMain(m *testing.M) { workers.Main(m, cli.Hidden()) }

// repository is this project's directory, seen from here.
const repository = "../../.."

var (
	wantText  = testkit.WantText
	wantFile  = testkit.WantFile
	git       = testkit.Git
	outputsOf = testkit.StepOutputs
)

func recipesCopy(t *testing.T) string { return testkit.RecipesCopy(t, repository) }
func fewRecipes(t *testing.T) string  { return testkit.FewRecipes(t, repository) }

// invocationResult is what a person sees of one call of a command.
type invocationResult struct {
	code           int
	stdout, stderr string
}

// invoke calls one of these commands, or of those for reports, with its own cache, only env
// ("NAME=value") as its environment, and no go command. The whole program is called in cmd/matrix.
func invoke(t *testing.T, env []string, args ...string) invocationResult {
	t.Helper()
	t.Setenv("PATH", t.TempDir())
	env = append([]string{"AICR_ACTION_CACHE=" + t.TempDir()}, env...)
	getenv := func(name string) string {
		for _, e := range env {
			if key, value, _ := strings.Cut(e, "="); key == name {
				return value
			}
		}
		return ""
	}
	var stdout, stderr strings.Builder
	a, ci := cli.New(getenv, &stdout, &stderr), reports.NewCIFiles(getenv)
	root := a.Root(&cobra.Command{Use: "matrix"}, func(*cobra.Command, string) []string { return nil }, cli.CommandGroup{ID: "all", Title: "All:", Commands: []*cobra.Command{RunCommand(a, ci), WhyRunCommand(a), reports.MergeCommand(a, ci), reports.ReportCommand(a)}})
	code := a.Execute(t.Context(), root, args, ci.End)
	return invocationResult{code, stdout.String(), stderr.String()}
}

// want fails the test unless the command exited with the code and printed every part on stderr.
func (r invocationResult) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code: got %d, want %d; stderr:\n%s", r.code, code, r.stderr)
	}
	wantText(t, "stderr", r.stderr, parts...)
	if code != 0 && r.stdout != "" {
		t.Errorf("an error must not print data on stdout; got:\n%s", r.stdout)
	}
}

// dataDirectory is a data directory with other values of a component that the recipes have.
func dataDirectory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"registry.yaml":                       "apiVersion: aicr.run/v1beta1\nkind: ComponentRegistry\ncomponents: []\n",
		"components/cert-manager/values.yaml": "replicaCount: 3\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
