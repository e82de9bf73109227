package gate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// What a deployer waits for is named, where it only says that it waits. An object that is ready, or
// of another release, is not.
func TestNameUnready(t *testing.T) {
	ready := testkit.Parsed(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: x}}")
	claim := testkit.Parsed(t, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: x}, status: {phase: Pending}}")
	e := bundle.Expectation{Releases: []bundle.Release{{Name: "a"}, {Name: "b"}}, Objects: []bundle.Object{{Release: "a", Object: ready}, {Release: "a", Object: claim}, {Release: "b", Object: ready}}}
	env := lanetest.Env(fake.NewClientset(), e)
	env.Clients.Dynamic = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), ready, claim)
	g := New(env, &lanetest.Lane{}, lane.Budgets{}, Deadline{}, func(string) {})
	const said = "Ready is Unknown (Progressing): Running 'install' action with timeout of 5m0s"
	for _, name := range []string{"a", "b"} {
		g.State.Items = append(g.State.Items, lane.Item{ID: "HelmRelease " + name, Ref: result.Ref{Kind: "HelmRelease", Name: name}, State: lane.ItemWaiting, Text: said})
	}
	g.nameUnready(t.Context())
	if got := g.State.Items[0].Text; !strings.HasPrefix(got, said+"; it waits for PersistentVolumeClaim x/data: ") {
		t.Errorf("got %q", got)
	}
	if got := g.State.Items[1].Text; got != said {
		t.Errorf("got %q", got)
	}
}
