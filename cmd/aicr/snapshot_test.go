package main

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/recipe"
)

const snapshotFile = "testdata/snapshot.yaml"

// A snapshot shows service, accelerator and operating system. The recipe equals that of a query
// with the same criteria.
func TestRecipeFromSnapshot(t *testing.T) {
	r := invoke(t, "recipe", "--snapshot", snapshotFile, "--intent", "training")
	r.want(t, 0, "note: service eks, by the snapshot: K8s.server.version v1.33.5-eks-3025e55", "note: accelerator h100, by the snapshot: GPU.smi.product-name NVIDIA H100 80GB HBM3",
		"note: os ubuntu, by the snapshot: OS.release.ID ubuntu")
	want := invoke(t, "recipe", "--service", "eks", "--accelerator", "h100", "--os", "ubuntu", "--intent", "training")
	if r.stdout != want.stdout {
		t.Errorf("got\n%s\nwant\n%s", r.stdout, want.stdout)
	}
	text := read(t, snapshotFile)
	if piped := (bench{stdin: text}).run(t, "recipe", "-s", "-", "-i", "training"); piped.stdout != want.stdout {
		t.Errorf("from standard input: got\n%s%s", piped.stdout, piped.stderr)
	}
	flag := invoke(t, "recipe", "-s", snapshotFile, "-i", "training", "--accelerator", "gb200")
	flag.want(t, 0, "warning: --accelerator is gb200, and the snapshot says h100")
	if q := invoke(t, "query", "-s", snapshotFile, "-i", "training", "--selector", "criteria.accelerator"); q.stdout != "h100\n" {
		t.Errorf("query: got %q, %s", q.stdout, q.stderr)
	}
}

// Overlays whose constraints the system breaks are left out, and named with the file and the line.
func TestRecipeFromSnapshot_OverlaysLeftOut(t *testing.T) {
	old := strings.Replace(read(t, snapshotFile), "v1.33.5-eks", "v1.29.0-eks", 1)
	r := invoke(t, "recipe", "-s", write(t, "s.yaml", old), "-i", "training")
	r.want(t, 0, "warning: overlay h100-eks-training is left out: its constraint K8s.server.version >= 1.32.4 (../../test/recipes-march/overlays/h100-eks-training.yaml:", "; the system has v1.29.0-eks-3025e55")
	result, err := recipe.ReadResult("stdout", []byte(r.stdout))
	if err != nil || strings.Contains(strings.Join(result.Metadata.AppliedOverlays, " "), "h100") {
		t.Errorf("got %v, %v", result, err)
	}
	older := strings.Replace(read(t, snapshotFile), "v1.33.5-eks", "v1.10.0-eks", 1)
	invoke(t, "recipe", "-s", write(t, "s.yaml", older)).want(t, 2, "no recipe is for this system: overlay ")
}

func TestSnapshot_Invalid(t *testing.T) {
	text := read(t, snapshotFile)
	invoke(t, "recipe", "-s", "no.yaml").want(t, 3, "snapshot file no.yaml does not exist")
	invoke(t, "recipe", "-s", write(t, "s.yaml", strings.Replace(text, "v1alpha1", "v2", 1))).want(t, 2, `s.yaml:1: apiVersion is "aicr.nvidia.com/v2"`)
	invoke(t, "recipe", "-s", write(t, "s.yaml", text[:len(text)/2]+"\n  broken: [")).want(t, 2, "s.yaml:")
	invoke(t, "recipe", "-s", "-", "-c", "-").want(t, 2, "cannot both be read from standard input")
	bare := "apiVersion: aicr.nvidia.com/v1alpha1\nkind: Snapshot\nmeasurements: []\n"
	invoke(t, "recipe", "-s", write(t, "s.yaml", bare)).want(t, 0, "note: the snapshot does not tell the service: no reading tells it; name it with --service", "note: constraint K8s.server.version is not checked")
}
