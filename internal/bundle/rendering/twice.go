package rendering

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/documents"
)

// Twice lists the keys that the object's document has twice in one map, one line each. Of two, the
// last one counts, without a word from Helm's library or Argo CD; Flux rejects the document.
func (o Object) Twice() []string {
	var doc yaml.Node
	if documents.IsCRD(o.text) || yaml.Unmarshal([]byte(o.text), &doc) != nil {
		return nil
	}
	var found []string
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
		case yaml.MappingNode:
			seen := map[string]bool{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				key := n.Content[i]
				here := append(path[:len(path):len(path)], key.Value)
				if seen[key.Value] && key.Value != "<<" {
					found = append(found, fmt.Sprintf("%s is there twice (%s, line %d of the document of %s %s)", strings.Join(here, "."), o.Template, key.Line, o.GetKind(), o.GetName()))
				}
				seen[key.Value] = true
				walk(n.Content[i+1], here)
			}
		}
	}
	walk(&doc, nil)
	return found
}
