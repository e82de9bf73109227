package why

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// withoutNamespace explains a finding whose error says that a namespace is missing: it returns the first
// object of the component that is in it, of which Helm says nothing, and what creates the namespace.
func withoutNamespace(e *bundle.Expectation, f *result.Finding) (needs *bundle.Object, line string) {
	name := observe.MissingNamespace(strings.Join(append([]string{f.Cause}, f.Story...), "\n"))
	if name == "" {
		return nil, ""
	}
	for i := range e.Objects {
		if o := &e.Objects[i]; o.Component == f.Component && o.Object.GetNamespace() == name {
			needs = o
			break
		}
	}
	if strings.Contains(f.Cause, "failed to install CRD") {
		return needs, "Helm creates what is in crds/ before the namespace of the release: keep definitions (CustomResourceDefinition) alone there"
	}
	if r := slices.IndexFunc(e.Releases, func(r bundle.Release) bool { return r.Namespace == name }); r >= 0 {
		return needs, fmt.Sprintf("namespace %s is created with release %s: let component %s come first (dependencyRefs)", name, e.Releases[r].Name, e.Releases[r].Component)
	}
	for i := range e.Objects {
		o := &e.Objects[i]
		if o.Object.GetKind() != "Namespace" || o.Object.GetName() != name {
			continue
		}
		if o.Component == f.Component {
			return needs, fmt.Sprintf("namespace %s is created by the same component, in %s: only after what needs it", name, o.Where())
		}
		return needs, fmt.Sprintf("namespace %s is created by component %s, in %s: let that component come first (dependencyRefs)", name, o.Component, o.Where())
	}
	return needs, observe.NobodyMakes(name)
}
