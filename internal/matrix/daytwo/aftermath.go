package daytwo

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Arrived is a second delivery that has arrived.
type Arrived struct {
	// What it is, for people: UpgradeFrom or RollbackTo.
	What     string
	Env      *lane.Env
	Lane     lane.Lane
	Deployer string
	// Was is the UID that an object had before it; empty if it was not there.
	Was func(result.Ref) types.UID
	// Change is what it has changed in the cluster.
	Change *result.Change
}

// Said is what is to be said of it besides the verdict.
type Said struct{ Notes, Warnings, NotVerified []string }

// Aftermath judges what a second delivery has replaced, removed and left. Reasons: UPGRADE_FAILED,
// UPGRADE_DIVERGED.
func (b Bundles) Aftermath(ctx context.Context, a Arrived) (said Said, err error) {
	argo := slices.Contains(a.Lane.Controllers(), infra.ArgoCDControllers)
	var replaced, removed, left []result.Ref
	for _, one := range a.Change.Components {
		replaced, removed, left = append(replaced, one.Replaced...), append(removed, one.Removed...), append(left, one.LeftBehind...)
	}
	back := isRollback(a.What)
	if !back { // else the upgrade has said it, or the old pods are those of the old bundle
		said.Warnings = slices.Concat(TornDown(b.Now, replaced, argo), b.KeepPods(), rollsOverDisks(b.Before, b.Now))
	}
	if argo {
		said.Warnings = append(said.Warnings, allInWords(a.What, append(b.Moving(), b.Unkept(removed)...))...)
		kept, late := lane.InArgoCD(b.Before, b.Now, a.Env.Input.Recipe)
		said.Warnings, said.Notes = append(said.Warnings, kept...), append(said.Notes, late...)
	} else if a.Deployer != bundle.HelmTemplate { // which removes nothing
		if err := b.Guarded(a.What, a.before(), a.Was); err != nil {
			return said, err
		}
	}
	if said.NotVerified, err = b.Gone(ctx, a.What, a.Env, replaced); err != nil {
		return said, err
	}
	left = b.staying(ctx, a.Env, left)
	if slices.Contains(a.Lane.Controllers(), infra.FluxControllers) {
		won, err := b.Raced(a.What)
		if err != nil {
			return said, err
		}
		said.Warnings = append(said.Warnings, append(won, allInWords(a.What, b.Orphaned(left))...)...)
	}
	if back && len(left) > 0 { // the difference shows it of an upgrade
		said.Notes = append(said.Notes, leftBehind(a.What, left))
	}
	return said, nil
}

// before is the event of Helm's hooks before the delivery.
func (a Arrived) before() string {
	if _, ok := a.Lane.(lane.RollsBack); ok && isRollback(a.What) {
		return "pre-rollback"
	}
	return "pre-upgrade"
}

// inWords is a line about an upgrade in the words of the delivery, which what names.
func inWords(what, line string) string {
	if isRollback(what) {
		return strings.ReplaceAll(line, "the upgrade", rollback)
	}
	return line
}

func allInWords(what string, lines []string) []string {
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i] = inWords(what, lines[i])
	}
	return lines
}

// staying are those of these objects that are neither gone by now nor on their way, with their namespace or alone.
func (b Bundles) staying(ctx context.Context, env *lane.Env, left []result.Ref) []result.Ref {
	leaving := map[string]bool{} // namespaces
	goes := func(o *bundle.Object) bool {
		live, err := read(ctx, env, o)
		return apierrors.IsNotFound(err) || err == nil && live.GetDeletionTimestamp() != nil
	}
	return slices.DeleteFunc(slices.Clone(left), func(ref result.Ref) bool {
		if ns := ref.Namespace; ns != "" {
			if _, known := leaving[ns]; !known {
				leaving[ns] = goes(&bundle.Object{Object: namespaceNamed(ns)})
			}
			if leaving[ns] {
				return true
			}
		}
		o := b.Before.Expectation.Object(ref)
		return o != nil && goes(o)
	})
}

func namespaceNamed(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
}

// mostLeft is how many objects a note names.
const mostLeft = 12

// leftBehind names what the new bundle had, and the old one has not.
func leftBehind(what string, left []result.Ref) string {
	var names []string
	for _, ref := range left {
		names = append(names, ref.String())
	}
	slices.Sort(names)
	return what + " leaves behind what the upgrade had added: " + strings.Join(lists.AtMost(names, mostLeft), ", ")
}
