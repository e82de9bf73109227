package simulate

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
)

// The stage takes the place of KWOK's own, and leaves the pods of one namespace alone.
func TestKeepJobsRunning(t *testing.T) {
	raw, err := KeepJobsRunning("probes")
	if err != nil {
		t.Fatal(err)
	}
	merged, err := MergeStages([]byte("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: pod-complete}\nspec: {}\n"), raw)
	if err != nil {
		t.Fatal(err)
	}
	all, err := infra.DecodeObjects(merged)
	if err != nil || len(all) != 1 {
		t.Fatalf("got %d stages, %v", len(all), err)
	}
	expressions, _, _ := unstructured.NestedSlice(all[0].Object, "spec", "selector", "matchExpressions")
	last, _, _ := unstructured.NestedMap(expressions[len(expressions)-1].(map[string]any), "jq")
	if last["key"] != ".metadata.namespace" || last["operator"] != "NotIn" || !slices.Equal(last["values"].([]any), []any{"probes"}) {
		t.Errorf("got the selector %v", expressions)
	}
	if text, _, _ := unstructured.NestedString(all[0].Object, "spec", "next", "statusTemplate"); len(expressions) != 4 || !strings.Contains(text, "phase: Succeeded") {
		t.Errorf("it is not KWOK's own: %v\n%s", expressions, text)
	}
}
