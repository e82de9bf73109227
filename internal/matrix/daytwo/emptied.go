package daytwo

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
)

// emptied is the finding of a second delivery that deleted a namespace in which something of it is: the
// chart that had it has it no more, and whoever is in it does not notice, since what is in a namespace
// goes later than the namespace's own deletion begins. nil if it deleted none. uid is the UID that an
// object had before.
func (b Bundles) emptied(ctx context.Context, what string, env *lane.Env, uid func(result.Ref) types.UID) *result.Finding {
	for _, m := range b.dropped() {
		ref := m.old.Ref()
		live, err := read(ctx, env, m.old)
		if gone := apierrors.IsNotFound(err) && uid(ref) != ""; !gone && (err != nil || live.GetDeletionTimestamp() == nil && !replaced(uid(ref), live.GetUID())) {
			continue
		}
		return &result.Finding{
			Check: namespaceDeleted.ID, Object: &ref, Component: m.old.Component,
			Cause: fmt.Sprintf("%s: %s was deleted, and everything in it: release %s had it and has it no more, and component %s is in it", what, ref, m.old.Release, m.now.Component),
			Story: []string{
				fmt.Sprintf("before: component %s, template %s; in it now: %s (component %s, template %s)", m.old.Component, m.old.Template, m.now.Ref(), m.now.Component, b.place(m.now, "")),
				inWords(what, "keep it: leave it in the chart, or annotate it helm.sh/resource-policy=keep and argocd.argoproj.io/sync-options=Prune=false in the cluster before the upgrade"),
			},
		}
	}
	return nil
}

// dropped lists the namespaces that no chart has any more, each with an object that is in it.
func (b Bundles) dropped() []move {
	if b.Before == nil || b.Now == nil {
		return nil
	}
	var all []move
	for i := range b.Before.Expectation.Objects {
		old := &b.Before.Expectation.Objects[i]
		if old.Object.GetKind() != "Namespace" || old.Hook || b.Now.Expectation.Object(old.Ref()) != nil {
			continue
		}
		if now := b.firstIn(old.Object.GetName()); now != nil {
			all = append(all, move{old, now})
		}
	}
	return all
}

func (b Bundles) firstIn(namespace string) *bundle.Object {
	for i := range b.Now.Expectation.Objects {
		if o := &b.Now.Expectation.Objects[i]; !o.Hook && o.Object.GetNamespace() == namespace {
			return o
		}
	}
	return nil
}
