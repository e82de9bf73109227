package embedded

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/consts"
	kwokruntime "sigs.k8s.io/kwok/pkg/kwokctl/runtime"

	"github.com/nvidia/aicr-action/internal/infra/host"
)

// KWOK does more at a time in a large cluster, by what its own reader makes of its file, and renews
// leases less often than it would.
func TestControllersBySize(t *testing.T) {
	t.Setenv("GOGC", "")
	leases := map[int]string{0: "40", 6: "40", largeFrom - 1: "40", largeFrom: "80", 1000: "400"}
	graces := map[int]string{0: "40s", 6: "40s", largeFrom - 1: "40s", largeFrom: "1m20s", 1000: "6m40s"}
	for nodes, large := range map[int]bool{0: false, 6: false, largeFrom - 1: false, largeFrom: true, 1000: true} {
		c, _ := fakeCluster(t, host.Paths{Root: t.TempDir()}, "x", nil)
		c.nodes, c.stages = nodes, []byte("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata:\n  name: extra\nspec:\n  resourceRef:\n    apiGroup: v1\n    kind: Pod\n")
		if err := c.install(t.Context()); err != nil {
			t.Fatal(err)
		}
		objs, err := kwokconfig.Load(t.Context(), filepath.Join(c.dir, kwokruntime.ConfigName))
		if err != nil {
			t.Fatal(err)
		}
		var got internalversion.KwokConfigurationOptions
		for _, conf := range kwokconfig.FilterWithType[*internalversion.KwokConfiguration](objs) {
			got = conf.Options
		}
		var pods, all uint // KWOK's own defaults
		if large {
			pods, all = podStages, nodeStages
		}
		if !large && got.PodPlayStageParallelism != 0 || large && (got.PodPlayStageParallelism != pods || got.NodePlayStageParallelism != all || got.NodeLeaseParallelism != all) {
			t.Errorf("%d nodes: got %d, %d and %d at a time, want %d, %d and %d", nodes, got.PodPlayStageParallelism, got.NodePlayStageParallelism, got.NodeLeaseParallelism, pods, all, all)
		}
		if names, err := StageNames(c.dir); err != nil || !slices.Contains(names, "extra") {
			t.Errorf("%d nodes: got stages %q, %v; want extra among them", nodes, names, err)
		}
		for _, plain := range []bool{false, true} {
			c.plain = plain
			if got := slices.Contains(c.environment(consts.ComponentKubeControllerManager, nil), jobBatches); got != (!large && !plain) {
				t.Errorf("%d nodes, --plain-controllers %t: Jobs in short batches: %t", nodes, plain, got)
			}
		}
		for component, keeps := range map[string]bool{consts.ComponentKubeControllerManager: true, consts.ComponentKubeScheduler: true, consts.ComponentEtcd: false, consts.ComponentKubeApiserver: false} {
			if got := slices.Contains(c.environment(component, nil), largeGOGC); got != (large && keeps) {
				t.Errorf("%d nodes: %s has %s: %t", nodes, component, largeGOGC, got)
			}
		}
		t.Setenv("GOGC", "50")
		if slices.Contains(c.environment(consts.ComponentKubeScheduler, nil), largeGOGC) {
			t.Errorf("%d nodes: a value of the user's own is not kept", nodes)
		}
		t.Setenv("GOGC", "")
		manager, err := c.rt.GetComponent(t.Context(), consts.ComponentKubeControllerManager)
		if err != nil {
			t.Fatal(err)
		}
		kwok, err := c.rt.GetComponent(t.Context(), consts.ComponentKwokController)
		if err != nil {
			t.Fatal(err)
		}
		for _, arg := range []string{"--concurrent-daemonset-syncs=1", "--endpoint-updates-batch-period=2s", "--endpointslice-updates-batch-period=2s"} {
			if slices.Contains(manager.Args, arg) != large {
				t.Errorf("%d nodes: the controller manager has %q, where %s is for large clusters alone", nodes, manager.Args, arg)
			}
		}
		if lease := leases[nodes]; !slices.Contains(kwok.Args, "--node-lease-duration-seconds="+lease) || !slices.Contains(manager.Args, "--node-monitor-grace-period="+graces[nodes]) {
			t.Errorf("%d nodes: want leases of %s s and a grace of %s; KWOK has %q, the controller manager %q", nodes, lease, graces[nodes], kwok.Args, manager.Args)
		}
	}
}

// The API server's heap grows with the cluster, as far as half of the free memory goes; a limit of
// the user's own stays.
func TestHeapLimit(t *testing.T) {
	const gib = uint64(1) << 30
	for _, c := range []struct {
		nodes int
		free  uint64
		own   string
		want  []string
	}{
		{nodes: 6, free: 20 * gib},
		{nodes: largeFrom - 1, free: 20 * gib},
		{nodes: 1000, free: 20 * gib, want: []string{"GOMEMLIMIT=2900MiB"}},
		{nodes: 1000, free: 5 * gib, want: []string{"GOMEMLIMIT=2560MiB"}},
		{nodes: 5000, free: 20 * gib, want: []string{"GOMEMLIMIT=8100MiB"}},
		{nodes: 5000, free: 12 * gib, want: []string{"GOMEMLIMIT=6144MiB"}},
		{nodes: 1000, free: 3 * gib},
		{nodes: 1000, free: 0},
		{nodes: 1000, free: 20 * gib, own: "1GiB"},
	} {
		if got := (&ControlPlane{nodes: c.nodes}).heapLimit(func() (uint64, error) { return c.free, nil }, c.own); !slices.Equal(got, c.want) {
			t.Errorf("%d nodes, %d free, own %q: got %q, want %q", c.nodes, c.free, c.own, got, c.want)
		}
	}
	unknown := func() (uint64, error) { return 0, errors.New("there is no /proc") }
	if got := (&ControlPlane{nodes: 1000}).heapLimit(unknown, ""); got != nil {
		t.Errorf("memory that is not known: got %q", got)
	}
}
