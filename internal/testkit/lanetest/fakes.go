// Package lanetest has a lane and a cluster for tests that need no control plane. Only tests import
// it.
package lanetest

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var _ infra.Cluster = Cluster{}

// ViewOf is one poll of a cluster that has these objects.
func ViewOf(t *testing.T, objs ...runtime.Object) *observe.View {
	t.Helper()
	s, err := observe.Poll(t.Context(), fake.NewClientset(objs...))
	if err != nil {
		t.Fatalf("read a cluster of %d objects: %v", len(objs), err)
	}
	return s
}

// Lane is a lane whose state depends on the time since the first poll.
type Lane struct {
	Grace, Sync time.Duration
	Timeout     reason.Reason
	Says        func(since time.Duration) (lane.State, error)

	first time.Time
}

var _ lane.Lane = (*Lane)(nil)

func (l *Lane) Publish(context.Context, *lane.Env) ([]publish.Published, error) { return nil, nil }

func (l *Lane) Deployer() bundle.Deployer { return bundle.Deployers()[0] }

func (l *Lane) Controllers() []infra.ControllerKind { return nil }

// Again of a lane.Lane.
func (l *Lane) Again(context.Context, *lane.Env, time.Duration) error { return nil }

// Remove of a lane.Lane.
func (l *Lane) Remove(context.Context, *lane.Env, time.Duration) error { return nil }

// Unchanged of a lane.Lane.
func (l *Lane) Unchanged(context.Context) error { return nil }

func (l *Lane) Artifacts() lane.Artifacts { return lane.Artifacts{} }

func (l *Lane) Install(context.Context, *lane.Env) error { return nil }

func (l *Lane) Deploy(context.Context, *lane.Env) error { return nil }

func (l *Lane) Order(*lane.Env) lane.Order { return lane.Order{} }

func (l *Lane) TimeoutReason() reason.Reason { return l.Timeout }

func (l *Lane) Stop() {}

func (l *Lane) Budget(lane.Budgets) (_, _ time.Duration) { return l.Grace, l.Sync }

func (l *Lane) ReadBack(context.Context, *lane.Env) (lane.Record, error) {
	return lane.Record{}, nil
}

func (l *Lane) Poll(context.Context, *lane.Env) (lane.State, error) {
	if l.first.IsZero() {
		l.first = time.Now()
	}
	return l.Says(time.Since(l.first))
}

// Cluster has a name, a kubeconfig that is not there, and the logs in a directory.
type Cluster struct{ Dir string }

func (Cluster) Name() string { return "fake" }

func (Cluster) Up(context.Context) error { return errors.New("not a real cluster") }

func (c Cluster) Kubeconfig() string { return c.Dir + "/no-kubeconfig.yaml" }

func (Cluster) Clients() *infra.Clients { return nil }

func (Cluster) Registry() infra.Registry { return nil }

func (Cluster) StandIns() []string { return nil }

func (Cluster) PlaySchedulers([]string)    {}
func (Cluster) Complaints(string) []string { return nil }
func (Cluster) RunOperators(context.Context, []bundle.Object) (infra.Operators, error) {
	return infra.Operators{}, nil
}

func (Cluster) Runs(*corev1.Container) bool { return false }

func (Cluster) StartJobControllers(context.Context, string, []string) (*infra.JobControllers, error) {
	return nil, errors.New("not a real cluster")
}

func (Cluster) Sandbox() []string { return nil }

func (Cluster) Proxies(infra.ControllerKind) []string { return nil }

func (Cluster) Processes() []result.ProcessUse { return nil }

func (Cluster) Down(context.Context) error { return nil }

func (Cluster) Controllers(infra.ControllerKind, infra.ControllerOptions) (infra.Controllers, error) {
	return nil, errors.New("not a real cluster")
}

func (Cluster) Died() <-chan *infra.DeathError { return nil }

func (Cluster) Keep(context.Context, map[string][]byte) error { return nil }

func (c Cluster) Tail(_ context.Context, component string, lines int) ([]byte, error) {
	return infra.LastLines(filepath.Join(c.Dir, component+".log"), lines)
}

func (c Cluster) CollectLogs(ctx context.Context, dir string) error {
	files, _ := filepath.Glob(filepath.Join(c.Dir, "*.log"))
	logs := map[string]string{}
	for _, f := range files {
		logs[filepath.Base(f)] = f
	}
	return infra.CopyLogs(ctx, dir, logs)
}

func (Cluster) Snapshot(context.Context, string, clusterstate.About) error {
	return errors.New("not a real cluster")
}

// Env is an Env whose cluster has these objects and no others.
func Env(kube *fake.Clientset, e bundle.Expectation) *lane.Env {
	return &lane.Env{
		Cell: result.Cell{Recipe: "demo", Deployer: "fake"}, Cluster: Cluster{}, Bundle: &bundle.Bundle{Expectation: e},
		// Where nothing listens; a test that gets so far as to ask says so in its error.
		Clients: &infra.Clients{Kube: kube, Discovery: kube.Discovery(), Config: &rest.Config{Host: "http://127.0.0.1:1"}},
	}
}

// StateName is the name of a state.
func StateName(s lane.ItemState) string { return s.String() }

// ItemStates lists items as "name state".
func ItemStates(state lane.State) []string {
	var all []string
	for _, it := range state.Items {
		_, name, _ := strings.Cut(it.ID, " ")
		all = append(all, name+" "+StateName(it.State))
	}
	return all
}
