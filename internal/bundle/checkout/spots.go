package checkout

import (
	"path"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/recipe/kustomization"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Patch is an entry of patches that a deployer lays over a kustomization.
type Patch struct {
	Entry string // JSON
	File  string
	Node  *yamlv3.Node
}

// otherFile shifts the position of a file into the line of a node, where the node is not from the
// file of its object: what a patch sets has the patch's file and line.
const otherFile = 24

// Spot is the line of a node from a file, in an object of another one.
func (r *Repository) Spot(o Object, file string, line int) int {
	if file == o.File || line == 0 {
		return line
	}
	i := slices.Index(r.others, file)
	if i < 0 {
		i = len(r.others)
		r.others = append(r.others, file)
	}
	return (i+1)<<otherFile | line
}

// Place is the file and the line of a node of an object.
func (r *Repository) Place(o Object, line int) (string, int) {
	if i := line >> otherFile; i > 0 {
		return r.others[i-1], line & (1<<otherFile - 1)
	}
	return o.File, line
}

// Source is what the objects of a kustomization are made of.
type Source struct {
	repo    *Repository
	files   map[string][]*yamlv3.Node
	patches []written
}

// written is a node as it stands in a file, or in a block of text in one.
type written struct {
	file   string
	offset int // of the block's lines
	node   *yamlv3.Node
	kind   string // that a patch is for; empty if it does not say
}

func (w written) line() int { return w.node.Line + w.offset }

// Sources reads the files of a kustomization for the lines in them.
func (r *Repository) Sources(files []kustomization.File, over []Patch) *Source {
	s := &Source{repo: r, files: map[string][]*yamlv3.Node{}}
	for _, f := range files {
		docs, _ := yamlx.Documents(f.Content) // Kustomize has read it, or it is data
		for _, d := range docs {
			if len(d.Content) == 1 {
				s.files[f.Path] = append(s.files[f.Path], d.Content[0])
			}
		}
	}
	for _, f := range files {
		if !slices.Contains(kustomization.Names, path.Base(f.Path)) {
			continue
		}
		for _, root := range s.files[f.Path] {
			for _, key := range []string{"patches", "patchesStrategicMerge", "patchesJson6902"} {
				if list := yamlx.Find(root, key); list != nil {
					for _, item := range list.Content {
						s.patch(f.Path, item)
					}
				}
			}
		}
	}
	for _, p := range over {
		s.patch(p.File, p.Node)
	}
	return s
}

// patch adds an entry of a list of patches.
func (s *Source) patch(file string, item *yamlv3.Node) {
	kind := yamlx.Text(item, "target", "kind")
	if name := yamlx.Text(item, "path"); name != "" || item.Kind == yamlv3.ScalarNode && !strings.Contains(item.Value, "\n") {
		if name == "" {
			name = item.Value
		}
		at := path.Join(path.Dir(file), name)
		for _, n := range s.files[at] {
			s.add(written{file: at, node: n, kind: kind})
		}
		return
	}
	text := item
	if n := yamlx.Find(item, "patch"); n != nil {
		text = n
	}
	docs, err := yamlx.Documents([]byte(text.Value))
	if err != nil {
		return
	}
	file, offset := s.repo.Place(Object{File: file}, text.Line) // a patch of a patch is from the file of that
	if text.Style&(yamlv3.LiteralStyle|yamlv3.FoldedStyle) == 0 && !strings.Contains(strings.TrimSpace(text.Value), "\n") {
		offset-- // its text begins in its own line; one of several lines is a block in its file, however it was written again since
	}
	for _, d := range docs {
		if len(d.Content) == 1 {
			s.add(written{file: file, offset: offset, node: d.Content[0], kind: kind})
		}
	}
}

// add notes a patch: a document like the object, or a list of operations.
func (s *Source) add(w written) {
	if w.node.Kind != yamlv3.SequenceNode {
		if w.kind == "" {
			w.kind = yamlx.Text(w.node, "kind")
		}
		w.node = yamlx.Clone(w.node)
		for _, key := range []string{"apiVersion", "kind"} { // say what it is for, and set nothing
			yamlx.Drop(w.node, key)
		}
		yamlx.Drop(yamlx.Find(w.node, "metadata"), "name")
		s.patches = append(s.patches, w)
		return
	}
	for _, op := range w.node.Content {
		value := yamlx.Find(op, "value")
		if value == nil {
			continue
		}
		steps := strings.Split(strings.Trim(yamlx.Text(op, "path"), "/"), "/")
		for _, step := range slices.Backward(steps) {
			key := &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!str", Value: strings.NewReplacer("~1", "/", "~0", "~").Replace(step)}
			key.Line = value.Line
			value = &yamlv3.Node{Kind: yamlv3.MappingNode, Tag: "!!map", Line: value.Line, Content: []*yamlv3.Node{key, value}}
		}
		s.patches = append(s.patches, written{w.file, w.offset, value, w.kind})
	}
}

// Mark gives the nodes of an object that Kustomize made the lines of the file, or of the patch, that
// has them. What neither has is where the value around it is.
func (s *Source) Mark(o Object) {
	var from []written
	best := 0
	for _, n := range s.files[o.File] {
		rank := 0
		if name := yamlx.Text(n, "metadata", "name"); yamlx.Text(n, "kind") == o.Kind() {
			rank = 1
			if name == o.Name() {
				rank = 3
			} else if strings.Contains(o.Name(), name) {
				rank = 2
			}
		}
		if rank > best {
			best, from = rank, []written{{file: o.File, node: n}}
		}
	}
	around := 1
	if len(from) > 0 {
		around = from[0].node.Line
	}
	for _, p := range s.patches {
		if p.kind == "" || p.kind == o.Kind() {
			from = append(from, p)
		}
	}
	s.lines(o, o.Node, from, around)
}

// lines marks a node; from are the nodes at the same place of what it is made of.
func (s *Source) lines(o Object, n *yamlv3.Node, from []written, around int) {
	n.Line = around
	for _, w := range from {
		if w.node.Kind != n.Kind || n.Kind == yamlv3.ScalarNode && strings.TrimSpace(w.node.Value) != strings.TrimSpace(n.Value) {
			continue
		}
		n.Line = s.repo.Spot(o, w.file, w.line())
		if n.Kind != yamlv3.ScalarNode {
			break // a patch adds to what the file has
		}
	}
	for i, c := range n.Content {
		switch {
		case n.Kind == yamlv3.SequenceNode:
			s.lines(o, c, items(from, c, i), n.Line)
		case n.Kind == yamlv3.MappingNode && i%2 == 1:
			key, inner := n.Content[i-1], values(from, n.Content[i-1].Value)
			s.lines(o, c, inner, n.Line)
			key.Line = c.Line
			for _, w := range inner {
				if c.Kind != yamlv3.ScalarNode && w.node.Kind == c.Kind { // the line of its key, as of a scalar
					key.Line = s.repo.Spot(o, w.file, w.node.Line+w.offset)
					break
				}
			}
		}
	}
}

// values are what nodes have under a key.
func values(from []written, key string) []written {
	var all []written
	for _, w := range from {
		if n := yamlx.Find(w.node, key); n != nil {
			w.node = n
			all = append(all, w)
		}
	}
	return all
}

// items are what lists have in the place of an item: that of the same name, or at the same position.
// Operations name a position.
func items(from []written, item *yamlv3.Node, i int) []written {
	var all []written
	for _, w := range from {
		switch w.node.Kind {
		case yamlv3.MappingNode:
			all = append(all, values([]written{w}, strconv.Itoa(i))...)
		case yamlv3.SequenceNode:
			name := yamlx.Text(item, "name")
			at := slices.IndexFunc(w.node.Content, func(n *yamlv3.Node) bool { return name != "" && yamlx.Text(n, "name") == name })
			if at < 0 && name == "" && i < len(w.node.Content) {
				at = i
			}
			if at >= 0 {
				w.node = w.node.Content[at]
				all = append(all, w)
			}
		}
	}
	return all
}

// Number notes for the lines of a node those of the node that it was written from. What is in a node
// counts before the node: another key may be its first one now.
func Number(now, before *yamlv3.Node, lines map[int]int) {
	for i := 0; i < len(now.Content) && i < len(before.Content); i++ {
		Number(now.Content[i], before.Content[i], lines)
	}
	if _, ok := lines[now.Line]; !ok && before.Line > 0 {
		lines[now.Line] = before.Line
	}
}

// Renumber gives a node and those in it other lines.
func Renumber(n *yamlv3.Node, to func(line int) int) {
	n.Line = to(n.Line)
	for _, c := range n.Content {
		Renumber(c, to)
	}
}

// SameLines gives a node and those in it the lines of the node that it was made from; what that does
// not have is on the line around it.
func SameLines(n, from *yamlv3.Node, around int) {
	if n.Line = around; from != nil {
		n.Line = from.Line
	}
	for i, c := range n.Content {
		var old *yamlv3.Node
		switch {
		case n.Kind == yamlv3.MappingNode && i%2 == 0:
			continue
		case n.Kind == yamlv3.MappingNode:
			key := n.Content[i-1]
			old = yamlx.Find(from, key.Value)
			key.Line = keyLine(from, key.Value, n.Line)
		case from != nil && from.Kind == yamlv3.SequenceNode && i < len(from.Content):
			old = from.Content[i]
		}
		SameLines(c, old, n.Line)
	}
}

// keyLine is the line of a mapping's key, or around.
func keyLine(from *yamlv3.Node, key string, around int) int {
	for i := 0; from != nil && from.Kind == yamlv3.MappingNode && i+1 < len(from.Content); i += 2 {
		if from.Content[i].Value == key {
			return from.Content[i].Line
		}
	}
	return around
}

// Like gives the nodes of an object the lines of a template that have the same key and text, or
// otherwise that of what is around them.
func Like(n *yamlv3.Node, lines []string, around int) {
	n.Line = around
	for i, c := range n.Content {
		if n.Kind != yamlv3.MappingNode || i%2 == 0 {
			Like(c, lines, around)
			continue
		}
		key := n.Content[i-1]
		text := key.Value + ":"
		if c.Kind == yamlv3.ScalarNode {
			text += " " + c.Value
		}
		at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, text) }) + 1
		if at == 0 {
			at = slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " -{"), key.Value+":") }) + 1
		}
		if at == 0 {
			at = around
		}
		Like(c, lines, at)
		key.Line = at
	}
}

// TemplateOf reads the name of a template from the comment that Helm writes above its objects.
func TemplateOf(doc *yamlv3.Node, chart, dir string) string {
	comment := doc.HeadComment
	for n := doc; comment == "" && len(n.Content) > 0; {
		n = n.Content[0]
		comment = n.HeadComment
	}
	for _, line := range strings.Split(comment, "\n") {
		if name, ok := strings.CutPrefix(line, "# Source: "+chart+"/"); ok {
			return path.Join(dir, name)
		}
	}
	return path.Join(dir, chartFile)
}
