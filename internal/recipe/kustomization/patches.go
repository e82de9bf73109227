package kustomization

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Patch is one patch of a file, as an entry of a kustomization's patches.
type Patch struct {
	Line  int
	Entry string // JSON
}

// mostPatches is how many patches a file may have.
const mostPatches = 200

// Patches reads a file of patches, to be applied to what a kustomization makes. A document is a
// strategic merge patch (apiVersion, kind and metadata.name say what it is for), an entry of a
// kustomization's patches (target and patch), or a list of such entries. A JSON 6902 patch is a
// list of operations, which does not say what it is for, so that it stands in an entry.
func Patches(file string, content []byte) ([]Patch, []Problem) {
	w := &walker{}
	docs, ok := w.documents(file, content)
	if !ok {
		return nil, w.problems
	}
	var found []Patch
	add := func(n *yaml.Node, entry any) {
		text, err := json.Marshal(entry)
		if err != nil {
			w.add(file, n.Line, "it cannot be written as JSON: %w", err)
			return
		}
		found = append(found, Patch{n.Line, string(text)})
	}
	entry := func(n *yaml.Node) {
		names := map[string]bool{}
		for key := range fields(n) {
			names[key.Value] = true
		}
		var value map[string]any
		switch {
		case names["op"]:
			w.add(file, n.Line, "a JSON 6902 patch alone does not say what it is for; write it as an entry of a kustomization's patches: target (kind and name), and the operations as text under patch")
		case names["path"]:
			w.add(file, n.Line, "path is of no use here, in a file that is a patch itself; write the patch as text under patch")
		case names["kind"] && names["metadata"]:
			text, err := yaml.Marshal(n)
			if err != nil {
				w.add(file, n.Line, "it cannot be read as a patch: %w", err)
				return
			}
			add(n, map[string]any{"patch": string(text)})
		case names["patch"]:
			if err := decode(n, &value); err != nil {
				w.add(file, n.Line, "%w", err)
				return
			}
			add(n, value)
		default:
			w.add(file, n.Line, "it is no patch: a strategic merge patch has apiVersion, kind and metadata.name, and an entry of a kustomization's patches has patch and target")
		}
	}
	for _, doc := range docs {
		root := doc.Content[0]
		switch {
		case root.Kind == yaml.SequenceNode && len(root.Content) > 0:
			for _, n := range root.Content {
				entry(target(n))
				if len(w.problems) > 0 {
					return nil, w.problems
				}
			}
		default:
			entry(root)
		}
	}
	switch {
	case len(found) > mostPatches:
		w.add(file, found[mostPatches].Line, "the file has more than %d patches", mostPatches)
	case len(found) == 0 && len(w.problems) == 0:
		w.add(file, 1, "it has no patch; write one or remove the file from patches")
	}
	return found, w.problems
}

// decode reads an entry without aliases, which JSON does not have.
func decode(n *yaml.Node, out *map[string]any) error {
	if err := n.Decode(out); err != nil {
		var several *yaml.TypeError
		if errors.As(err, &several) {
			return fmt.Errorf("it cannot be read as a patch: %s", yamlx.Problems(err)[0].Text)
		}
		return fmt.Errorf("it cannot be read as a patch: %w", err)
	}
	return nil
}
