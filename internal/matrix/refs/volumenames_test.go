package refs

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
)

const (
	disk  = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], storageClassName: fast, SPEC}\n"
	claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {namespace: b, name: NAME}\nspec: {volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, SPEC}\n"
)

// TestVolumeName_Find: a volume that neither the bundle nor the cluster has.
func TestVolumeName_Find(t *testing.T) {
	own := strings.NewReplacer("NAME", "data", "SPEC", "").Replace(claim)
	for text, want := range map[string]string{
		own: "PersistentVolumeClaim b/data disk which does not exist, and nothing in the recipe makes it",
		own + "---\n" + strings.Replace(disk, "SPEC", "", 1): "",
		strings.Replace(own, "volumeName: disk, ", "", 1):    "",
	} {
		got := ""
		for _, p := range findVolumeName(&bundle.Expectation{Objects: caseObjects(t, "b", text)}, nil) {
			got += p.From.String() + " " + p.Volume + " " + p.Text
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFind_Kept: a volume that the cluster has from before is none that is missing.
func TestFind_Kept(t *testing.T) {
	e := &bundle.Expectation{}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer("NAME", "data", "SPEC", "storageClassName: fast").Replace(claim)), &o.Object); err != nil {
		t.Fatal(err)
	}
	e.Objects = []bundle.Object{{Component: "b", Object: o}}
	for name, c := range map[string]struct{ spec, status, want string }{
		"free":             {"", "Available", ""},
		"bound to it":      {"claimRef: {namespace: b, name: data, uid: ab-12}", "Bound", ""},
		"bound to another": {"claimRef: {namespace: b, name: other, uid: ab-12}", "Bound", "which is for PersistentVolumeClaim b/other"},
		"released":         {"claimRef: {namespace: b, name: data, uid: ab-12}", "Released", "was for a claim that has been deleted (its status is Released)"},
		"too small":        {"capacity: {storage: 1Mi}", "Available", "which has 1Mi of the 1Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(disk, "SPEC", c.spec, 1)
			if strings.HasPrefix(c.spec, "capacity") {
				text = strings.NewReplacer("SPEC", "", "2Gi", "1Mi").Replace(disk)
			}
			v := &corev1.PersistentVolume{}
			if err := yaml.Unmarshal([]byte(text+"status: {phase: "+c.status+"}\n"), v); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range findVolumeName(e, map[string]*corev1.PersistentVolume{"disk": v}) {
				got += p.Text
				if p.Missing {
					t.Error("it is said to be missing")
				}
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := findVolumeName(e, map[string]*corev1.PersistentVolume{"other": {}}); len(got) != 1 || !got[0].Missing {
		t.Errorf("a cluster without it: got %+v", got)
	}
}
