package recipe

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// criteriaKinds are the kinds of a document with criteria. AICR's own documents have had both
// spellings.
var criteriaKinds = []string{"RecipeCriteria", "recipeCriteria"}

type criteriaDocument struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       Criteria       `json:"spec"`
}

type resultDocument struct {
	APIVersion      string         `json:"apiVersion"`
	Kind            string         `json:"kind"`
	Metadata        map[string]any `json:"metadata"`
	Criteria        Criteria       `json:"criteria"`
	Constraints     []Constraint   `json:"constraints"`
	ComponentRefs   []ComponentRef `json:"componentRefs"`
	DeploymentOrder []string       `json:"deploymentOrder"`
	Validation      map[string]any `json:"validation"`
}

// ReadCriteria reads a document of kind RecipeCriteria, as YAML or JSON: what a query asks for.
// File is how messages call it. Values are not compared with what recipes know; CheckCriteria does
// that. If anything is wrong, the error joins a *FileError for every problem.
func ReadCriteria(file string, data []byte) (Criteria, error) {
	d := &decoder{file: file}
	root, ok := d.root(data)
	kind := criteriaKinds[0]
	if ok && root != nil && valueOf(root, "kind") == criteriaKinds[1] {
		kind = criteriaKinds[1]
	}
	if !ok || !d.header(root, kind) {
		return Criteria{}, d.err()
	}
	var doc criteriaDocument
	d.decode(root, &doc, "")
	if doc.Spec.Nodes < 0 {
		d.add(Origin{file, lineOf(root, "spec", "nodes")}, "spec.nodes is %d; use 0 for any number", doc.Spec.Nodes)
	}
	return doc.Spec, d.err()
}

// ReadResult reads a resolved recipe, as YAML or JSON: a document of kind RecipeResult, of this
// program or of AICR's own. File is how messages call it. It is a stranger's text: names,
// namespaces and charts are held to the rules for overlays. Whether the components and files exist
// is for Components to say, which knows the recipes directory. If anything is wrong, the error
// joins a *FileError for every problem.
func ReadResult(file string, data []byte) (*Result, error) {
	d := &decoder{file: file}
	root, ok := d.root(data)
	if !ok || !d.header(root, ResultKind) {
		return nil, d.err()
	}
	var doc resultDocument
	d.decode(root, &doc, "")
	r := &Result{
		APIVersion: doc.APIVersion, Kind: doc.Kind, Metadata: d.resultMetadata(root, doc.Metadata), Criteria: doc.Criteria,
		Constraints: doc.Constraints, ComponentRefs: doc.ComponentRefs, DeploymentOrder: doc.DeploymentOrder, Validation: doc.Validation,
	}
	for i := range r.Constraints {
		r.Constraints[i].Origin = Origin{file, lineOf(root, "constraints", i)}
	}
	for i := range r.ComponentRefs {
		d.placeResources(r.ComponentRefs[i].ExpectedResources, func(steps ...any) int { return lineOf(root, append([]any{"componentRefs", i}, steps...)...) })
	}
	r.validationLines = linesOfValidation(file, root, r.Validation, "validation")
	d.checkResult(root, r)
	if err := d.err(); err != nil {
		return nil, err
	}
	return r, nil
}

// root reads the only document of a file.
func (d *decoder) root(data []byte) (*yaml.Node, bool) {
	root, found := parseYAML(d.file, data)
	d.addAll(found)
	return root, len(found) == 0
}

func valueOf(root *yaml.Node, key string) string {
	if n := nodeAt(root, key); n != nil {
		return n.Value
	}
	return ""
}

// resultMetadata takes what counts of the metadata; AICR writes more, e.g. the version of its
// program.
func (d *decoder) resultMetadata(root *yaml.Node, metadata map[string]any) Metadata {
	m := Metadata{AppliedOverlays: []string{}}
	at := Origin{d.file, lineOf(root, "metadata", "name")}
	switch name := metadata["name"].(type) {
	case nil:
	case string:
		if checkName(&d.problems, at, "recipe", name) {
			m.Name = name
		}
	default:
		d.add(at, "metadata.name must be a string; correct it")
	}
	overlays, ok := metadata["appliedOverlays"].([]any)
	if !ok || len(overlays) == 0 {
		d.add(Origin{d.file, lineOf(root, "metadata", "appliedOverlays")}, "metadata.appliedOverlays must list the overlays that the recipe was made of; resolve the recipe again")
	}
	if _, ok := metadata["selectedProfile"]; ok {
		d.decode(nodeAt(root, "metadata", "selectedProfile"), &m.SelectedProfile, "metadata.selectedProfile")
	}
	for i, o := range overlays {
		at := Origin{d.file, lineOf(root, "metadata", "appliedOverlays", i)}
		name, ok := o.(string)
		if !ok {
			d.add(at, "metadata.appliedOverlays[%d] must be the name of an overlay; correct it", i)
		} else if checkName(&d.problems, at, "overlay", name) {
			m.AppliedOverlays = append(m.AppliedOverlays, name)
		}
	}
	return m
}

// checkResult refuses what an overlay may not have either, and components that are not in the order
// once each.
func (d *decoder) checkResult(root *yaml.Node, r *Result) {
	if len(r.ComponentRefs) == 0 {
		d.add(Origin{d.file, lineOf(root, "componentRefs")}, "the recipe has no componentRefs, so nothing can be deployed; resolve the recipe again")
	}
	known := map[string]int{}
	for i, ref := range r.ComponentRefs {
		at := func(steps ...any) Origin {
			return Origin{d.file, lineOf(root, append([]any{"componentRefs", i}, steps...)...)}
		}
		if !checkName(&d.problems, at(), "component", ref.Name) {
			continue
		}
		if first, ok := known[ref.Name]; ok {
			d.add(at(), "component %q is already on line %d; remove one of them", ref.Name, first)
		}
		known[ref.Name] = at().Line
		d.checkPlace(ref.Name, ref.Namespace, at("namespace"), ref.Chart, at("chart"))
		if ref.Type != "" && ref.Type != TypeHelm && ref.Type != TypeKustomize {
			d.add(at("type"), "type of component %q is %.100q; use %s or %s", ref.Name, ref.Type, TypeHelm, TypeKustomize)
		}
	}
	placed := map[string]bool{}
	for i, name := range r.DeploymentOrder {
		at := Origin{d.file, lineOf(root, "deploymentOrder", i)}
		if _, ok := known[name]; !ok {
			d.add(at, "deploymentOrder names %.100q, which is not in componentRefs; correct it", name)
		} else if placed[name] {
			d.add(at, "deploymentOrder names %q twice; remove one of them", name)
		}
		placed[name] = true
	}
	for i, ref := range r.ComponentRefs {
		off := ref.Overrides[enabledKey] == false || ref.Overrides[installKey] == false
		if !placed[ref.Name] && !(off && generationOf(r.APIVersion) != March) {
			d.add(Origin{d.file, lineOf(root, "componentRefs", i)}, "component %.100q is not in deploymentOrder; add it", ref.Name)
		}
	}
}

// UnknownValueError says that a criterion has a value that no recipe can be for.
type UnknownValueError struct {
	Criterion string // as recipes call it: service, accelerator, …
	Value     string
	Supported []string // sorted, without any
}

// Error names what is supported.
func (e *UnknownValueError) Error() string {
	suggestion := hint(e.Value, e.Supported)
	if suggestion != "" {
		suggestion += " "
	}
	return fmt.Sprintf("%s %.100q is not supported: %swant one of %s, any", e.Criterion, e.Value, suggestion, strings.Join(e.Supported, ", "))
}
