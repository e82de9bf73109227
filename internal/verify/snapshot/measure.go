package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// gpuNodesLabel is a constraint about the labels of all GPU nodes, which no reading has by that name
// (AICR's issue 1755): KEY=VALUE, if each must have that label with that value, or !KEY, if none may
// have that label. It is for GKE, whose GPU nodes have gkeAccelerator from their beginning.
const (
	gpuNodesLabel  = "NodeTopology.gpu-nodes.label"
	gkeAccelerator = "cloud.google.com/gke-accelerator"
)

// Measure compares a constraint with the snapshot.
func (s *Snapshot) Measure(c document.Constraint) (recipe.Reading, error) {
	if c.Name == gpuNodesLabel {
		return s.gpuNodes(c.Value)
	}
	have, ok := s.Value(c.Name)
	if !ok {
		return recipe.Reading{}, nil
	}
	holds, err := c.Holds(have)
	return recipe.Reading{Have: have, Found: true, Holds: holds}, err
}

// gpuNodes compares a condition with the labels of the GPU nodes. Without any such node, it is not known
// whether it holds.
func (s *Snapshot) gpuNodes(condition string) (recipe.Reading, error) {
	key, unwanted := strings.CutPrefix(strings.TrimSpace(condition), "!")
	key, want, equal := strings.Cut(key, "=")
	if unwanted == equal || len(validation.IsQualifiedName(key)) > 0 || len(validation.IsValidLabelValue(want)) > 0 {
		return recipe.Reading{}, fmt.Errorf("%q is not KEY=VALUE or !KEY with a label of nodes; correct it", condition)
	}
	gpu, err := s.labelled(gkeAccelerator)
	if err != nil || len(gpu) == 0 {
		return recipe.Reading{}, err
	}
	have, err := s.labelled(key)
	if err != nil {
		return recipe.Reading{}, err
	}
	var wrong []string
	for node := range gpu {
		if value, ok := have[node]; ok == unwanted || !unwanted && value != want {
			wrong = append(wrong, node)
		}
	}
	slices.Sort(wrong)
	m := recipe.Reading{Found: true, Holds: len(wrong) == 0, Have: condition}
	if !m.Holds {
		m.Have = fmt.Sprintf("%d of %d GPU nodes without it, e.g. %s", len(wrong), len(gpu), wrong[0])
		if unwanted {
			m.Have = fmt.Sprintf("%d of %d GPU nodes with it, e.g. %s", len(wrong), len(gpu), wrong[0])
		}
	}
	return m, nil
}

// labelled gives the nodes with a label, and its value on each. The reading is VALUE|NODE,NODE under
// the label's name, and under NAME.VALUE where it has several values.
func (s *Snapshot) labelled(key string) (map[string]string, error) {
	nodes := map[string]string{}
	for sub, name := range s.below(TypeNodeTopology + ".label." + key) {
		if name != key {
			continue
		}
		several := sub.Data[key].Value == nil
		for reading, r := range sub.Data {
			value, list, ok := strings.Cut(r.String(), "|")
			if reading != key && (!several || reading != key+"."+value) {
				continue
			}
			if !ok || strings.Contains(list, "|") || strings.Contains(list, "(+") {
				return nil, fmt.Errorf("the reading %s.label.%s does not name all of its nodes: %.100q; take the snapshot again, without a limit of nodes", TypeNodeTopology, reading, r.String())
			}
			for node := range strings.SplitSeq(list, ",") {
				if before, twice := nodes[node]; twice && before != value || len(validation.IsDNS1123Subdomain(node)) > 0 {
					return nil, fmt.Errorf("the readings of %s.label.%s do not say which nodes have which value: %.100q", TypeNodeTopology, key, r.String())
				}
				nodes[node] = value
			}
		}
	}
	return nodes, nil
}
