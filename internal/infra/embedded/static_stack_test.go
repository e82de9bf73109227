package embedded

import (
	_ "embed"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

func TestReadsPolicies(t *testing.T) {
	for version, want := range map[string]bool{"v1.36.1": true, "v1.37.0-rc.0": true, "v1.35.9": false, "": false} {
		if got := canReadPolicies(version); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}

//go:embed testdata/objects/policy_yaml.yaml
var policyYAML string

// TestStaticPolicy: once the harness has created a policy and its binding, no request changes or
// removes either. A recipe may change other policies.
func TestStaticPolicy(t *testing.T) {
	testskip.Short(t, "no real stack")
	t.Parallel()
	c := newCluster(t, realStack(t), infratest.ShortTempDir(t), "static")
	c.guarded = true
	if err := c.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"aicr-action-a", "b"} {
		c.apply(t, strings.ReplaceAll(policyYAML, "NAME", name))
	}
	const change = `{"spec":{"validationActions":["Audit"],"failurePolicy":"Ignore"}}`
	for _, resource := range []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"} {
		client := c.clients.Dynamic.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource})
		patch := func(name, text string) error {
			_, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
			return err
		}
		if err := patch("aicr-action-a", `{"metadata":{"labels":{"a":"b"}}}`); err != nil {
			t.Errorf("%s: a label: %v", resource, err)
		}
		for what, err := range map[string]error{
			"changed":                 patch("aicr-action-a", change),
			"removed":                 client.Delete(t.Context(), "aicr-action-a", metav1.DeleteOptions{}),
			"removed with all others": client.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "a=b"}),
		} {
			if err == nil || !strings.Contains(err.Error(), "aicr-action-a judges the recipe") {
				t.Errorf("%s %s: got %v, want it rejected", resource, what, err)
			}
		}
		if err := patch("b", change); err != nil {
			t.Errorf("%s of another: %v", resource, err)
		}
		if err := client.Delete(t.Context(), "b", metav1.DeleteOptions{}); err != nil {
			t.Errorf("%s of another: %v", resource, err)
		}
	}
}
