package gate

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestHeldBack(t *testing.T) {
	workload := func(kind, name string, conditions ...any) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
			"metadata": map[string]any{"name": "w", "ownerReferences": []any{map[string]any{"apiVersion": "batch/v1", "kind": kind, "name": name, "uid": "u", "controller": true}}},
			"status":   map[string]any{"conditions": conditions},
		}}
	}
	refused := map[string]any{"type": "QuotaReserved", "status": "False", "message": "no room"}
	for _, c := range []struct {
		name  string
		of    unstructured.Unstructured
		text  string
		found bool
	}{
		{"another's", workload("Job", "other", refused), "", false},
		{"a JobSet's", workload("JobSet", "train", refused), "", false},
		{"no word", workload("Job", "train"), "it is suspended, and Kueue has said nothing of it yet", true},
		{"admitted", workload("Job", "train", map[string]any{"type": "QuotaReserved", "status": "True"}, map[string]any{"type": "Admitted", "status": "True"}), "", true},
		{"refused", workload("Job", "train", refused), "it is not admitted by Kueue: no room", true},
	} {
		if text, found := heldBack("Job", "train", []unstructured.Unstructured{c.of}); text != c.text || found != c.found {
			t.Errorf("%s: got %q, %t", c.name, text, found)
		}
	}
}
