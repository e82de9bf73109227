package workflows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/workflow"
)

func TestMain(m *testing.M) { workers.Main(m, cli.Hidden()) }

// A persistent cluster without a stage or a scheduler that a workflow needs is refused.
func TestWorkflow_KeptCluster(t *testing.T) {
	paths := host.Paths{Root: t.TempDir()}
	dir := filepath.Join(paths.Clusters(), "lab")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"aicr-cluster.json":            `{"name": "lab", "processes": {}}`,
		"kwok.yaml":                    "kind: Stage\nmetadata: {name: pod-complete}\n",
		"kube-scheduler-profiles.yaml": "profiles: [{schedulerName: default-scheduler}, {schedulerName: kai-scheduler}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a := &app{App: &cli.App{Paths: paths, Getenv: func(string) string { return "" }}}
	for file, want := range map[string]struct {
		code reason.Reason
		text string
	}{
		"every-task.yaml": {reason.Usage, "cluster lab lacks the KWOK stages pod-container-running-failed, pod-init-container-running-failed, which the workflows need; make it with `matrix cluster up --stages"},
		"../../../../workflows/gangs/coscheduling.yaml": {reason.SchedulerMissing, "the workflows need coscheduling, and a persistent cluster has no second schedulers and no controllers"},
		"../../../../workflows/training/jobset.yaml":    {reason.SchedulerMissing, "the workflows need jobset, and"},
		"other-scheduler.yaml":                          {reason.SchedulerMissing, `"volcano", which does not run in this cluster; there are: default-scheduler, kai-scheduler`},
	} {
		flows, problems := workflow.Read([]string{filepath.Join("../../../cmd/matrix/testdata/workflows", file)})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		plan, problems := workflow.Check(flows)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if _, err := a.keptWorkflowCluster("lab", plan); reason.Of(err) != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: got %v", file, err)
		}
	}
}
