package recipe

import (
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"go.yaml.in/yaml/v3"
)

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
	Configuration   *Configuration `json:"configuration"`
	Constraints     []Constraint   `json:"constraints"`
	ComponentRefs   []ComponentRef `json:"componentRefs"`
	DeploymentOrder []string       `json:"deploymentOrder"`
	Validation      map[string]any `json:"validation"`
}

// Format is a kind of document. Value is a zero value of what it is read into, whose json tags are
// the names of its fields.
type Format struct {
	Kind  string
	Value any
}

// Formats are the documents that people write for this package, for programs that describe them.
func Formats() []Format {
	return []Format{
		{document.OverlayKind, overlayDocument{}}, {document.MixinKind, mixinDocument{}}, {document.RegistryKind, registryDocument{}},
		{document.CriteriaKinds[0], criteriaDocument{}}, {document.ResultKind, resultDocument{}},
	}
}

// ReadCriteria reads a query: a document of kind RecipeCriteria, as YAML or JSON. File is its name
// in messages. CheckCriteria, and not this function, compares the values with those of the recipes.
// The error joins a *FileError for every problem.
func ReadCriteria(file string, data []byte) (Criteria, error) {
	d := newDecoder(file)
	root, ok := d.root(data)
	kind := document.CriteriaKinds[0]
	if ok && root != nil && valueOf(root, "kind") == document.CriteriaKinds[1] {
		kind = document.CriteriaKinds[1]
	}
	if !ok || !d.Header(root, kind) {
		return Criteria{}, d.Err()
	}
	var doc criteriaDocument
	d.Decode(root, &doc, "")
	if doc.Spec.Nodes < 0 {
		d.Add(Origin{File: file, Line: document.LineOf(root, "spec", "nodes")}, "spec.nodes is %d; use 0 for any number", doc.Spec.Nodes)
	}
	return doc.Spec, d.Err()
}

// ReadResult reads a resolved recipe, as YAML or JSON: a document of kind RecipeResult, of this
// program or of AICR's own. File is its name in messages. The text is untrusted: names, namespaces
// and charts must follow the rules for overlays. Components checks whether the components and files
// exist, since it knows the recipes directory. The error joins a *FileError for every problem.
func ReadResult(file string, data []byte) (*Result, error) {
	d := newDecoder(file)
	root, ok := d.root(data)
	if !ok || !d.Header(root, document.ResultKind) {
		return nil, d.Err()
	}
	var doc resultDocument
	d.Lenient = document.GenerationOf(d.APIVersion) != document.March
	d.Decode(root, &doc, "")
	r := &Result{
		APIVersion: doc.APIVersion, Kind: doc.Kind, Metadata: d.resultMetadata(root, doc.Metadata), Criteria: doc.Criteria, Configuration: doc.Configuration,
		Constraints: doc.Constraints, ComponentRefs: doc.ComponentRefs, DeploymentOrder: doc.DeploymentOrder, Validation: doc.Validation,
	}
	for i := range r.Constraints {
		r.Constraints[i].Origin = Origin{File: file, Line: document.LineOf(root, "constraints", i)}
	}
	for i := range r.ComponentRefs {
		d.placeResources(r.ComponentRefs[i].ExpectedResources, func(steps ...any) int { return document.LineOf(root, append([]any{"componentRefs", i}, steps...)...) })
	}
	r.validationLines = linesOfValidation(file, root, r.Validation, "validation")
	d.checkResult(root, r)
	r.unknown = document.Lines(d.Notes)
	if err := d.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// Unknown says what a result that was read has, and this release does not know.
func (r *Result) Unknown() []string { return r.unknown }

// root reads the only document of a file.
func (d *decoder) root(data []byte) (*yaml.Node, bool) {
	root, found := document.ParseYAML(d.File, data)
	d.AddAll(found)
	return root, len(found) == 0
}

func valueOf(root *yaml.Node, key string) string {
	if n := document.NodeAt(root, key); n != nil {
		return n.Value
	}
	return ""
}

// resultMetadata takes what counts of the metadata; AICR writes more, e.g. the version of its
// program.
func (d *decoder) resultMetadata(root *yaml.Node, metadata map[string]any) Metadata {
	m := Metadata{AppliedOverlays: []string{}}
	at := Origin{File: d.File, Line: document.LineOf(root, "metadata", "name")}
	switch name := metadata["name"].(type) {
	case nil:
	case string:
		if document.CheckName(&d.Problems, at, "recipe", name) {
			m.Name = name
		}
	default:
		d.Add(at, "metadata.name must be a string; correct it")
	}
	overlays, ok := metadata["appliedOverlays"].([]any)
	if !ok || len(overlays) == 0 {
		d.Add(Origin{File: d.File, Line: document.LineOf(root, "metadata", "appliedOverlays")}, "metadata.appliedOverlays must list the overlays that the recipe was made of; resolve the recipe again")
	}
	if _, ok := metadata["selectedProfile"]; ok {
		d.Decode(document.NodeAt(root, "metadata", "selectedProfile"), &m.SelectedProfile, "metadata.selectedProfile")
	}
	for i, o := range overlays {
		at := Origin{File: d.File, Line: document.LineOf(root, "metadata", "appliedOverlays", i)}
		name, ok := o.(string)
		if !ok {
			d.Add(at, "metadata.appliedOverlays[%d] must be the name of an overlay; correct it", i)
		} else if document.CheckName(&d.Problems, at, "overlay", name) {
			m.AppliedOverlays = append(m.AppliedOverlays, name)
		}
	}
	return m
}

// checkResult refuses what an overlay may not have either, and components that are not in the order
// once each.
func (d *decoder) checkResult(root *yaml.Node, r *Result) {
	if len(r.ComponentRefs) == 0 {
		d.Add(Origin{File: d.File, Line: document.LineOf(root, "componentRefs")}, "the recipe has no componentRefs, so nothing can be deployed; resolve the recipe again")
	}
	known := map[string]int{}
	for i, ref := range r.ComponentRefs {
		at := func(steps ...any) Origin {
			return Origin{File: d.File, Line: document.LineOf(root, append([]any{"componentRefs", i}, steps...)...)}
		}
		if !document.CheckName(&d.Problems, at(), "component", ref.Name) {
			continue
		}
		if first, ok := known[ref.Name]; ok {
			d.Add(at(), "component %q is already on line %d; remove one of them", ref.Name, first)
		}
		known[ref.Name] = at().Line
		document.CheckPlace(&d.Problems, ref.Name, ref.Namespace, at("namespace"), ref.Chart, at("chart"))
		if known := shapeType(ref.Type, document.GenerationOf(r.APIVersion) != document.March); known != "" {
			r.ComponentRefs[i].Type = known
		} else if ref.Type != "" {
			d.Add(at("type"), "type of component %q is %.100q; use %s or %s", ref.Name, ref.Type, TypeHelm, TypeKustomize)
		}
	}
	placed := map[string]bool{}
	for i, name := range r.DeploymentOrder {
		at := Origin{File: d.File, Line: document.LineOf(root, "deploymentOrder", i)}
		if _, ok := known[name]; !ok {
			d.Add(at, "deploymentOrder names %.100q, which is not in componentRefs; correct it", name)
		} else if placed[name] {
			d.Add(at, "deploymentOrder names %q twice; remove one of them", name)
		}
		placed[name] = true
	}
	for i, ref := range r.ComponentRefs {
		off := ref.LeftOut()
		if !placed[ref.Name] && !(off && document.GenerationOf(r.APIVersion) != document.March) {
			d.Add(Origin{File: d.File, Line: document.LineOf(root, "componentRefs", i)}, "component %.100q is not in deploymentOrder; add it", ref.Name)
		}
	}
}
