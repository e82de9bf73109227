// Package helmfile has the lane of the deployer helmfile: a program of this machine, which runs helm
// for each release of a bundle and ends. It must not know how the program is started.
package helmfile

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// helmfileLane runs helmfile in the background while the gate polls.
type helmfileLane struct {
	d       bundle.Deployer
	program infra.Deliverer
	cancel  context.CancelFunc
	done    chan struct{}

	mu    sync.Mutex
	ended bool
	// wrong are the texts of failed releases, by their keys, and of helmfile itself under "".
	wrong map[string]string
}

// New returns the lane helmfile, for one cell.
func New(d bundle.Deployer) lane.Lane { return &helmfileLane{d: d} }

var _ lane.Lane = (*helmfileLane)(nil)

func (l *helmfileLane) Deployer() bundle.Deployer { return l.d }

// Controllers returns helmfile itself.
func (l *helmfileLane) Controllers() []infra.ControllerKind {
	return []infra.ControllerKind{infra.HelmfileProgram}
}

// Install finds the program. It is started by Deploy.
func (l *helmfileLane) Install(_ context.Context, env *lane.Env) error {
	controllers, err := env.Cluster.Controllers(infra.HelmfileProgram, infra.ControllerOptions{})
	if err != nil {
		return err
	}
	program, ok := controllers.(infra.Deliverer)
	if !ok {
		return reason.New(reason.Internal, "the program helmfile of this cluster does not deliver")
	}
	l.program = program
	return nil
}

// Publish does nothing: the charts are in the registry, and helmfile reads the bundle's files.
func (l *helmfileLane) Publish(context.Context, *lane.Env) ([]publish.Published, error) {
	return nil, nil
}

// Order is that of a release's hooks, and of releases: helm waits for the objects of one that has wait, before its
// later hooks, and before helmfile goes on to those that need it.
func (l *helmfileLane) Order(*lane.Env) lane.Order {
	return lane.Order{Ready: true, Needs: true, Uninstalls: true}
}

// Deploy starts helmfile in the bundle's directory. Releases that are there already are upgraded
// without a comparison, which only helm-diff could make.
func (l *helmfileLane) Deploy(ctx context.Context, env *lane.Env) error {
	if env.Before == nil {
		l.deliver(ctx, env, infra.FirstDelivery)
		return nil
	}
	l.cancel() // it has ended
	l.deliver(ctx, env, infra.SecondDelivery)
	return nil
}

func (l *helmfileLane) deliver(ctx context.Context, env *lane.Env, what infra.Delivery) {
	dir, helm := filepath.Join(env.Dir, "bundle"), env.Bundle.Helm
	l.mu.Lock()
	l.ended, l.wrong = false, nil
	l.mu.Unlock()
	ctx, l.cancel = context.WithCancel(ctx)
	l.done = make(chan struct{})
	go func() {
		defer close(l.done)
		said, err := l.program.Deliver(ctx, dir, what, helm)
		if ctx.Err() != nil {
			return
		}
		wrong := failures(said, err)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended, l.wrong = true, wrong
	}()
}

// Again is a second run of helmfile. What it says about a release that failed is the next poll's.
func (l *helmfileLane) Again(ctx context.Context, env *lane.Env, budget time.Duration) error {
	l.cancel() // it has ended
	l.deliver(ctx, env, infra.SecondDelivery)
	return l.finished(ctx, budget)
}

// Remove is `helmfile destroy`.
func (l *helmfileLane) Remove(ctx context.Context, env *lane.Env, budget time.Duration) error {
	l.cancel() // it has ended
	l.deliver(ctx, env, infra.Removal)
	if err := l.finished(ctx, budget); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, text := range l.wrong {
		return reason.New(reason.DeployFailed, "helmfile destroy: %s", strings.TrimPrefix(name+": "+text, ": "))
	}
	return nil
}

func (l *helmfileLane) finished(ctx context.Context, budget time.Duration) error {
	left := time.NewTimer(budget)
	defer left.Stop()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-left.C:
		return reason.New(l.TimeoutReason(), "helmfile did not end within %s", budget)
	}
}

// installing is the time of helmfile itself, beside that of the pods, for which it waits release by
// release. A recipe of 20 releases takes a quarter of it on two cores.
const installing = 5 * time.Minute

// Budget returns no grace, since there is no root object.
func (l *helmfileLane) Budget(b lane.Budgets) (grace, sync time.Duration) {
	return 0, b.Scheduling + installing
}

// TimeoutReason is SCHEDULING_FAILED: no controller syncs.
func (l *helmfileLane) TimeoutReason() reason.Reason { return reason.SchedulingFailed }

// Unchanged asks the program.
func (l *helmfileLane) Unchanged(ctx context.Context) error { return l.program.Unchanged(ctx) }

// Poll reads the status of each release from the labels of Helm's storage, and, once helmfile has
// ended, what it said about the one that failed.
func (l *helmfileLane) Poll(ctx context.Context, env *lane.Env) (lane.State, error) {
	l.mu.Lock()
	ended, wrong := l.ended, l.wrong
	l.mu.Unlock() // before Helm's storage is read, which is complete then
	statuses, err := statusesOf(ctx, env)
	if err != nil {
		return lane.State{}, err
	}
	return lane.State{RootSeen: true, Items: itemsOf(env.Bundle.Expectation.Releases, statuses, ended, wrong)}, nil
}

// statusesOf gives the status of the newest revision of each release, by NAMESPACE/NAME.
func statusesOf(ctx context.Context, env *lane.Env) (map[string]string, error) {
	client, err := metadata.NewForConfig(env.Clients.Config)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(infra.SecretGVR).List(ctx, metav1.ListOptions{LabelSelector: "owner=helm"})
	if err != nil {
		return nil, fmt.Errorf("list Helm's releases: %w", err)
	}
	statuses, newest := map[string]string{}, map[string]int{}
	for _, s := range list.Items {
		key := s.Namespace + "/" + s.Labels["name"]
		revision, err := strconv.Atoi(s.Labels["version"])
		if err != nil || revision < newest[key] {
			continue // not one that Helm has written
		}
		statuses[key], newest[key] = s.Labels["status"], revision
	}
	return statuses, nil
}

func itemsOf(releases []bundle.Release, statuses map[string]string, ended bool, wrong map[string]string) []lane.Item {
	var items []lane.Item
	blamed := false
	for _, r := range releases {
		item := lane.Item{ID: "Release " + r.Name, Ref: result.Ref{Kind: lane.KindRelease, Namespace: r.Namespace, Name: r.Name}, State: lane.ItemBlocked, Text: "not installed yet"}
		text, failed := wrong[r.Name]
		switch status := statuses[r.Namespace+"/"+r.InHelm()]; {
		case failed:
			item.State, item.Text = lane.ItemFailed, text
		case status == string(helmrelease.StatusDeployed):
			item.State, item.Text = lane.ItemGood, "deployed"
		case status != "":
			item.State, item.Text = lane.ItemWaiting, "is being installed: "+status
		}
		blamed = blamed || failed
		items = append(items, item)
	}
	last := len(items) - 1
	switch text := wrong[""]; {
	case last < 0 || blamed:
	case !ended && items[last].State == lane.ItemGood: // not before helmfile itself says so
		items[last].State, items[last].Text = lane.ItemWaiting, "deployed, and helmfile has not ended yet"
	case ended && text != "":
		at := slices.IndexFunc(items, func(i lane.Item) bool { return i.State != lane.ItemGood })
		if at < 0 {
			at = last
		}
		items[at].State, items[at].Text = lane.ItemFailed, text
	case ended:
		for i := range items {
			if items[i].State != lane.ItemGood {
				items[i].State, items[i].Text = lane.ItemFailed, "helmfile ended without an error and did not install it"
			}
		}
	}
	return items
}

// ReadBack reads Helm's storage in every namespace.
func (l *helmfileLane) ReadBack(_ context.Context, env *lane.Env) (lane.Record, error) {
	rec := lane.Record{}
	for _, r := range env.Bundle.Expectation.Releases {
		rec.Want = append(rec.Want, lane.HelmDelivery(r.Namespace, r.InHelm(), r.Chart, r.ChartVersion, string(helmrelease.StatusDeployed)))
	}
	return rec, lane.ReadHelmStorage(env, nil, &rec)
}

// Artifacts has helmfile's log.
func (l *helmfileLane) Artifacts() lane.Artifacts {
	return lane.Artifacts{Logs: []lane.LogTail{{
		Name: "helmfile.log", What: "the end of what helmfile and its helm printed", Component: infra.HelmfileProcess, Lead: "what helmfile and helm said", Kind: lane.KindRelease,
	}}}
}

// Stop kills helmfile, whatever it is doing.
func (l *helmfileLane) Stop() {
	if l.cancel != nil {
		l.cancel()
		<-l.done
	}
	if l.program != nil {
		l.program.Stop()
	}
}
