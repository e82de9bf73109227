package simulate

import (
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/kwok"
)

func TestStages(t *testing.T) {
	got, err := Stages(fstest.MapFS{
		"s/b.yaml": {Data: []byte("\nkind: B\n\n")}, "s/a.yaml": {Data: []byte("kind: A\n---\nkind: C\n")}, "s/README.md": {Data: []byte("no")},
	}, "s")
	if err != nil {
		t.Fatal(err)
	}
	if want := "kind: A\n---\nkind: C\n---\nkind: B"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShippedStages(t *testing.T) {
	raw, err := Stages(kwok.Files, "stages")
	if err != nil {
		t.Fatal(err)
	}
	stages, err := infra.DecodeObjects(raw)
	if err != nil || len(stages) == 0 {
		t.Fatalf("%d stages, %v", len(stages), err)
	}
	for _, s := range stages {
		if s.GetKind() != "Stage" || s.GetAPIVersion() != "kwok.x-k8s.io/v1alpha1" || s.GetName() == "" {
			t.Errorf("%s %s %q is not a KWOK stage", s.GetAPIVersion(), s.GetKind(), s.GetName())
		}
	}
}
