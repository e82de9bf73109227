//go:build nightly

package addons

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// TestNightlySimulatedDefinitions: the simulated chart has all that the compiled programs need of its
// definitions.
func TestNightlySimulatedDefinitions(t *testing.T) {
	paths, err := host.DefaultPaths(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	built, err := stack.NewSchedulers(paths, kwok.SchedulersMod, kwok.SchedulersSum)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []*unstructured.Unstructured
	for _, name := range Controllers() {
		s, err := NewController(name, built)
		if err != nil {
			t.Fatal(err)
		}
		if len(built.Missing(s.group)) > 0 {
			t.Fatalf("%s is not in the cache: compile it with `matrix stack build --schedulers`", name)
		}
		objects, err := infra.ReadObjects(s.CRDs)
		if err != nil {
			t.Fatal(err)
		}
		wanted = append(wanted, objects...)
	}
	files, err := filepath.Glob("../../../kwok/charts/kubeflow-trainer/crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "../../../kwok/charts/kubeflow-trainer/templates/jobset/crds/jobsets.jobset.x-k8s.io.yaml")
	compared := 0
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.DeleteFunc(bytes.Split(raw, []byte("\n")), func(l []byte) bool { return bytes.HasPrefix(l, []byte("{{-")) })
		have, err := infra.DecodeObjects(bytes.Join(lines, []byte("\n")))
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, w := range wanted {
			if w.GetName() != have[0].GetName() {
				continue
			}
			compared++
			if lacks, err := lacking(have[0], w); err != nil || len(lacks) > 0 {
				t.Errorf("%s lacks %q, %v", f, lacks, err)
			}
		}
	}
	if compared != 4 {
		t.Errorf("%d definitions were compared, want JobSet, TrainJob and the two kinds of runtimes", compared)
	}
}
