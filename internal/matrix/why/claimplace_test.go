package why

import (
	_ "embed"
	"testing"

	storagev1 "k8s.io/api/storage/v1"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

const claimed = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: ns}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: gp4
`

//go:embed testdata/objects/claim_templates.yaml
var claimTemplates string

// A pod that waits for a claim of a class that does not exist: the line that names the class is the place.
func TestPlaceOfAClaim(t *testing.T) {
	for text, want := range map[string]struct {
		workload bundle.Workload
		claim    string
		place    string
	}{
		claimed:        {bundle.Workload{Kind: "Deployment", Namespace: "ns", Name: "web"}, "data", "a.yaml:6"},
		claimTemplates: {bundle.Workload{Kind: "StatefulSet", Namespace: "ns", Name: "db"}, "data-db-0", "a.yaml:11"},
	} {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		class := "gp4"
		pod := otherPod("waits", "", claiming(want.claim))
		volumes := observe.Volumes{
			Read: true, Classes: []storagev1.StorageClass{{ObjectMeta: testkit.ObjectMeta("StorageClass", "gp2")}},
			Claims: []corev1.PersistentVolumeClaim{{ObjectMeta: testkit.ObjectMeta("PersistentVolumeClaim", want.claim), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}}},
		}
		e := &bundle.Expectation{Objects: []bundle.Object{{Object: &o, Manifest: &recipe.Manifest{Path: "a.yaml", File: "a.yaml", Content: []byte(text)}}}}
		report := observe.WorkloadReport{Pending: []observe.PendingPod{{PodFacts: observe.PodFacts{Pod: &pod, Scheduler: "0/4"}, Workload: &want.workload, Message: "0/4"}}}
		f := SchedulingFinding(e, report, &observe.View{Nodes: zoned(), Volumes: volumes}).Findings[0]
		if f.Place.String() != want.place {
			t.Errorf("%s: got the place %s, want %s\n%v", want.workload.Kind, f.Place, want.place, f.Story)
		}
		testkit.WantText(t, "story", f.Story[len(f.Story)-1], "storageClassName: set in "+want.place)
		// No object of the bundle has the claim of an operator; the component's value that names the class has a line.
		want.workload.Component = "db"
		e = &bundle.Expectation{Classes: []bundle.ClassValue{
			{Component: "other", Class: class, Path: "x", Origin: recipe.Origin{File: "o.yaml", Line: 1}}, {Component: "db", Class: "gp2", Path: "y", Origin: recipe.Origin{File: "o.yaml", Line: 2}},
			{Component: "db", Class: class, Path: "spec.storageClassName", Origin: recipe.Origin{File: "v.yaml", Line: 9}},
		}}
		if f = SchedulingFinding(e, report, &observe.View{Nodes: zoned(), Volumes: volumes}).Findings[0]; f.Place.String() != "v.yaml:9" || f.Story[len(f.Story)-1] != "  storageClassName: value path spec.storageClassName, set in v.yaml:9" {
			t.Errorf("of a value: got %s, %q", f.Place, f.Story)
		}
	}
}
