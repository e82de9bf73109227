package matrix

import (
	"io"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

func TestEveryDeployerHasALane(t *testing.T) {
	var names []string
	for _, d := range bundle.Deployers() {
		lane := NewLane(d)
		if lane == nil {
			t.Errorf("deployer %s has no lane", d.Name())
			continue
		}
		if lane.Deployer().Name() != d.Name() {
			t.Errorf("the lane of %s deploys with %s", d.Name(), lane.Deployer().Name())
		}
		if second := NewLane(d); second == lane {
			t.Errorf("%s: two cells would share one lane", d.Name())
		}
		names = append(names, d.Name())
	}
	for _, row := range laneTable() {
		if !slices.Contains(names, row.Name) {
			t.Errorf("lane %s has no deployer", row.Name)
		}
	}
	if len(laneTable()) != len(names) {
		t.Errorf("%d lanes for %d deployers", len(laneTable()), len(names))
	}
}

// Only GitOps lanes have a sync deadline, a root object to wait for, and SYNC_TIMEOUT. A lane
// without controllers of its own is none.
func TestLaneBudgets(t *testing.T) {
	b := lane.Budgets{GitOps: map[infra.ControllerKind]lane.GitOpsBudget{infra.ArgoCDControllers: {Sync: 1, RootGrace: 2}, infra.FluxControllers: {Sync: 3, RootGrace: 4}}, Scheduling: 5}
	want := map[string]struct {
		grace, sync time.Duration
		timeout     reason.Reason
	}{
		bundle.ArgoCDOCI:     {2, 1, reason.SyncTimeout},
		bundle.ArgoCDHelmOCI: {2, 1, reason.SyncTimeout},
		bundle.ArgoCDAppSet:  {2, 1, reason.SyncTimeout},
		bundle.ArgoCDGit:     {2, 1, reason.SyncTimeout},
		bundle.FluxOCI:       {4, 3, reason.SyncTimeout},
		bundle.FluxGit:       {4, 3, reason.SyncTimeout},
		// It waits for the pods of one release after another, and syncs nothing.
		bundle.Helmfile: {0, 5 + 5*time.Minute, reason.SchedulingFailed},
	}
	for _, d := range bundle.Deployers() {
		lane := NewLane(d)
		grace, sync := lane.Budget(b)
		w, ok := want[d.Name()]
		if ok != (len(lane.Controllers()) > 0) {
			t.Errorf("%s: controllers %v, and in a row of this test: %v", d.Name(), lane.Controllers(), ok)
		}
		if !ok {
			w.sync, w.timeout = 5, reason.SchedulingFailed
		}
		if grace != w.grace || sync != w.sync || lane.TimeoutReason() != w.timeout {
			t.Errorf("%s: got grace %d, sync %d, %s; want %d, %d, %s", d.Name(), grace, sync, lane.TimeoutReason(), w.grace, w.sync, w.timeout)
		}
	}
}

func TestControllersFor(t *testing.T) {
	var all []Plan
	want := map[string][]infra.ControllerKind{
		bundle.ArgoCDOCI: {infra.ArgoCDControllers}, bundle.ArgoCDHelmOCI: {infra.ArgoCDControllers}, bundle.FluxOCI: {infra.FluxControllers},
		bundle.ArgoCDAppSet: {infra.ArgoCDControllers, infra.ApplicationSetControllers}, bundle.ArgoCDGit: {infra.ArgoCDControllers}, bundle.FluxGit: {infra.FluxControllers},
		bundle.Helmfile: {infra.HelmfileProgram},
	}
	for _, d := range bundle.Deployers() {
		p := Plan{Deployer: d}
		all = append(all, p)
		if got := ControllersFor([]Plan{p}); !slices.Equal(got, want[d.Name()]) {
			t.Errorf("%s: got %q, want %q", d.Name(), got, want[d.Name()])
		}
	}
	if got := ControllersFor(all); !slices.Equal(got, []infra.ControllerKind{infra.ArgoCDControllers, infra.FluxControllers, infra.HelmfileProgram, infra.ApplicationSetControllers}) {
		t.Errorf("all lanes: got %q, want each kind once", got)
	}
}

// A cell of helmfile needs Helm 4 where its bundle, or the one before an upgrade, is for that, and no other cell does.
func TestPlan_Needs(t *testing.T) {
	helm4 := bundle.Input{Helm: 4}
	for name, c := range map[string]struct {
		deployer string
		plan     Plan
		want     bool
	}{
		"helmfile":                  {bundle.Helmfile, Plan{}, false},
		"helmfile, Helm 4":          {bundle.Helmfile, Plan{input: helm4}, true},
		"helmfile, Helm 4 before":   {bundle.Helmfile, Plan{base: &base{input: helm4}}, true},
		"helm, Helm 4 in a process": {bundle.Helm, Plan{input: helm4}, false},
		"Argo CD":                   {bundle.ArgoCDOCI, Plan{input: helm4}, false},
	} {
		c.plan.Deployer = deployers(t, c.deployer)[0]
		if got := slices.Contains(ControllersFor([]Plan{c.plan}), infra.Helm4Program); got != c.want {
			t.Errorf("%s: needs the program of Helm 4: %t", name, got)
		}
	}
}

// A release that cannot be installed is a failure at once, and those after it wait for it; none is
// tried.
func TestHelmLane_FirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		install := func(name string) bundle.Install {
			return bundle.Install{Release: bundle.Release{Name: name, Namespace: "ns", Chart: name, ChartVersion: "1.0.0"}, Chart: &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: "1.0.0"}}}
		}
		env := &lane.Env{
			Cluster: lanetest.Cluster{Dir: t.TempDir()}, Clients: &infra.Clients{Config: &rest.Config{Host: "http://127.0.0.1:1"}}, Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Bundle: &bundle.Bundle{Installs: []bundle.Install{install("one"), install("two")}},
		}
		lane := NewLane(bundle.Deployers()[0])
		if err := lane.Deploy(t.Context(), env); err != nil {
			t.Fatalf("deploy: %v", err)
		}
		synctest.Wait()
		state, err := lane.Poll(t.Context(), env)
		if err != nil || !state.RootSeen {
			t.Fatalf("look: got %+v, %v; want a state with a root", state, err)
		}
		testkit.WantEach(t, "items", lanetest.ItemStates(state), []string{"one failed", "two blocked"})
		testkit.WantText(t, "cause", state.Items[0].Text, "install chart one 1.0.0", "no-kubeconfig.yaml")
		lane.Stop()
	})
}

// deafLane never stops.
type deafLane struct {
	lane.Lane
	stop chan struct{}
}

func (l deafLane) Stop()                     { <-l.stop }
func (l deafLane) Deployer() bundle.Deployer { return bundle.Deployers()[0] }

// The end of a cell does not wait for a lane for ever.
func TestLane_StopHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := deafLane{stop: make(chan struct{})}
		began := time.Now()
		err := stopped(l, laneStop)
		if reason.Of(err) != reason.Internal || time.Since(began) != laneStop {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		close(l.stop)
		if err := stopped(l, laneStop); err != nil {
			t.Errorf("one that stops: got %v", err)
		}
	})
}

// The order of each lane decides which of its workloads could never start (faults F90).
func TestLanes_Order(t *testing.T) {
	env := func(file string) *lane.Env {
		return &lane.Env{Bundle: &bundle.Bundle{Files: []bundle.File{{Path: "release.yaml", Content: []byte(file)}}}}
	}
	argocd, flux := lane.Order{ArgoCD: true, Heals: true, Ready: true}, lane.Order{Flux: true, Ready: true, Releases: true, Within: 5 * time.Minute}
	want := map[string]lane.Order{
		bundle.Helm: {InOrder: true, Uninstalls: true}, bundle.Helm4: {InOrder: true, Uninstalls: true}, bundle.HelmTemplate: {AtOnce: true}, bundle.Helmfile: {Ready: true, Needs: true, Uninstalls: true},
		bundle.ArgoCDOCI: argocd, bundle.ArgoCDHelmOCI: argocd, bundle.ArgoCDGit: argocd, bundle.ArgoCDAppSet: {ArgoCD: true, Ready: true, Releases: true},
		bundle.FluxOCI: flux, bundle.FluxGit: flux,
	}
	for _, d := range bundle.Deployers() {
		order, known := want[d.Name()]
		if got := NewLane(d).Order(env("kind: HelmRelease")); !known || got != order {
			t.Errorf("%s: got %+v, want %+v", d.Name(), got, order)
		}
		if got := NewLane(d).Order(env("spec: {install: {\ndisableWait: true}}")); got != order {
			t.Errorf("%s, if one release is not waited for: got %+v, want %+v", d.Name(), got, order)
		}
	}
}
