package daytwo

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// holds are the kinds whose deletion deletes what is in them, with the words for that.
func holds(kind string) string {
	switch kind {
	case "CustomResourceDefinition":
		return "every object of its kind in the cluster"
	case "Namespace":
		return "everything in it"
	case "PersistentVolumeClaim":
		return "its data"
	}
	return ""
}

// move is an object that one release had and another one has now.
type move struct{ old, now *bundle.Object }

// intoCRDs: the release has it still, but in its chart's crds/ and no longer in its templates. Helm, which
// counts only the latter as the release's, removes it then.
func (m move) intoCRDs() bool {
	return m.old.Release == m.now.Release && m.now.InCRDs() && !m.old.InCRDs()
}

// moved lists the objects that another release has now, or that moved into crds/. One that several
// releases have is not moved as long as the old one does.
func (b Bundles) moved() []move {
	if b.Before == nil || b.Now == nil {
		return nil
	}
	was := map[string]*bundle.Object{}
	key := func(o *bundle.Object) string { return o.Ref().String() }
	for i := range b.Before.Expectation.Objects {
		if o := &b.Before.Expectation.Objects[i]; !o.Hook {
			was[key(o)] = o
		}
	}
	still := map[string]bool{}
	for i := range b.Now.Expectation.Objects {
		if o := &b.Now.Expectation.Objects[i]; was[key(o)] != nil && was[key(o)].Release == o.Release && !(move{was[key(o)], o}).intoCRDs() {
			still[key(o)] = true
		}
	}
	var all []move
	for i := range b.Now.Expectation.Objects {
		if o := &b.Now.Expectation.Objects[i]; !o.Hook && was[key(o)] != nil && !still[key(o)] && o.Object.GetName() != "" {
			all = append(all, move{was[key(o)], o})
		}
	}
	return all
}

var movesToAnother = judge.Check{
	ID: "MX704", Name: "moves-to-another-application", Needs: judge.Second, Later: true, Lanes: func(o judge.Order) bool { return o.ArgoCD },
	Title: "What holds other things does not move from one Application to another",
	Why: "Argo CD prunes what an Application has no more (https://argo-cd.readthedocs.io/en/stable/user-guide/auto_sync/#automatic-pruning). Neither Application waits for the other, so that the old one " +
		"may delete a namespace or a claim before the new one has taken it over, with all that is in it. It marks no definition as an Application's, and so prunes none.",
	Fix:  "Annotate it argocd.argoproj.io/sync-options=Prune=false before the upgrade.",
	Says: "moves from Application %s to %s, and neither waits for the other",
	Then: "a sync of %[1]s that comes first may prune it, and %[3]s with it; annotate it argocd.argoproj.io/sync-options=Prune=false before %[4]s",
	Run: func(s *judge.Scope) {
		for _, m := range bundlesOf(s).moved() {
			if what := holds(m.now.Object.GetKind()); what != "" && m.now.Object.GetKind() != "CustomResourceDefinition" {
				s.Report(m.now, "", m.old.Release, m.now.Release, what, delivered(s.Delivery))
			}
		}
	},
}

var prunedThoughKept = judge.Check{
	ID: "MX705", Name: "pruned-though-kept", Needs: judge.Second, Later: true, Lanes: func(o judge.Order) bool { return o.ArgoCD },
	Title: "What a chart asks Helm to keep is kept by Argo CD, too",
	Why: "Argo CD reads helm.sh/resource-policy when it deletes an Application, and at no other time: at a sync it prunes what the chart has no more. Helm leaves it " +
		"(https://helm.sh/docs/howto/charts_tips_and_tricks/#tell-helm-not-to-uninstall-a-resource).",
	Fix:  "Annotate it argocd.argoproj.io/sync-options=Prune=false, too, before the upgrade.",
	Says: "was removed by %s%s, and its chart asks Helm to keep it (helm.sh/resource-policy: keep)",
	Then: "Argo CD prunes it all the same; annotate it argocd.argoproj.io/sync-options=Prune=false before",
	Run: func(s *judge.Scope) {
		for _, ref := range s.Delivery.Removed {
			o := s.Delivery.Before.Expectation.Object(ref)
			if o == nil || o.Hook || !rendering.KeptAtUpgrade(o.Object.GetAnnotations()) || namespaceOf(s.Delivery.Now, o.Release) == "" {
				continue
			}
			with := ""
			if what := holds(ref.Kind); what != "" {
				with = ", and " + what + " with it"
			}
			s.Report(o, "metadata.annotations", delivered(s.Delivery), with)
		}
	},
}

// lostBudget bounds the reads after a failure.
const lostBudget = 10 * time.Second

// Lost is the error of a second delivery that deleted a namespace in which something of it is, and adds to
// another error what it deleted of the objects that another release has now: the release that had one
// deletes it, and who has it now does not notice. uid is the UID that an object had before.
func Lost(ctx context.Context, what string, err error, env *lane.Env, b Bundles, uid func(result.Ref) types.UID) error {
	if err != nil && !reason.OfRecipe(err) || env.Clients == nil || env.Clients.Dynamic == nil {
		return err
	}
	err = b.installedOnly(what, err, uid)
	ctx, cancel := context.WithTimeout(ctx, lostBudget)
	defer cancel()
	if f := b.emptied(ctx, what, env, uid); f != nil || err == nil {
		return then(f, err)
	}
	var lost []move
	for _, m := range b.moved() {
		live, failed := read(ctx, env, m.now)
		if apierrors.IsNotFound(failed) && uid(m.now.Ref()) != "" || failed == nil && (replaced(uid(m.now.Ref()), live.GetUID()) || live.GetDeletionTimestamp() != nil) {
			lost = append(lost, m)
		}
	}
	if len(lost) == 0 {
		return err
	}
	slices.SortStableFunc(lost, func(x, y move) int {
		return len(holds(y.now.Object.GetKind())) - len(holds(x.now.Object.GetKind()))
	})
	f := b.lost(what, lost)
	return then(&f, err)
}

// then makes a finding the failure, and what came of it a part of its story; nil without either.
func then(f *result.Finding, err error) error {
	if f == nil {
		return err
	}
	var stage result.Stage
	if err != nil {
		v := result.VerdictOf(err)
		f.Story, stage = append(append(f.Story, "then: "+v.Cause), v.Details...), v.Stage
	}
	return &reason.Error{Reason: reason.UpgradeFailed, Component: f.Component, Err: &result.Failure{Findings: []result.Finding{*f}, Stage: stage}}
}

// Recreated is the failure of an upgrade that arrived, and on its way deleted and made again what
// holds other things; nil if it did not. replaced are the objects with another UID.
func (b Bundles) Recreated(what string, replaced []result.Ref) error {
	var lost []move
	for i := range b.Now.Expectation.Objects {
		now := &b.Now.Expectation.Objects[i]
		if old := b.Before.Expectation.Object(now.Ref()); old != nil && holds(now.Object.GetKind()) != "" && slices.Contains(replaced, now.Ref()) {
			lost = append(lost, move{old, now})
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return &reason.Error{Reason: reason.UpgradeFailed, Err: result.NewFailure(b.lost(what, lost))}
}

func replaced(before, after types.UID) bool { return before != "" && before != after }

// lost says what was deleted, by which release, and how it is kept.
func (b Bundles) lost(what string, all []move) result.Finding {
	ref := all[0].now.Ref()
	f := result.Finding{Check: holderDeleted.ID, Object: &ref, Component: all[0].now.Component}
	for i, m := range all {
		of := m.now.Ref()
		text := of.String() + " was deleted"
		if held := holds(m.now.Object.GetKind()); held != "" {
			text += ", and " + held + " with it"
		}
		if m.old.Release != m.now.Release {
			text += fmt.Sprintf(": release %s had it and has it no more, release %s has it now", m.old.Release, m.now.Release)
		} else if m.intoCRDs() {
			text += fmt.Sprintf(": the chart of release %s had it in its templates and has it in crds/ now, which Helm does not count as the release's", m.old.Release)
		}
		line := text + fmt.Sprintf("; before: component %s, template %s; now: component %s, template %s", m.old.Component, m.old.Template, m.now.Component, b.place(m.now, ""))
		if i == 0 {
			f.Cause = what + ": " + text
			if n := len(all) - 1; n > 0 {
				f.Cause += fmt.Sprintf(" (and %d more)", n)
			}
		} else {
			f.Others = append(f.Others, of)
		}
		f.Story = append(f.Story, line)
	}
	first := all[0]
	if first.old.Release == first.now.Release && !first.intoCRDs() {
		return f
	}
	if slices.ContainsFunc(b.Now.Expectation.Releases, func(r bundle.Release) bool { return r.Name == first.old.Release }) {
		f.Story = append(f.Story, inWords(what, fmt.Sprintf("keep it: annotate it helm.sh/resource-policy=keep in the cluster before the upgrade, so that the upgrade of %s leaves it (in Argo CD: argocd.argoproj.io/sync-options=Prune=false)", first.old.Release)))
	} else {
		f.Story = append(f.Story, fmt.Sprintf("keep it: deliver %s once more with helm.sh/resource-policy: keep in its template (%s) before the component is removed; helm uninstall reads the release's own manifest", first.old.Release, first.old.Template))
	}
	return f
}
