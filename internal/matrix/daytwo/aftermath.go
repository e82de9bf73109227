package daytwo

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Arrived is a second delivery that has arrived.
type Arrived struct {
	// What it is, for people: UpgradeFrom or RollbackTo.
	What string
	Env  *lane.Env
	Lane lane.Lane
	// Was is the UID that an object had before it; empty if it was not there.
	Was func(result.Ref) types.UID
	// Change is what it has changed in the cluster.
	Change *result.Change
	// Judge runs the checks of the delivery, and Rule takes out what the user ignores.
	Judge func(*facts.Delivery) error
	Rule  judge.Ruling
}

// Aftermath judges what a second delivery has replaced, removed and left. Reasons: UPGRADE_FAILED,
// UPGRADE_DIVERGED.
func (b Bundles) Aftermath(ctx context.Context, a Arrived) (notes, notVerified []string, err error) {
	d := facts.Delivery{What: a.What, Back: isRollback(a.What), Event: a.before(), Before: b.Before, Now: b.Now, Was: a.Was}
	for _, one := range a.Change.Components {
		d.Replaced, d.Removed, d.Left = append(d.Replaced, one.Replaced...), append(d.Removed, one.Removed...), append(d.Left, one.LeftBehind...)
	}
	d.Left = b.staying(ctx, a.Env, d.Left)
	if err := a.Judge(&d); err != nil {
		return nil, nil, err
	}
	if notVerified, err = b.Gone(ctx, a.What, a.Env, d.Replaced, a.Rule); err != nil {
		return nil, notVerified, err
	}
	if d.Back && len(d.Left) > 0 { // the difference shows it of an upgrade
		notes = append(notes, leftBehind(a.What, d.Left))
	}
	return notes, notVerified, nil
}

// before is the event of Helm's hooks before the delivery.
func (a Arrived) before() string {
	if _, ok := a.Lane.(lane.RollsBack); ok && isRollback(a.What) {
		return "pre-rollback"
	}
	return "pre-upgrade"
}

// delivered is a delivery in a word or two.
func delivered(d *facts.Delivery) string {
	if d.Back {
		return rollback
	}
	return "the upgrade"
}

// bundlesOf are the bundles of the delivery that is judged.
func bundlesOf(s *judge.Scope) Bundles { return Bundles{s.Delivery.Before, s.Delivery.Now} }

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
