package intake

import (
	"maps"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/policy"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// fields refuses an object of Argo CD or Flux with a field that may configure a controller beyond
// what a bundle needs (package policy). rendered: the lines are not those of the file.
func (t *tree) fields(file string, n *yamlv3.Node, rendered bool) error {
	var object map[string]any
	if err := n.Decode(&object); err != nil {
		return t.bad(file, n.Line, "not an object: %w", err)
	}
	if refused := policy.Check(yamlx.Text(n, "kind"), object); refused != nil {
		line := yamlx.LineOf(n, refused.Path...)
		if rendered {
			line = 0
		}
		return t.bad(file, line, "%s %s: %w", refused.Rule.Kind, yamlx.Text(n, "metadata", "name"), refused)
	}
	return nil
}

// applicationFields is fields for an Application; another kind is refused when it is read.
func (t *tree) applicationFields(file string, n *yamlv3.Node, rendered bool) error {
	if yamlx.Text(n, "kind") != "Application" {
		return nil
	}
	return t.fields(file, n, rendered)
}

// reserved refuses an object that only the harness may make, or one that makes Flux build another
// directory.
func (t *tree) reserved(file string, n *yamlv3.Node) error {
	o, err := objectOf(n)
	if err != nil {
		return t.bad(file, n.Line, "not an object: %w", err)
	}
	if why := policy.WhyReserved(o); why != "" {
		return t.bad(file, n.Line, "%s %s %s; a bundle may not deliver it", o.GetKind(), o.GetName(), why)
	}
	return nil
}

// objectOf gives a node as an object of Kubernetes.
func objectOf(n *yamlv3.Node) (*unstructured.Unstructured, error) {
	data, err := yamlx.Encode([]*yamlv3.Node{n})
	if err != nil {
		return nil, err
	}
	if data, err = yaml.YAMLToJSON(data); err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	return o, json.Unmarshal(data, &o.Object)
}

// valueSet is the values of a release, with the place that sets each of them.
type valueSet struct {
	values  map[string]any
	origins map[string]recipe.Origin
	// whole is where the values as a whole are; zero if the release has none.
	whole recipe.Origin
}

// valuesAt reads the values that are a mapping of a file. A nil node is none.
func valuesAt(n *yamlv3.Node, place func(line int) recipe.Origin) (valueSet, error) {
	v := valueSet{values: map[string]any{}, origins: map[string]recipe.Origin{}}
	if n == nil || n.Tag == "!!null" {
		return v, nil
	}
	v.whole = place(n.Line)
	data, err := yamlx.Encode([]*yamlv3.Node{n})
	if err != nil {
		return v, err
	}
	if v.values, err = chartutil.ReadValues(data); err != nil {
		return v, err
	}
	v.record(n, "", place)
	return v, nil
}

func (v *valueSet) record(n *yamlv3.Node, above string, place func(line int) recipe.Origin) {
	for i := 0; n.Kind == yamlv3.MappingNode && i+1 < len(n.Content); i += 2 {
		at := above + n.Content[i].Value
		origin := place(n.Content[i].Line)
		origin.Written = document.Written(n.Content[i+1])
		v.origins[at] = origin
		if value := n.Content[i+1]; value.Kind == yamlv3.MappingNode { // an alias is set where it is used
			v.record(value, at+".", place)
		}
	}
}

// over lays other values over these, as Helm does with a second file.
func (v *valueSet) over(o valueSet) {
	merge(v.values, o.values)
	maps.Copy(v.origins, o.origins)
	if o.whole.File != "" {
		v.whole = o.whole
	}
}

func merge(into, from map[string]any) {
	for k, value := range from {
		a, isMap := into[k].(map[string]any)
		if b, ok := value.(map[string]any); ok && isMap {
			merge(a, b)
			continue
		}
		into[k] = value
	}
}

// below gives the part of the values under a key.
func (v valueSet) below(key string) valueSet {
	part, _ := v.values[key].(map[string]any)
	out := valueSet{values: part, origins: map[string]recipe.Origin{}, whole: v.whole}
	if at, ok := v.origins[key]; ok {
		out.whole = at
	}
	for p, o := range v.origins {
		if rest, ok := strings.CutPrefix(p, key+"."); ok {
			out.origins[rest] = o
		}
	}
	return out
}

// nearest is the place that sets a value path, or what is above it.
func (v valueSet) nearest(p string) recipe.Origin {
	for {
		if o, ok := v.origins[p]; ok {
			return o
		}
		i := strings.LastIndex(p, ".")
		if i < 0 {
			return v.whole
		}
		p = p[:i]
	}
}
