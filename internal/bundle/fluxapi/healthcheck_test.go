package fluxapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"status.readyReplicas == 5": "",
		"status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')": "",
		"1 + 1": "", // Flux parses, and does not look at types
		"has(status.x) && sets.contains([1], [1]) && 'a'.lowerAscii() == 'a'": "",
		"":                          "it has no expression under current",
		"status.readyReplicas == (": "current is no expression of CEL, at column ",
		"status.phase = 'Ready'":    "current is no expression of CEL, at column ",
	} {
		err := Expressions{Current: text}.Parse()
		if got := fmt.Sprint(err); (want == "") != (err == nil) || !strings.Contains(got, want) && want != "" {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if err := (Expressions{Current: "true", Failed: "a b"}).Parse(); err == nil || !strings.Contains(err.Error(), "failed is no expression") {
		t.Errorf("failed: got %v", err)
	}
}

// Only the status of a custom resource is unknown: all else of an object is what was delivered.
func TestSimulated(t *testing.T) {
	for _, c := range []struct {
		version, current string
		want             bool
	}{
		{"apps/v1", "status.readyReplicas == 1", false}, {"v1", "status.phase == 'Bound'", false}, {"helm.toolkit.fluxcd.io/v2", "status.x", false}, {"networking.k8s.io/v1", "status.x", false}, {"gateway.networking.k8s.io/v1", "status.x", true}, {"snapshot.storage.k8s.io/v1", "status.x", true},
		{"example.com/v1", "status.ready", true}, {"example.com/v1", "spec.size == 1", false}, {"example.com/v1", "metadata.labels.statuses == 'a'", false},
	} {
		if got := (Expressions{APIVersion: c.version, Kind: "X", Current: c.current}).Simulated(); got != c.want {
			t.Errorf("%s %s: got %t", c.version, c.current, got)
		}
	}
}

func TestInRoot(t *testing.T) {
	spec := map[string]any{"timeout": "5m"}
	web := Check{Object: result.Ref{Group: "apps", Kind: "Deployment", Namespace: "web", Name: "web"}, Version: "v1", Live: true}
	gone := Check{Object: result.Ref{Kind: "ConfigMap", Name: "gone"}, Version: "v1"}
	if InRoot(spec, []Check{gone}, nil); len(spec) != 1 {
		t.Errorf("nothing that a controller decides: got %v", spec)
	}
	InRoot(spec, []Check{web, web, gone}, []Expressions{{APIVersion: "apps/v1", Kind: "Deployment", Current: "true"}})
	want := "map[healthCheckExprs:[map[apiVersion:apps/v1 current:true kind:Deployment]] healthChecks:[map[apiVersion:apps/v1 kind:Deployment name:web namespace:web]] retryInterval:5s timeout:30s]"
	if got := fmt.Sprint(spec); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
