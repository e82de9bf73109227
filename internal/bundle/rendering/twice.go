package rendering

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Doubtful lists what the deployers do not read alike in the object's document, one line each with
// the place in the chart: keys that are there twice in one map, words like yes and n without
// quotes, and aliases from one item of a List to another. file names the template for people.
func (o Object) Doubtful(ch *chart.Chart, file string) []string {
	var doc yaml.Node
	if isCRD(o.text) && !maybeBoolean(o.text) || yaml.Unmarshal([]byte(o.text), &doc) != nil {
		return nil
	}
	var found []string
	say := func(path []string, line int, format string, args ...any) {
		at := manifestline.In(ch, o.Template, manifestline.Object{Kind: o.GetKind(), Name: o.GetName()}, path...)
		if at == o.Template || file != o.Template {
			at = fmt.Sprintf("%s, line %d of the document of %s %s", file, line, o.GetKind(), o.GetName())
		}
		found = append(found, strings.TrimSpace(fmt.Sprintf("%s %s (%s)", strings.Join(path, "."), fmt.Sprintf(format, args...), at)))
	}
	var walk func(n *yaml.Node, path []string)
	walk = func(n *yaml.Node, path []string) {
		switch n.Kind {
		case yaml.DocumentNode:
			for _, c := range n.Content {
				walk(c, path)
			}
		case yaml.SequenceNode:
			for i, c := range n.Content {
				walk(c, append(path[:len(path):len(path)], fmt.Sprint(i)))
			}
		case yaml.ScalarNode:
			if was, ok := oldBoolean(n); ok {
				say(path, n.Line, "is %s without quotes: Helm and Argo CD read it as %s, and Flux as text", n.Value, was)
			}
		case yaml.MappingNode:
			seen := map[string]bool{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i]
				here := append(path[:len(path):len(path)], key.Value)
				if seen[key.Value] && key.Value != "<<" {
					say(here, key.Line, "is there twice: the last one counts, and Flux rejects the document")
				}
				if was, ok := oldBoolean(key); ok {
					say(here, key.Line, "is a key without quotes: Helm and Argo CD read it as %s, and Flux as text", was)
				}
				seen[key.Value] = true
				walk(n.Content[i+1], here)
			}
		}
	}
	walk(&doc, nil)
	for _, alias := range o.foreign(&doc) {
		say(nil, alias.Line, "*%s is an alias of what another item of its List has: Helm 3 and Argo CD read it, and Flux and Helm 4 with a post-renderer take the List apart first and reject it", alias.Value)
	}
	return found
}

// maybeBoolean reports whether a line of a CustomResourceDefinition may be one that oldBoolean is about: such a word before a colon, or
// alone as a value. The others are not parsed: their schemas have megabytes, for which a regular expression takes longer than all else
// of a rendering.
func maybeBoolean(text string) bool {
	for at := 0; at < len(text); at++ {
		c := text[at] | 0x20
		if c != 'y' && c != 'n' && c != 'o' {
			continue
		}
		if at > 0 && !strings.ContainsRune("\n \t-{,[:", rune(text[at-1])) {
			continue
		}
		end := at
		for end < len(text) && text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z' {
			end++
		}
		if end-at > len("yes") || !slices.Contains(oldWords, strings.ToLower(text[at:end])) {
			at = end - 1
			continue
		}
		next := strings.TrimLeft(text[end:], " \t")
		ends := next == "" || next[0] == '\n'
		key := next != "" && next[0] == ':' && (len(next) == 1 || strings.ContainsRune(" \t\n", rune(next[1])))
		value := ends || strings.ContainsRune("],}#", rune(next[0]))
		before := strings.TrimRight(text[:at], " \t")
		switch line := strings.TrimRight(text[:at], " \t-"); {
		case line == "" || line[len(line)-1] == '\n':
			if key || value && len(line) < at {
				return true
			}
		case key && strings.ContainsRune("{,", rune(before[len(before)-1])),
			value && strings.ContainsRune("[,", rune(before[len(before)-1])),
			value && before[len(before)-1] == ':' && len(before) < at:
			return true
		}
		at = end - 1
	}
	return false
}

// oldWords are those of oldBoolean but for true and false.
var oldWords = []string{"y", "yes", "on", "n", "no", "off"}

// foreign returns the aliases of an item of a List whose anchor is in no part of that item.
func (o Object) foreign(doc *yaml.Node) []*yaml.Node {
	if len(doc.Content) == 0 {
		return nil
	}
	list := doc.Content[0]
	items := yamlx.Find(list, "items")
	if yamlx.Text(list, "kind") != "List" || items == nil {
		return nil
	}
	for _, item := range items.Content {
		if yamlx.Text(item, "kind") != o.GetKind() || yamlx.Text(item, "metadata", "name") != o.GetName() {
			continue
		}
		own := map[*yaml.Node]bool{}
		var aliases []*yaml.Node
		var walk func(*yaml.Node)
		walk = func(n *yaml.Node) {
			own[n] = true
			if n.Kind == yaml.AliasNode {
				aliases = append(aliases, n)
			}
			for _, c := range n.Content {
				walk(c)
			}
		}
		walk(item)
		return slices.DeleteFunc(aliases, func(n *yaml.Node) bool { return own[n.Alias] })
	}
	return nil
}

// oldBoolean reports whether a word without quotes is a boolean in YAML 1.1, by which Helm and Argo CD
// read manifests, and text in YAML 1.2, by which Flux does.
func oldBoolean(n *yaml.Node) (was string, ok bool) {
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 {
		return "", false
	}
	switch {
	case slices.Contains([]string{"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}, n.Value):
		return "true", true
	case slices.Contains([]string{"n", "N", "no", "No", "NO", "off", "Off", "OFF"}, n.Value):
		return "false", true
	}
	return "", false
}
