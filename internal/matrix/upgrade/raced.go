package upgrade

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Raced is the failure of a delivery by Flux that arrived by luck: one release loses a definition and
// another one an object of its kind, and nothing makes the second come first. Helm cannot read a release
// with an object of a kind that is not served any more, and Flux does not try that again. nil if there is
// no such race. Reason: UPGRADE_FAILED.
func (b Bundles) Raced(what string) error {
	all := b.removed()
	for _, of := range slices.Sorted(maps.Keys(all)) {
		for _, definition := range all[of] {
			kind := apis.DefinedBy(definition.Object)
			if kind.Kind == "" {
				continue
			}
			for _, release := range slices.Sorted(maps.Keys(all)) {
				if release == of || namespaceOf(b.Now, release) == "" || namespaceOf(b.Now, release) != namespaceOf(b.Before, release) || b.comesAfter(of, release) {
					continue
				}
				i := slices.IndexFunc(all[release], func(o *bundle.Object) bool {
					gvk := o.Object.GroupVersionKind()
					return gvk.Kind == kind.Kind && gvk.Group == kind.Group
				})
				if i >= 0 {
					return b.raced(what, definition, all[release][i])
				}
			}
		}
	}
	return nil
}

// comesAfter reports whether a release of the new bundle waits for another one.
func (b Bundles) comesAfter(release, other string) bool {
	for _, r := range b.Now.Expectation.Releases {
		if r.Name == release {
			return slices.ContainsFunc(r.DependsOn, func(on string) bool { return on == other || b.comesAfter(on, other) })
		}
	}
	return false
}

func (b Bundles) raced(what string, definition, o *bundle.Object) error {
	ref := o.Ref()
	return &reason.Error{Reason: reason.UpgradeFailed, Component: o.Component, Err: result.NewFailure(result.Finding{
		Object: &ref, Component: o.Component,
		Cause: fmt.Sprintf("%s: release %s had %s, and release %s its definition, %s: Flux removes both in no order, and here the object went first; had the definition, helm-controller could not read release %[2]s any more, and would not try again",
			what, o.Release, ref, definition.Release, definition.Ref()),
		Story: []string{
			fmt.Sprintf("before: component %s, %s; component %s, %s", o.Component, b.was(o), definition.Component, b.was(definition)),
			inWords(what, fmt.Sprintf("deliver %s without the object before the upgrade, or keep the definition: annotate it helm.sh/resource-policy=keep in the cluster before the upgrade", o.Release)),
		},
	})}
}
