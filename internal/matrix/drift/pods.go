package drift

import (
	"context"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// pods are the owners of pods, by the pods' UIDs. The owner of a ReplicaSet stands for it. Pods of
// Jobs are left out: a hook runs again.
type pods map[types.UID]result.Ref

func listPods(ctx context.Context, env *lane.Env) (pods, error) {
	sets, err := env.Clients.Kube.AppsV1().ReplicaSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list ReplicaSets: %w", err)
	}
	list, err := env.Clients.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	above := map[types.UID]*metav1.OwnerReference{}
	for i := range sets.Items {
		above[sets.Items[i].UID] = metav1.GetControllerOf(&sets.Items[i])
	}
	found := pods{}
	for i := range list.Items {
		p := &list.Items[i]
		owner := metav1.GetControllerOf(p)
		if owner == nil || owner.Kind == "Job" {
			continue
		}
		if top := above[owner.UID]; top != nil {
			owner = top
		}
		group := ""
		if owner.Kind != "ReplicationController" {
			group = "apps"
		}
		found[p.UID] = result.Ref{Group: group, Kind: owner.Kind, Namespace: p.Namespace, Name: owner.Name}
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
