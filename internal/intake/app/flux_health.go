package app

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// awaited is an object that a Kustomization waits for by its health checks.
type awaited struct {
	within     object
	item       *yamlv3.Node
	apiVersion string
	ref        result.Ref // as the Kustomization has it
}

// refOf names an object, without a namespace if it has none.
func refOf(o object) result.Ref {
	return result.Ref{Group: groupOf(o.Node), Kind: o.Kind(), Namespace: yamlx.Text(o.Node, "metadata", "namespace"), Name: o.Name()}
}

// groupOf is the API group of an object or a reference; empty for the core group.
func groupOf(n *yamlv3.Node) string {
	return schema.FromAPIVersionAndKind(yamlx.Text(n, "apiVersion"), "").Group
}

// waits notes what a Kustomization waits for besides that its HelmReleases are ready: the objects of
// spec.healthChecks, or with spec.wait those of its own whose state an expression tells.
func (f *fluxApp) waits(o object, inner []object) error {
	exprs, err := f.expressions(o)
	if err != nil {
		return err
	}
	if yamlx.Text(o.Node, "spec", "wait") == "true" { // it goes before healthChecks
		for _, i := range inner {
			if slices.ContainsFunc(exprs, func(e fluxapi.Expressions) bool { return e.For(groupOf(i.Node), i.Kind()) }) {
				f.awaited = append(f.awaited, awaited{o, yamlx.Find(o.Node, "spec", "wait"), yamlx.Text(i.Node, "apiVersion"), refOf(i)})
			}
		}
		return nil
	}
	list := yamlx.Find(o.Node, "spec", "healthChecks")
	if list == nil {
		return nil
	}
	for _, n := range list.Content {
		a := awaited{o, n, yamlx.Text(n, "apiVersion"), result.Ref{Kind: yamlx.Text(n, "kind"), Namespace: yamlx.Text(n, "namespace"), Name: yamlx.Text(n, "name")}}
		if a.apiVersion == "" || a.ref.Kind == "" || a.ref.Name == "" {
			return f.repo.BadAt(o, n, "a health check of Kustomization %s has no apiVersion, kind or name", o.Name())
		}
		a.ref.Group = groupOf(n)
		f.awaited = append(f.awaited, a)
	}
	return nil
}

// expressions reads spec.healthCheckExprs of an object of Flux.
func (f *fluxApp) expressions(o object) ([]fluxapi.Expressions, error) {
	list := yamlx.Find(o.Node, "spec", "healthCheckExprs")
	if list == nil {
		return nil, nil
	}
	var all []fluxapi.Expressions
	for _, n := range list.Content {
		e := fluxapi.Expressions{Kustomization: o.Name(), At: f.repo.Origin(o, n.Line), APIVersion: yamlx.Text(n, "apiVersion"), Kind: yamlx.Text(n, "kind"),
			Current: yamlx.Text(n, "current"), Failed: yamlx.Text(n, "failed"), InProgress: yamlx.Text(n, "inProgress")}
		if err := e.Parse(); err != nil {
			return nil, f.repo.BadAt(o, n, "spec.healthCheckExprs of %s %s, for %s %s: %w: Flux would never apply it", o.Kind(), o.Name(), e.APIVersion, e.Kind, err)
		}
		if slices.ContainsFunc(all, func(other fluxapi.Expressions) bool { return other.Group() == e.Group() && other.Kind == e.Kind }) {
			return nil, f.repo.BadAt(o, n, "spec.healthCheckExprs of %s %s has expressions for %s of the group %s twice: Flux would never apply it", o.Kind(), o.Name(), e.Kind, e.Group())
		}
		all = append(all, e)
	}
	return all, nil
}

// told leaves those of expressions whose outcome the cell's controllers decide.
func (f *fluxApp) told(o object, all []fluxapi.Expressions) []fluxapi.Expressions {
	var kept []fluxapi.Expressions
	for _, e := range all {
		if e.Simulated() {
			f.unknown("%s %s: whether its expressions for %s %s hold (%s), since the operator that would write their status may be simulated", o.Kind(), o.Name(), e.APIVersion, e.Kind, e.At)
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

// settleWaits gives the bundle what its Kustomizations wait for.
func (f *fluxApp) settleWaits() error {
	for _, k := range f.kustomizations {
		exprs, err := f.expressions(k)
		if err != nil {
			return err
		}
		for _, e := range f.told(k, exprs) {
			i := slices.IndexFunc(f.Expressions, func(other fluxapi.Expressions) bool { return other.Group() == e.Group() && other.Kind == e.Kind })
			if i < 0 {
				f.Expressions = append(f.Expressions, e)
			} else if !f.Expressions[i].Same(e) {
				f.unknown("Kustomization %s: its expressions for %s %s (%s), since Kustomization %s has others (%s)", k.Name(), e.APIVersion, e.Kind, e.At, f.Expressions[i].Kustomization, f.Expressions[i].At)
			}
		}
	}
	for _, a := range f.awaited {
		if f.selects.some() && len(f.of[fluxapi.KustomizationKey(a.within.Node)]) == 0 {
			continue // nothing of it is delivered
		}
		c := fluxapi.Check{Kustomization: a.within.Name(), At: f.repo.Origin(a.within, a.item.Line), Timeout: yamlx.Text(a.within.Node, "spec", "timeout"), Object: a.ref, Releases: f.of[fluxapi.KustomizationKey(a.within.Node)], Live: true}
		_, c.Version, _ = strings.Cut("/"+a.apiVersion, c.Object.Group+"/")
		switch {
		case a.ref.Group == groupKustomize:
			c.Wrong, c.Live = f.kustomizationLate(a), false
		case a.ref.Group == groupHelm || a.ref.Group == groupSource:
			if !f.ownAwaited(a, &c) {
				continue
			}
		case a.ref.Namespace == "" && yamlx.Text(a.within.Node, "spec", "wait") == "true":
			c.Object.Namespace = f.targetOf(a.within)
		}
		f.Checks = append(f.Checks, c)
	}
	return nil
}

// targetOf is the namespace of what a Kustomization applies that names none.
func (f *fluxApp) targetOf(k object) string {
	if target := yamlx.Text(k.Node, "spec", "targetNamespace"); target != "" {
		return target
	}
	return plainNamespace
}

// ownAwaited looks for a HelmRelease that is waited for, or a source, which the gate waits for anyway.
// Those here are in the lane's namespace. It reports whether there is something to check.
func (f *fluxApp) ownAwaited(a awaited, c *fluxapi.Check) bool {
	if a.ref.Group == groupSource {
		if _, there := f.urls[a.ref.Kind+" "+a.ref.Name]; !there {
			f.unknown("Kustomization %s (%s): %s %s, for which it waits, is not among these files", a.within.Name(), c.At, a.ref.Kind, a.ref.Name)
		}
		return false
	}
	named := func(o object) bool { // what the harness made of a Kustomization is none
		return o.Kind() == a.ref.Kind && f.calledAs(o) == a.ref.Name && !f.packed[o.Node]
	}
	i := slices.IndexFunc(f.objects, func(o object) bool {
		return named(o) && cmp.Or(yamlx.Text(o.Node, "metadata", "namespace"), plainNamespace) == cmp.Or(a.ref.Namespace, plainNamespace)
	})
	if i >= 0 {
		c.Object.Namespace, c.Object.Name = bundle.FluxNamespace, f.objects[i].Name()
		c.Live = slices.ContainsFunc(f.Expressions, func(e fluxapi.Expressions) bool { return e.For(a.ref.Group, a.ref.Kind) })
		return true
	}
	if f.notChosen[a.ref.Name] {
		f.unknown("Kustomization %s (%s): HelmRelease %s, for which it waits, is left out", a.within.Name(), c.At, a.ref.Name)
		return false
	}
	c.Wrong = "which no file here has"
	if i := slices.IndexFunc(f.objects, named); i >= 0 {
		c.Wrong += fmt.Sprintf("; there is one at %s, in another namespace", f.repo.At(f.objects[i]))
	}
	return true
}

// kustomizationLate says why a Kustomization that another waits for is never ready before it; empty if it may be.
func (f *fluxApp) kustomizationLate(a awaited) string {
	find := func(dependency string) int {
		return slices.IndexFunc(f.kustomizations, func(k object) bool { return fluxapi.KustomizationNames(dependency, fluxapi.KustomizationKey(k.Node)) })
	}
	awaited, own := a.ref.Namespace+"/"+a.ref.Name, fluxapi.KustomizationKey(a.within.Node)
	i := find(awaited)
	if i < 0 && f.givenHas(awaited) {
		return "" // not verified
	}
	if i < 0 {
		if other := f.another(a.ref.Name); other != "" {
			return "which no file here has; " + other
		}
		return "which no file here has"
	}
	if fluxapi.KustomizationNames(awaited, own) {
		return "" // Flux leaves it out
	}
	seen := map[string]bool{}
	for open := []string{awaited}; len(open) > 0; open = open[1:] {
		if fluxapi.KustomizationNames(open[0], own) {
			return fmt.Sprintf("which depends on it (%s): each waits for the other", f.repo.At(f.kustomizations[i]))
		}
		if j := find(open[0]); j >= 0 && !seen[open[0]] {
			seen[open[0]] = true
			open = append(open, fluxapi.DependsOn(f.kustomizations[j].Node)...)
		}
	}
	return ""
}

// givenHas reports whether a dependency is a Kustomization of another repository that is left out.
func (f *fluxApp) givenHas(dependency string) bool {
	for key := range f.given {
		if fluxapi.KustomizationNames(dependency, key) {
			return true
		}
	}
	return false
}

// another says where a Kustomization of this name is; empty if there is none.
func (f *fluxApp) another(name string) string {
	i := slices.IndexFunc(f.kustomizations, func(k object) bool { return k.Name() == name })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("there is one in the namespace %s (%s)", f.namespaceOf(f.kustomizations[i]), f.repo.At(f.kustomizations[i]))
}

// dependenciesThere makes sure that Kustomizations depend on some that exist: Flux waits for another
// for ever. One of another path of the repository is not verified.
func (f *fluxApp) dependenciesThere() error {
	for _, k := range f.kustomizations {
		list := yamlx.Find(k.Node, "spec", "dependsOn")
		for i, key := range fluxapi.DependsOn(k.Node) {
			if slices.ContainsFunc(f.kustomizations, func(other object) bool { return fluxapi.KustomizationNames(key, fluxapi.KustomizationKey(other.Node)) }) || f.givenHas(key) {
				continue
			}
			for paused, at := range f.paused {
				if fluxapi.KustomizationNames(key, paused) {
					return f.repo.BadAt(k, list.Content[i], "Kustomization %s depends on Kustomization %s (%s), which is suspended: on a new cluster Flux waits for it for ever", k.Name(), path.Base(paused), at)
				}
			}
			in, name, _ := strings.Cut(key, "/")
			if other := f.another(name); other != "" {
				return f.repo.BadAt(k, list.Content[i], "Kustomization %s depends on Kustomization %s in the namespace %s, and %s: Flux would wait for it for ever; set namespace", k.Name(), name, in, other)
			}
			if file := elsewhere(f.repo, groupKustomize, kindKustomization, name); file != "" {
				f.unknown("Kustomization %s (%s) depends on %s, which is in %s and not in this path", k.Name(), f.repo.At(k), name, f.repo.Shown(file))
				continue
			}
			return f.repo.BadAt(k, list.Content[i], "Kustomization %s depends on Kustomization %s, which no file of this repository has: Flux would wait for it for ever", k.Name(), name)
		}
	}
	return nil
}

// elsewhere is a file of the repository with an object of that name; empty if there is none.
func elsewhere(r *repository, group, kind, name string) string {
	files, ok := r.Having(group, name)
	if !ok {
		return "the repository" // of which not all is read
	}
	for _, file := range files {
		found, err := r.Documents(file)
		if err != nil || slices.ContainsFunc(found, func(o object) bool { return o.Group() == group && o.Kind() == kind && o.Name() == name }) {
			return file // one that cannot be read may have it
		}
	}
	return ""
}
