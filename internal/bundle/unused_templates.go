package bundle

import (
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"helm.sh/helm/v3/pkg/chart"
)

// source is what templates read, as far as their text tells.
type source struct {
	// absolute are the keys behind .Values in each place that reads some; relative are those in a
	// place that says not what they are below: .replicas in a range, or $v.replicas.
	absolute, relative [][]string
	// words are those of string literals: index .Values "key".
	words map[string]bool
	// dumped: the values are ranged over or printed as a whole.
	dumped bool
}

var word = regexp.MustCompile(`[A-Za-z0-9_][-A-Za-z0-9_]*`)

// read adds what a template reads. Of one that is not valid, every word may be a key.
func (s *source) read(text string) {
	if s.words == nil {
		s.words = map[string]bool{}
	}
	if !strings.Contains(text, "{{") {
		return
	}
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	set := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", set); err != nil {
		s.literal(text)
		return
	}
	for _, t := range set {
		s.node(t.Root)
	}
}

func (s *source) literal(text string) {
	for _, w := range word.FindAllString(text, -1) {
		s.words[w] = true
	}
}

func (s *source) node(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				s.node(child)
			}
		}
	case *parse.ActionNode:
		s.node(n.Pipe)
	case *parse.IfNode:
		s.branch(&n.BranchNode)
	case *parse.WithNode:
		s.branch(&n.BranchNode)
	case *parse.RangeNode:
		if keys, ok := s.keys(n.Pipe); ok && isValues(keys) {
			s.dumped = true
		}
		s.branch(&n.BranchNode)
	case *parse.TemplateNode:
		s.node(n.Pipe)
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				s.node(c)
			}
		}
	case *parse.CommandNode:
		s.command(n)
	case *parse.StringNode:
		s.literal(n.Text)
	case *parse.FieldNode, *parse.VariableNode, *parse.ChainNode:
		if keys, ok := s.keys(n); ok {
			s.add(keys)
		}
	}
}

func (s *source) branch(b *parse.BranchNode) {
	s.node(b.Pipe)
	s.node(b.List)
	s.node(b.ElseList)
}

func (s *source) command(c *parse.CommandNode) {
	name, _ := c.Args[0].(*parse.IdentifierNode)
	for _, arg := range c.Args {
		if keys, ok := s.keys(arg); ok && isValues(keys) && name != nil && strings.HasPrefix(strings.ToLower(strings.TrimPrefix(name.Ident, "must")), "to") {
			s.dumped = true // toYaml .Values
		}
		s.node(arg)
	}
}

// isValues: the keys are those of all values.
func isValues(keys []string) bool { return len(keys) > 0 && keys[len(keys)-1] == valuesKey }

const valuesKey = "Values"

// keys are those of a field, of a variable's field, or of a field of one of these in parentheses;
// false if it is anything else. What else is in parentheses is read as well.
func (s *source) keys(n parse.Node) ([]string, bool) {
	switch n := n.(type) {
	case *parse.FieldNode:
		return n.Ident, true
	case *parse.VariableNode:
		return n.Ident[1:], true
	case *parse.ChainNode:
		inner, ok := s.keys(n.Node)
		if !ok {
			s.node(n.Node)
		}
		return slices.Concat(inner, n.Field), true
	case *parse.PipeNode:
		if n != nil && len(n.Cmds) == 1 && len(n.Cmds[0].Args) == 1 {
			return s.keys(n.Cmds[0].Args[0])
		}
	}
	return nil, false
}

func (s *source) add(keys []string) {
	if i := slices.Index(keys, valuesKey); i >= 0 {
		s.absolute = append(s.absolute, keys[i+1:])
	} else if len(keys) > 0 {
		s.relative = append(s.relative, keys)
	}
}

// strip takes a component's name off what the templates of its manifests read: their values are
// under it.
func (s *source) strip(component string) {
	for i, keys := range s.absolute {
		if len(keys) > 0 && keys[0] == component {
			s.absolute[i] = keys[1:]
		}
	}
}

// tree is what the templates of a chart and of its subcharts read.
type tree struct {
	own map[*chart.Chart]*source
	// shared is what may be read of any chart's values: a named template sees those of the chart
	// that includes it, and relative keys say not whose they are.
	shared *source
}

func readTree(ch *chart.Chart) *tree {
	t := &tree{own: map[*chart.Chart]*source{}, shared: &source{words: map[string]bool{}}}
	everyChart(ch, func(c *chart.Chart) {
		s := &source{}
		for _, f := range slices.Concat(c.Templates, c.Files) {
			s.read(string(f.Data))
		}
		texts(c.Values, s.read) // for tpl
		t.own[c] = s
		t.shared.relative = append(t.shared.relative, s.relative...)
		for w := range s.words {
			t.shared.words[w] = true
		}
		for _, f := range c.Templates {
			if strings.Contains(string(f.Data), "define") {
				named := &source{}
				named.read(string(f.Data))
				t.shared.absolute = append(t.shared.absolute, named.absolute...)
			}
		}
	})
	return t
}

// texts calls do for every text in values.
func texts(v any, do func(string)) {
	switch v := v.(type) {
	case string:
		do(v)
	case []any:
		for _, item := range v {
			texts(item, do)
		}
	case map[string]any:
		for _, item := range v {
			texts(item, do)
		}
	}
}

// judge says whether nothing reads the value, and if so what is known of its key.
func (t *tree) judge(q *question, manifests *source) (unusedValue, bool) {
	v := unusedValue{Paths: []string{strings.Join(q.keys, ".")}}
	for {
		read, deeper, whole := t.reading(q, manifests)
		v.Whole = v.Whole || whole
		key := q.keys[q.unknown]
		if read || t.shared.words[key] || manifests.words[key] ||
			t.shared.relatively(q.keys, q.unknown, v.Whole) || manifests.relatively(q.keys, q.unknown, v.Whole) {
			return v, false
		}
		if !deeper {
			break
		}
		// Templates read what is below the key, and so tell what may be there.
		if q.unknown++; q.unknown == len(q.keys) {
			return v, false
		}
	}
	if v.Whole && !t.likeRecord(q) {
		return v, false
	}
	v.Keys = q.keys[:q.unknown+1]
	v.Near = q.near(func(s *scope) []string {
		path := q.keys[s.depth:max(q.unknown, s.depth)]
		near := slices.Concat(t.own[s.chart].at(path), t.shared.at(path))
		if v.Whole {
			for _, have := range t.shared.relative {
				near = append(near, have[0])
			}
		}
		return near
	})
	return v, true
}

// reading asks each template whether it reads the value's key by its path, what is below it, or a
// map above it as a whole.
func (t *tree) reading(q *question, manifests *source) (read, deeper, whole bool) {
	for i := range q.scopes {
		s := &q.scopes[i]
		if s.depth > q.unknown {
			continue
		}
		for _, from := range []*source{t.own[s.chart], t.shared, manifests} {
			r, d, w := from.absolutely(q.keys[s.depth:], q.unknown-s.depth)
			read, deeper, whole = read || r, deeper || d, whole || w || from.dumped
		}
	}
	return read, deeper, whole
}

// absolutely reports whether the key at an index is read by its whole path, whether only what is
// below it is, and whether a map above it is taken as a whole.
func (s *source) absolutely(keys []string, index int) (read, deeper, whole bool) {
	for _, have := range s.absolute {
		n := min(len(have), index+1)
		if n == 0 || !slices.Equal(have[:n], keys[:n]) {
			continue
		}
		switch {
		case len(have) == index+1:
			read = true
		case len(have) > index+1:
			deeper = true
		default:
			whole = true
		}
	}
	return read, deeper, whole
}

// relatively reports whether the key at an index is read in a place that says not what it is below:
// as far as it says, that must fit. Loosely, it need not, since the map above it is handed on under
// another name.
func (s *source) relatively(keys []string, index int, loosely bool) bool {
	return slices.ContainsFunc(s.relative, func(have []string) bool {
		for j, k := range have {
			if k != keys[index] {
				continue
			}
			n := min(j, index)
			if loosely || slices.Equal(have[j-n:j], keys[index-n:index]) {
				return true
			}
		}
		return false
	})
}

// at are the keys that are read directly below a path.
func (s *source) at(path []string) []string {
	var found []string
	for _, have := range s.absolute {
		if len(have) > len(path) && slices.Equal(have[:len(path)], path) {
			found = append(found, have[len(path)])
		}
	}
	return found
}

// likeRecord: templates read each of the defaults beside the key by its name, so what they do not
// name is not read. Of another map, such as the limits of a container, any key may be.
func (t *tree) likeRecord(q *question) bool {
	for i := range q.scopes {
		s := &q.scopes[i]
		if s.unknown == s.depth {
			continue // a chart's values themselves
		}
		path := q.keys[:s.unknown]
		for sibling := range s.siblings {
			keys := append(slices.Clone(path), sibling)
			read := t.shared.words[sibling] || t.shared.relatively(keys, len(path), true)
			for _, from := range []*source{t.own[s.chart], t.shared} {
				by, below, _ := from.absolutely(keys[s.depth:], len(path)-s.depth)
				read = read || by || below
			}
			if !read {
				return false
			}
		}
	}
	return true
}
