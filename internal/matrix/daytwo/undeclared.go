package daytwo

import (
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/apis"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
)

// dropped matches a field that the definition in the cluster lacks: the API server drops it.
var dropped = regexp.MustCompile(`unknown field "([^"]+)"`)

// undeclared matches what Argo CD says of such a field before it syncs anything.
var undeclared = regexp.MustCompile(`error building typed value from config resource: (?:errors:\s*)?\.?(\S+?): field not declared in schema`)

// notValid matches what it says of a value that the definition in the cluster does not allow, as Helm's
// client passes it on: Argo CD and Flux bring the definition up to date first.
var notValid = regexp.MustCompile(`cannot patch "[^"]+" with kind ([A-Za-z0-9]+): [A-Za-z0-9]+\.([a-z0-9.-]+) "[^"]+" is invalid: \[?([A-Za-z0-9_.\[\]"-]+): `)

const notUpdated = ": Helm does not update the definitions in a chart's crds/; apply the new ones before the upgrade (kubectl apply --server-side -f), as the chart's notes on upgrades may say, or put them in the chart's templates or in a release of their own before this one"

// older explains a field that the new definition has and the one in the cluster, that of before the
// upgrade, lacks.
func (b Bundles) older(text string) []string {
	var lines []string
	for _, m := range dropped.FindAllStringSubmatch(text, -1) {
		if line := b.definedSince(m[1]); line != "" {
			lines = append(lines, line+notUpdated)
		}
	}
	for _, m := range notValid.FindAllStringSubmatch(text, -1) {
		if line := b.definedOtherwise(m[1], m[2], m[3]); line != "" {
			lines = append(lines, line+notUpdated)
		}
	}
	for _, m := range undeclared.FindAllStringSubmatch(text, -1) {
		line := b.definedSince(m[1])
		if line == "" {
			line = m[1] + " is not in the definition that is in the cluster"
		}
		lines = append(lines, line+": Argo CD compares objects with the definitions in the cluster before it syncs any of an Application, so that the new definition is not synced either; give the definitions a component of their own that is deployed before, or apply them before the upgrade")
	}
	return lines
}

// unmapped matches what Helm says of a kind that nothing in the cluster defines.
var unmapped = regexp.MustCompile(`no matches for kind "([^"]+)" in version "([^"/]+)/[^"]+"`)

// notInstalled explains a kind whose definition is new in a chart's crds/, which Helm leaves alone when it
// upgrades a release.
func (b Bundles) notInstalled(text string) []string {
	var lines []string
	for _, m := range unmapped.FindAllStringSubmatch(text, -1) {
		for d := range b.upgradedDefinitions() {
			if apis.Defines(d.now.object, schema.GroupKind{Group: m[2], Kind: m[1]}) && d.old.object == nil && find(b.Before, "CustomResourceDefinition", d.name) == nil {
				lines = append(lines, fmt.Sprintf("CustomResourceDefinition %s is new in the chart's crds/ (component %s, %s), which Helm installs with a release, and not when it upgrades one; apply it before the upgrade (kubectl apply --server-side -f), or put the definitions in a release of their own before this one", d.name, d.component, d.now.place))
			}
		}
	}
	return lines
}

// definedSince says which definition in a chart's crds/ has a field now and had none before; empty if
// there is none.
func (b Bundles) definedSince(field string) string {
	path := strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' })
	for d := range b.upgradedDefinitions() {
		if d.old.object != nil && declares(d.now.object, path) && !declares(d.old.object, path) {
			return fmt.Sprintf("CustomResourceDefinition %s in the cluster is that of before the upgrade, which has no %s (component %s, %s has it)", d.name, field, d.component, d.now.place)
		}
	}
	return ""
}

// definedOtherwise says which definition in a chart's crds/ has another schema of a field now than before;
// empty if there is none.
func (b Bundles) definedOtherwise(kind, group, field string) string {
	path := strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' })
	for d := range b.upgradedDefinitions() {
		if d.old.object != nil && apis.Defines(d.now.object, schema.GroupKind{Group: group, Kind: kind}) && !reflect.DeepEqual(schemas(d.old.object, path), schemas(d.now.object, path)) {
			return fmt.Sprintf("CustomResourceDefinition %s in the cluster is that of before the upgrade, which has another %s (component %s, %s has the new one)", d.name, field, d.component, d.now.place)
		}
	}
	return ""
}

// schemas are what a definition's versions say of a field, and which fields it requires beside it.
func schemas(crd *unstructured.Unstructured, path []string) (all []any) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		m, _ := v.(map[string]any)
		at, _, _ := unstructured.NestedMap(m, "schema", "openAPIV3Schema")
		for _, part := range path {
			all = append(all, at["required"], at["x-kubernetes-validations"])
			properties, _ := at["properties"].(map[string]any)
			next, ok := properties[part].(map[string]any)
			for _, key := range []string{"items", "additionalProperties"} {
				if below, is := at[key].(map[string]any); !ok && is {
					next, ok = below, true
				}
			}
			if at = next; !ok {
				break
			}
		}
		all = append(all, at)
	}
	return all
}

type defined struct {
	object *unstructured.Unstructured
	place  string
}

// upgradedDefinition is a definition in a chart's crds/ now, and before; then without an object if the chart
// did not have it.
type upgradedDefinition struct {
	name, component string
	old, now        defined
}

// upgradedDefinitions are the definitions in the crds/ of the releases that both bundles have. Helm leaves
// these alone when it upgrades a release.
func (b Bundles) upgradedDefinitions() iter.Seq[upgradedDefinition] {
	return func(yield func(upgradedDefinition) bool) {
		if b.Now == nil || b.Before == nil {
			return
		}
		for _, in := range b.Now.Installs {
			i := slices.IndexFunc(b.Before.Installs, func(was bundle.Install) bool { return was.Release.Name == in.Release.Name })
			if i < 0 {
				continue
			}
			before := definitionsOf(b.Before.Installs[i])
			for name, now := range definitionsOf(in) {
				if !yield(upgradedDefinition{name, in.Release.Component, before[name], now}) {
					return
				}
			}
		}
	}
}

// definitionsOf are the definitions in the crds/ of a chart by name. What cannot be read is none: it
// only explains.
func definitionsOf(in bundle.Install) map[string]defined {
	all := map[string]defined{}
	if in.Chart == nil {
		return all
	}
	crds, err := rendering.CRDs(in.Chart, in.Values)
	if err != nil {
		return all
	}
	for _, crd := range crds {
		var o unstructured.Unstructured
		if crd.Definition != "" && yaml.Unmarshal([]byte(crd.Definition), &o.Object) == nil {
			all[o.GetName()] = defined{&o, crd.Template}
		}
	}
	return all
}

// declares reports whether any version of a definition has a field.
func declares(crd *unstructured.Unstructured, path []string) bool {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		m, _ := v.(map[string]any)
		schema, _, _ := unstructured.NestedMap(m, "schema", "openAPIV3Schema")
		if has(schema, path) {
			return true
		}
	}
	return false
}

// has follows a path through a schema. The elements of lists and maps are not part of the path, or
// only as an index.
func has(schema map[string]any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	if schema == nil {
		return false
	}
	if strings.HasSuffix(path[0], "]") { // an index
		items, _ := schema["items"].(map[string]any)
		return has(items, path[1:])
	}
	if properties, ok := schema["properties"].(map[string]any); ok {
		child, ok := properties[path[0]].(map[string]any)
		return ok && has(child, path[1:])
	}
	if more, ok := schema["additionalProperties"].(map[string]any); ok {
		return has(more, path[1:])
	}
	open, _ := schema["x-kubernetes-preserve-unknown-fields"].(bool)
	return open
}
