package embedded

import (
	"context"
	"os"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// The contract of a platform; package kind runs it, too, where there is an engine.
func TestContract(t *testing.T) {
	t.Parallel()
	infratest.Slots(t, 1)
	paths := infratest.Cache(t)
	user, err := host.DefaultPaths(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	p := &Platform{Paths: paths, Stack: infratest.Stack(t, paths), Ports: host.NewPorts(user.Ports()), Stages: infratest.Stages(t), Operators: infratest.OperatorStages(t), Registry: RegistryPort{Port: 5500}, Progress: logProgress{t}}
	infratest.Contract(t, p, "contract", func(_ context.Context, name string) error {
		state, err := FindCluster(paths, name)
		if err != nil {
			return err
		}
		return state.Remove()
	}, nil)
}
