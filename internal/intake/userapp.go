package intake

// userapp.go adds to the bundle of a user's repository what its objects of Flux and Argo CD say
// besides the releases. It must not know files, lanes or clusters.

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// UserAppExtra is what they say.
type UserAppExtra struct {
	// Checks are what Flux waits for besides the releases, Expressions how it tells.
	Checks      []fluxapi.Check
	Expressions []fluxapi.Expressions
	// Applied are the objects that Flux applies besides.
	Applied []*yamlv3.Node
	// After are the Applications that Argo CD waits for before it creates another.
	After map[string][]string
	// Projects are the AppProjects of Applications, by the name of the Application. Refused are the
	// Applications that theirs refuse.
	Projects map[string]argoapi.Member
	Refused  []argoapi.Refusal
	// Idle are the entries of kustomizations that select no object.
	Idle []bundle.Idle
	// Differences are the entries of spec.ignoreDifferences of Applications that name an object.
	Differences []argoapi.Difference
	// Namespaces are those of what a deployer installs.
	Namespaces []UserAppNamespace
}

// ignoresNothing are the entries that no object of their Application fits. Those of an Application with a chart from elsewhere are
// left out, since another may stand for it here.
func (l *UserAppExtra) ignoresNothing(e *bundle.Expectation) (all []bundle.Idle) {
	for _, d := range l.Differences {
		own := slices.DeleteFunc(slices.Clone(e.Releases), func(r bundle.Release) bool { return r.Name != d.Application })
		if len(own) == 0 || slices.ContainsFunc(own, func(r bundle.Release) bool { return !r.Local }) {
			continue
		}
		var names []string
		near := map[string]result.Ref{}
		fits := false
		for i := range e.Objects {
			o := &e.Objects[i]
			ref := o.Ref()
			if o.Release != d.Application {
				continue
			}
			kind, this := d.Fits(ref)
			fits = fits || this
			if _, seen := near[ref.Name]; kind || !seen && ref.Name == d.Name {
				near[ref.Name] = ref
				names = append(names, ref.Name)
			}
		}
		if fits {
			continue
		}
		idle := bundle.Idle{Of: result.Ref{Group: "argoproj.io", Kind: "Application", Namespace: bundle.ArgoNamespace, Name: d.Application}, At: d.At, Field: "ignoreDifferences", Named: true,
			Selects: strings.TrimSpace(d.Kind + " " + d.Name)}
		if d.Namespace != "" {
			idle.Selects += " in the namespace " + d.Namespace
		}
		if name := lists.Nearest(d.Name, names); name != "" {
			idle.Near = near[name].String()
		} else if len(names) > 0 {
			idle.Near = near[names[0]].String()
		}
		all = append(all, idle)
	}
	return all
}

// refused are the objects, and the Applications, that an AppProject refuses. Of each Application one is
// enough: Argo CD delivers nothing of it then.
func (l *UserAppExtra) refused(e *bundle.Expectation) []argoapi.Refusal {
	all, named := slices.Clone(l.Refused), map[string]bool{}
	namespaces := map[string]string{}
	for _, r := range e.Releases {
		namespaces[r.Name] = r.Namespace
	}
	for i := range e.Objects {
		o := &e.Objects[i]
		p, ref := l.Projects[o.Release], o.Ref()
		if p.Project == nil || named[o.Release] {
			continue
		}
		text := p.Resource(ref.Group, ref.Kind, ref.Name, ref.Namespace != "")
		if text == "" && ref.Namespace != "" && ref.Namespace != namespaces[o.Release] {
			text = p.Destination(p.Server, p.Cluster, ref.Namespace)
		}
		if text == "" {
			continue
		}
		named[o.Release] = true
		all = append(all, argoapi.Refusal{Of: ref, At: p.At, Text: fmt.Sprintf("is of Application %s, whose project %s %s", o.Release, p.Name, text), Then: "Argo CD syncs nothing of the Application"})
	}
	return all
}

// Add adds to a bundle what it must be judged by. Flux decides about objects of the bundle itself, unless
// only their operators could say how they are.
func (l *UserAppExtra) Add(in bundle.Input, made *bundle.Bundle) {
	e := &made.Expectation
	e.Repository = true
	for _, lines := range [][]string{e.Warnings, e.NotVerified} {
		for i := range lines {
			lines[i] = e.Worded(lines[i])
		}
	}
	for i := range e.Delivered {
		for _, name := range l.After[e.Delivered[i].Name] {
			ref := e.Delivered[i].Ref
			ref.Name = name
			e.Delivered[i].DependsOn = append(e.Delivered[i].DependsOn, ref)
		}
	}
	for _, n := range l.Applied {
		o := &unstructured.Unstructured{}
		content, err := yamlx.Encode([]*yamlv3.Node{n})
		if err == nil && yaml.Unmarshal(content, &o.Object) == nil { // else Flux refuses it
			e.Applied = append(e.Applied, o)
		}
	}
	e.Idle = append(e.Idle, slices.Concat(l.Idle, l.ignoresNothing(e))...)
	e.Doomed = append(e.Doomed, l.refused(e)...)
	e.Doomed = append(e.Doomed, l.withoutNamespace(e)...)
	for _, c := range l.Checks {
		c.Live = c.Live && c.Wrong == "" && (slices.ContainsFunc(e.Objects, func(o bundle.Object) bool { return o.Ref() == c.Object && !o.Ephemeral }) ||
			slices.ContainsFunc(e.Applied, func(o *unstructured.Unstructured) bool { return (&bundle.Object{Object: o}).Ref() == c.Object }) ||
			slices.ContainsFunc(e.Delivered, func(d bundle.Delivered) bool { return d.Ref == c.Object }))
		e.HealthChecks = append(e.HealthChecks, c)
	}
	if !bundle.ByFlux(made.Deployer) || len(e.HealthChecks) == 0 {
		return
	}
	roots := bundle.FluxRoot(in)
	spec := roots[len(roots)-1].Object["spec"].(map[string]any)
	fluxapi.InRoot(spec, e.HealthChecks, l.Expressions)
	made.Foreign.Roots = roots
}

// UserAppPlace says where a person finds a file of a laid-out bundle.
type UserAppPlace struct {
	// File is the path of the file that it was made from.
	File string
	// Lines gives, for lines of the bundle's file, those of File; nil if they are the same.
	Lines map[int]int
	// Elsewhere gives, for lines of the bundle's file that are from yet another file, e.g. that of a
	// patch, the place there.
	Elsewhere map[int]recipe.Origin
}

// Origin is the place of a line. One that has no number of its own, e.g. within a block of text,
// counts from the last that has.
func (p UserAppPlace) Origin(line int) recipe.Origin {
	o := recipe.Origin{File: filepath.FromSlash(p.File), Line: line}
	if p.Lines == nil || line == 0 {
		return o
	}
	o.Line = 0
	for at, back := line, 0; at > 0; at, back = at-1, back+1 {
		if there, ok := p.Elsewhere[at]; ok {
			return recipe.Origin{File: filepath.FromSlash(there.File), Line: there.Line + back}
		}
		if first, ok := p.Lines[at]; ok {
			o.Line = first + back
			break
		}
	}
	return o
}
