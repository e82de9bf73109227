package statefile

import (
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// empty reports whether a value is the zero one of its type, which replaces none: helmfile's library
// for merging cannot tell it from one that is not there.
func empty(n *yamlv3.Node) bool {
	return n.Kind == yamlv3.ScalarNode && slices.Contains([]string{"", "0", "false", "null", "~"}, n.Value)
}

// overlay lays a mapping over another one: mappings are merged, and the rest is replaced, except
// that lists may be appended.
func overlay(under, over *yamlv3.Node, appending bool) {
	for i := 0; i+1 < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		have := yamlx.Find(under, key.Value)
		switch {
		case have == nil:
			under.Content = append(under.Content, key, value)
		case have.Kind == yamlv3.MappingNode && value.Kind == yamlv3.MappingNode:
			overlay(have, value, appending)
		case have.Kind == yamlv3.SequenceNode && value.Kind == yamlv3.SequenceNode && (appending || len(value.Content) == 0):
			have.Content = append(have.Content, value.Content...)
		case !empty(value):
			*have = *value
		}
	}
}

// plain replaces aliases and merge keys (<<) by what they stand for. yamlx.Documents has refused
// those that stand for too much.
func plain(n *yamlv3.Node) *yamlv3.Node {
	if n.Kind == yamlv3.AliasNode {
		return plain(yamlx.Clone(n.Alias))
	}
	n.Anchor = ""
	if n.Kind != yamlv3.MappingNode {
		for i, c := range n.Content {
			n.Content[i] = plain(c)
		}
		return n
	}
	var own, merged []*yamlv3.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], plain(n.Content[i+1])
		if key.Tag != "!!merge" && key.Value != "<<" {
			own = append(own, key, value)
			continue
		}
		if value.Kind == yamlv3.MappingNode {
			merged = append(merged, value)
		}
		if value.Kind == yamlv3.SequenceNode {
			merged = append(merged, value.Content...)
		}
	}
	n.Content = own
	for _, m := range merged {
		for i := 0; m.Kind == yamlv3.MappingNode && i+1 < len(m.Content); i += 2 {
			if yamlx.Find(n, m.Content[i].Value) == nil {
				n.Content = append(n.Content, m.Content[i], m.Content[i+1])
			}
		}
	}
	return n
}

// actions are those of a template, some of which span lines.
var actions = regexp.MustCompile(`(?s)\{\{.*?\}\}`)

// aligned gives for each line that a template made the line that made it, both from 1: the next one
// that fits, or where a loop begins again, the first one. A line that none fits belongs to the line before it.
func aligned(template, made string) []int {
	var fits []func(string) bool
	for line := range strings.SplitSeq(actions.ReplaceAllStringFunc(template, func(action string) string {
		return "\x00" + strings.Repeat("\n\x00", strings.Count(action, "\n"))
	}), "\n") {
		parts := strings.Split(strings.TrimRight(line, " \t\r"), "\x00")
		if strings.Trim(strings.Join(parts, ""), " -{}[]\"'") == "" {
			fits = append(fits, func(string) bool { return false }) // only actions, or nothing
			continue
		}
		fits = append(fits, func(text string) bool { return matches(strings.TrimRight(text, " \t\r"), parts) })
	}
	find := func(text string, from, to int) int {
		for i := from; i < to; i++ {
			if fits[i](text) {
				return i
			}
		}
		return -1
	}
	var all []int
	next, last := 0, 1
	for line := range strings.SplitSeq(made, "\n") {
		at := find(line, next, len(fits))
		if at < 0 {
			at = find(line, 0, next)
		}
		if at >= 0 {
			last, next = at+1, at+1
		}
		all = append(all, last)
	}
	return all
}

// matches reports whether a text has these parts, with anything between them.
func matches(text string, parts []string) bool {
	if len(parts) == 1 {
		return text == parts[0]
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}

// top is a key of a document of helmfile, and seam what is between two documents.
var (
	top  = regexp.MustCompile(`^([a-zA-Z]+):`)
	seam = regexp.MustCompile(`^--- *$`)
)

// disordered gives the line of releases beside, or before, environments or bases, which helmfile
// evaluates first and so refuses there (its pkg/policy); 0 if there is none.
func disordered(text string) (line int, key string) {
	releases, environments := false, false // so far: in the file, and in the document
	for i, l := range strings.Split(text, "\n") {
		if seam.MatchString(l) {
			environments = false
			continue
		}
		m := top.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		switch m[1] {
		case "releases":
			if environments {
				return i + 1, "environments"
			}
			releases = true
		case "environments", "bases":
			if releases {
				return i + 1, m[1]
			}
			environments = environments || m[1] == "environments"
		}
	}
	return 0, ""
}
