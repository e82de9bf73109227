package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/result"
)

// unserved explains a finding whose error says that the API server does not serve kinds in a version:
// it returns a line for each with the version that is served, which is the edit, and the component's
// first object of the first one. A kind of which no version is served has no line, except for the one
// that Kubernetes has removed.
func unserved(e *bundle.Expectation, f *result.Finding) (first *bundle.Object, lines []string) {
	if strings.Contains(f.Cause, "from current release manifest") { // what an upgrade leaves behind; the bundle may have the version that is served
		return nil, nil
	}
	asked := apis.Unserved(strings.Join(append([]string{f.Cause}, f.Story...), "\n"))
	if len(asked) == 0 {
		return nil, nil
	}
	all := slices.Concat(e.Served(), apis.Stack().Flux, apis.Stack().ArgoCD) // a user's own objects of a deployer, too
	for _, kind := range asked {
		i := slices.IndexFunc(e.Objects, func(o bundle.Object) bool {
			gvk := o.Object.GroupVersionKind()
			return gvk.GroupKind() == kind.GroupKind() && (kind.Version == "" || gvk.Version == kind.Version) && (f.Component == "" || o.Component == f.Component)
		})
		line := cmp.Or(apis.ServedNow(all, kind), definedHere(e, f, kind))
		if line == "" && i >= 0 {
			line = undefined(all, f, kind)
		}
		if line == "" {
			continue
		}
		if i >= 0 && first == nil {
			first = &e.Objects[i]
		}
		if i >= 0 && len(asked) > 1 {
			line = e.Objects[i].Where("apiVersion") + ": " + line
		}
		lines = append(lines, line)
	}
	return first, lines
}

// definedHere says that Helm cannot install a custom resource whose definition is a template of the same
// release: it asks the API server for every kind before it creates the first object, a hook too.
func definedHere(e *bundle.Expectation, f *result.Finding, asked schema.GroupVersionKind) string {
	if !strings.Contains(f.Cause, "unable to build kubernetes objects from release manifest") {
		return ""
	}
	for i := range e.Objects {
		o := &e.Objects[i]
		if o.Component == f.Component && !o.InCRDs() && apis.Defines(o.Object, asked.GroupKind()) {
			return fmt.Sprintf("its definition is in the same release, %s, and Helm asks for the kinds of all templates before it creates the first object; edit: move CustomResourceDefinition %s to the chart's crds/, or each %s to a later release", o.Where(), o.Object.GetName(), asked.Kind)
		}
	}
	return ""
}

// undefined says that nothing installs the definition of a custom resource; empty where the deployer's lane
// has said it.
func undefined(all []apis.API, f *result.Finding, asked schema.GroupVersionKind) string {
	if !strings.Contains(asked.Group, ".") || apis.ServedAs(all, asked.GroupKind()) != "" || strings.Contains(f.Cause+strings.Join(f.Story, ""), "installs the CRD for") {
		return ""
	}
	return fmt.Sprintf("nothing here installs the CRD for %s.%s: deliver the CRD, or the chart that has it, before; if the cluster has it already, run with --with PATH", asked.Kind, asked.Group)
}
