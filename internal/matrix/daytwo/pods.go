package daytwo

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// pods are the owners of pods, by the pods' UIDs. The owner of a ReplicaSet stands for it. Pods of
// Jobs are left out: a hook runs again.
type pods map[types.UID]result.Ref

func listPods(ctx context.Context, env *lane.Env) (pods, error) {
	list, err := observe.OwnedPods(ctx, env.Clients.Kube)
	if err != nil {
		return nil, err
	}
	found := pods{}
	for _, p := range list {
		if p.Owner.Kind == "Job" {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(p.Owner.APIVersion, p.Owner.Kind)
		found[p.Pod.UID] = result.Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: p.Pod.Namespace, Name: p.Owner.Name}
	}
	return found, nil
}

// rolled returns how many pods of each owner were replaced. One that has only more pods, or fewer,
// was scaled.
func rolled(before, after pods) map[result.Ref]int {
	gone, come := map[result.Ref]int{}, map[result.Ref]int{}
	for uid, owner := range before {
		if _, ok := after[uid]; !ok {
			gone[owner]++
		}
	}
	for uid, owner := range after {
		if _, ok := before[uid]; !ok {
			come[owner]++
		}
	}
	maps.DeleteFunc(gone, func(owner result.Ref, _ int) bool { return come[owner] == 0 })
	return gone
}

// inOrder returns the owners, sorted by their texts.
func inOrder(of map[result.Ref]int) []result.Ref {
	return slices.SortedFunc(maps.Keys(of), func(a, b result.Ref) int {
		switch {
		case a.String() < b.String():
			return -1
		case a.String() > b.String():
			return 1
		}
		return 0
	})
}
