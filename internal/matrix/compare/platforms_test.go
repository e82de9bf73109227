package compare

import (
	"context"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/kwok"
)

func on(platform string, pods int, v result.Verdict) result.Result {
	return result.Result{Cluster: platform, Pods: pods, Verdict: v}
}

func TestOnPlatforms(t *testing.T) {
	passed, failed := result.Verdict{Status: result.Passed}, result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: "refused"}
	set := func(selector string) string {
		return `{apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: ns, name: driver}, spec: {template: {spec: {` + selector + `}}}}`
	}
	shipped, err := kwok.Files.ReadFile("parity.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known, err := ParseKnown("kwok/parity.yaml", shipped)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		results        [2]result.Result
		live           [2]*Captured
		objects, known int
		unknown        []string
	}{
		"equal": {
			results: [2]result.Result{on("embedded", 3, passed), on("kind", 3, passed)},
			live:    [2]*Captured{taken(t, deploymentYAML(1)), taken(t, deploymentYAML(1))}, objects: 1,
		},
		"a value": {
			results: [2]result.Result{on("embedded", 3, passed), on("kind", 3, passed)},
			live:    [2]*Captured{taken(t, deploymentYAML(1)), taken(t, deploymentYAML(2))}, objects: 1,
			unknown: []string{"Deployment ns/web  spec.replicas  embedded: 1; kind: 2"},
		},
		"an object on one alone": {
			results: [2]result.Result{on("embedded", 3, passed), on("kind", 3, passed)},
			live:    [2]*Captured{taken(t, deploymentYAML(1)), New()}, objects: 1,
			unknown: []string{"Deployment ns/web  the object  embedded: there; kind: nothing"},
		},
		"a selector of ours": {
			results: [2]result.Result{on("embedded", 3, passed), on("kind", 3, passed)},
			live:    [2]*Captured{taken(t, set("")), taken(t, set("nodeSelector: {aicr.nvidia.com/simulated: 'true'}"))}, objects: 1, known: 1,
		},
		"a selector of ours beside the recipe's": {
			results: [2]result.Result{on("embedded", 3, passed), on("kind", 3, passed)},
			live:    [2]*Captured{taken(t, set("nodeSelector: {a: b}")), taken(t, set("nodeSelector: {a: b, aicr.nvidia.com/simulated: 'true'}"))}, objects: 1, known: 1,
		},
		"the other way round": {
			results: [2]result.Result{on("embedded", 3, passed), on("kind", 3, passed)},
			live:    [2]*Captured{taken(t, set("nodeSelector: {aicr.nvidia.com/simulated: 'true'}")), taken(t, set(""))}, objects: 1,
			unknown: []string{"DaemonSet ns/driver  spec.template.spec.nodeSelector"},
		},
		"another selector": {
			results: [2]result.Result{on("embedded", 3, passed), on("kind", 3, passed)},
			live:    [2]*Captured{taken(t, set("")), taken(t, set("nodeSelector: {a: b}"))}, objects: 1,
			unknown: []string{"DaemonSet ns/driver  spec.template.spec.nodeSelector"},
		},
		"verdicts":             {results: [2]result.Result{on("embedded", 3, passed), on("kind", 3, failed)}, unknown: []string{"status  embedded: passed; kind: failed DEPLOY_FAILED refused"}},
		"pods":                 {results: [2]result.Result{on("embedded", 3, passed), on("kind", 2, passed)}, unknown: []string{"pods  embedded: 3; kind: 2"}},
		"failed in one way":    {results: [2]result.Result{on("embedded", 0, failed), on("kind", 0, failed)}},
		"captured on one only": {results: [2]result.Result{on("embedded", 3, passed), on("kind", 3, passed)}, live: [2]*Captured{taken(t, deploymentYAML(1)), nil}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := OnPlatforms(t.Context(), tc.results, tc.live, known)
			if err != nil || got.Objects != tc.objects || len(got.Known) != tc.known || len(got.Unknown) != len(tc.unknown) {
				t.Fatalf("got %+v, %v", got, err)
			}
			for i, want := range tc.unknown {
				if !strings.Contains(got.Unknown[i], want) {
					t.Errorf("got %q, want %q", got.Unknown[i], want)
				}
			}
		})
	}
}

// A value that a chart generates at each rendering is no difference between platforms.
func TestGeneratedOnPlatforms(t *testing.T) {
	text := `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: extra}, data: {id: VALUE}}`
	a, b := taken(t, strings.ReplaceAll(text, "VALUE", "one")), taken(t, strings.ReplaceAll(text, "VALUE", "two"))
	n := 0
	a.Render = func(context.Context) ([]bundle.Object, error) {
		n++
		return []bundle.Object{{Object: testkit.Parsed(t, strings.ReplaceAll(text, "VALUE", strings.Repeat("x", n)))}}, nil
	}
	passed := result.Verdict{Status: result.Passed}
	got, err := OnPlatforms(t.Context(), [2]result.Result{on("embedded", 1, passed), on("kind", 1, passed)}, [2]*Captured{a, b}, nil)
	if err != nil || len(got.Known) != 1 || len(got.Unknown) > 0 || !strings.Contains(got.Known[0], "generates") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseKnown(t *testing.T) {
	const head = "apiVersion: aicr.nvidia.com/v1alpha1\nkind: KnownPlatformDifferences\n"
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: ConfigMap\n":                                                          `want "aicr.nvidia.com/v1alpha1 KnownPlatformDifferences"`,
		head + "differences: [{object: a, path: b, reason: c}]\n":                                    "entry 1 has no link",
		head + "differences: [{object: a, path: b, reason: c, link: d, lanes: [helm]}]\n":            "lanes",
		head + "differences: [{object: '* *', path: '*', reason: it differs, link: docs/kind.md}]\n": "covers every field",
	} {
		if _, err := ParseKnown("file.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
