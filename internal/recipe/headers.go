package recipe

import (
	"io/fs"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// OpenHeaders reads only the names, bases, criteria and constraints of the overlays in a recipes
// directory. It ignores other fields and kinds, and accepts every apiVersion. It is for recipes
// that another program resolves: their results have no components.
func OpenHeaders(fsys fs.FS, root string) (*Store, error) {
	l := &loader{Store: &Store{
		files:    document.FilesOf(Layer{FS: fsys, Root: root}),
		overlays: map[string]*Overlay{}, mixins: map[string]*mixin{}, values: map[string]*document.Tree{}, registry: map[string]registered{},
	}, broken: map[string]bool{}}
	for _, file := range append(l.list("overlays", true), l.files.Strays(componentsDir, checksDir)...) {
		l.loadHeader(file)
	}
	for _, v := range l.versions {
		l.newest = document.NewestOf(l.newest, v.apiVersion)
	}
	l.generation = document.GenerationOf(l.newest)
	l.checkBases()
	if err := l.Err(); err != nil {
		return nil, err
	}
	return l.Store, nil
}

// loadHeader reads the header of an overlay. A document of another kind is left out.
func (l *loader) loadHeader(file string) {
	d := newDecoder(l.display(file))
	defer func() { l.AddAll(d.Found) }()
	root, ok := l.parse(file)
	if !ok || root == nil || valueOf(root, "kind") != document.OverlayKind {
		return
	}
	l.versions = append(l.versions, versionPlace{valueOf(root, "apiVersion"), Origin{File: d.File, Line: root.Line}})
	var metadata struct {
		Name string `json:"name"`
	}
	if n := document.NodeAt(root, "metadata", "name"); n != nil {
		metadata.Name = n.Value
	}
	at := Origin{File: d.File, Line: document.LineOf(root, "metadata", "name")}
	if !document.CheckName(&d.Problems, at, "overlay", metadata.Name) {
		return
	}
	if first, ok := l.overlays[metadata.Name]; ok {
		d.Add(at, "overlay %q is already at %s; %s", metadata.Name, first.Origin, l.adviceOnTwo())
		return
	}
	o := &Overlay{Name: metadata.Name, Origin: at, lines: overlayLines{base: document.LineOf(root, "spec", "base")}}
	if n := document.NodeAt(root, "spec", "base"); n != nil {
		o.Base = n.Value
	}
	if o.Base == "" && o.Name != baseOverlay {
		o.Base = baseOverlay
	}
	if n := document.NodeAt(root, "spec", "criteria"); n != nil {
		o.lines.criteria = lineOfCriteria(root)
		d.lenient(n, &o.Criteria, "spec.criteria")
	}
	var constraints []Constraint
	for i := 0; ; i++ {
		n := document.NodeAt(root, "spec", "constraints", i)
		if n == nil {
			break
		}
		c := Constraint{Origin: Origin{File: d.File, Line: n.Line}}
		d.lenient(n, &c, "spec.constraints")
		if c.Name != "" && c.Value != "" {
			constraints = append(constraints, c)
		}
	}
	o.layer = layer{constraints: constraints}
	l.overlays[o.Name] = o
}

// lenient decodes a mapping without the fields that it does not know.
func (d *decoder) lenient(n *yaml.Node, out any, where string) {
	before := len(d.Found)
	d.Decode(n, out, where)
	d.Found = d.Found[:before]
}
