package snapshot

import (
	"fmt"
	"strings"
	"testing"
)

func text(c Change) string {
	side := func(s *string) string {
		if s == nil {
			return "-"
		}
		return fmt.Sprintf("%q", *s)
	}
	return c.Kind + " " + c.Path + " " + side(c.Baseline) + " " + side(c.Target)
}

// Each reading that is not alike is there once, by its path, and nothing else is.
func TestDiff(t *testing.T) {
	before := of(t, `- type: K8s
  subtypes:
  - {subtype: server, data: {version: 1.30, ready: true, gone: x, none: null, context.node: a}, context: {version: old}}
- type: GPU
  subtypes:
  - {subtype: hardware, data: {}, items: [{context: {pci: "01"}, data: {model: H100}}, {data: {model: H100}}]}
`)
	after := of(t, `- type: k8s
  subtypes:
  - {subtype: server, data: {version: 1.31, ready: true, none: "", new: 3, context.node: b}, context: {version: new}}
- type: GPU
  subtypes:
  - {subtype: hardware, data: {}, items: [{context: {pci: "01"}, data: {model: H200}}]}
`)
	after.Metadata = map[string]any{"timestamp": "later"}
	var got []string
	for _, c := range Diff(before, after) {
		got = append(got, text(c))
	}
	want := []string{
		`modified GPU.hardware.items.length "2" "1"`, `modified GPU.hardware.items[0].data.model "H100" "H200"`, `removed GPU.hardware.items[1].data.model "H100" -`,
		`modified K8s.server.context.version "old" "new"`, `removed K8s.server.gone "x" -`, `added K8s.server.new - "3"`, `modified K8s.server.none "<nil>" ""`, `modified K8s.server.version "1.30" "1.31"`,
		`modified K8s.server["context.node"] "a" "b"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if same := Diff(before, before); same == nil || len(same) != 0 {
		t.Errorf("the same twice: got %v", same)
	}
}

// Snapshots of every release of AICR are read; one that is newer than any is too, and says so.
func TestReadVersions(t *testing.T) {
	for version, noted := range map[string]bool{"aicr.nvidia.com/v1alpha1": false, "aicr.run/v1alpha2": false, "aicr.run/v1": false, "aicr.run/v2": true} {
		s, err := Read("s.yaml", []byte("apiVersion: "+version+"\nkind: Snapshot\nmeasurements: []\n"))
		if err != nil || (s.Note != "") != noted {
			t.Errorf("%s: got %v, %v", version, s, err)
		}
	}
}
