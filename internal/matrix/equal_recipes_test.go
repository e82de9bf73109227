package matrix

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func TestSame(t *testing.T) {
	type cell struct{ recipe, deployer, digest string }
	long := strings.Repeat("a", longest+1)
	for name, tt := range map[string]struct {
		cells []cell
		want  map[string]string
	}{
		"one lane":                      {[]cell{{"a", "helm", "1"}, {"b", "helm", "1"}}, map[string]string{"b": "a"}},
		"three":                         {[]cell{{"c", "helm", "1"}, {"a", "helm", "1"}, {"b", "helm", "1"}}, map[string]string{"a": "c", "b": "c"}},
		"another digest":                {[]cell{{"a", "helm", "1"}, {"b", "helm", "2"}}, nil},
		"another deployer":              {[]cell{{"a", "helm", "1"}, {"b", "flux-oci", "1"}}, nil},
		"lanes in another order":        {[]cell{{"a", "helm", "1"}, {"a", "flux-oci", "2"}, {"b", "flux-oci", "2"}, {"b", "helm", "1"}}, map[string]string{"b": "a"}},
		"one lane of two differs":       {[]cell{{"a", "helm", "1"}, {"a", "flux-oci", "2"}, {"b", "helm", "1"}, {"b", "flux-oci", "3"}}, nil},
		"one lane more":                 {[]cell{{"a", "helm", "1"}, {"b", "helm", "1"}, {"b", "flux-oci", "2"}}, nil},
		"one lane less":                 {[]cell{{"a", "helm", "1"}, {"a", "flux-oci", "2"}, {"b", "helm", "1"}}, nil},
		"unknown":                       {[]cell{{"a", "helm", ""}, {"b", "helm", ""}}, nil},
		"one lane unknown":              {[]cell{{"a", "helm", "1"}, {"a", "flux-oci", ""}, {"b", "helm", "1"}, {"b", "flux-oci", ""}}, nil},
		"a name that is too long":       {[]cell{{"a", "helm", "1"}, {long, "helm", "1"}}, nil},
		"a name that names change":      {[]cell{{"a", "helm", "1"}, {"A_b", "helm", "1"}}, nil},
		"a name that ends with a dash":  {[]cell{{"a", "helm", "1"}, {"b-", "helm", "1"}}, nil},
		"the first one's name is wrong": {[]cell{{"A", "helm", "1"}, {"b", "helm", "1"}, {"c", "helm", "1"}}, map[string]string{"c": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var all equalRecipes
			for _, c := range tt.cells {
				all.Add(result.Cell{Recipe: c.recipe, Deployer: c.deployer}, c.digest)
			}
			if got := all.Same(); !maps.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	var all equalRecipes
	all.Add(result.Cell{Recipe: "a", Deployer: "helm"}, "1")
	all.Add(result.Cell{Recipe: "b", Deployer: "helm", From: "v1"}, "1")
	if got := all.Same(); len(got) > 0 {
		t.Errorf("an upgrade is a twin: %v", got)
	}
}

// A twin has the other's verdict, red or green, and what is its own: its name, its command, and what
// of its own files was not verified.
func TestResult(t *testing.T) {
	of := result.Result{
		Cell: result.Cell{Recipe: "a", Deployer: "helm"}, Verdict: result.Verdict{Status: result.Failed, Reason: reason.SchedulingFailed, Cause: "no node", Findings: []result.Finding{{Cause: "no node"}}},
		Service: "gke", Rerun: "run a", Artifacts: "out/a", Duration: time.Minute, Pods: 7, Key: "k", Kubeconfig: "file", Started: time.Now(),
		NotVerified: []string{"constraint OS of a", "a Secret"}, Notes: []string{"noted"}, Phases: []result.Phase{{Name: "sync", Duration: time.Second, Ahead: time.Second}},
	}
	own := result.Result{Cell: result.Cell{Recipe: "b", Deployer: "helm"}, Service: "gke", Rerun: "run b"}
	got := equalResult(of, own, []string{"constraint OS of a"}, []string{"constraint OS of b"})
	if got.Cell != own.Cell || got.Rerun != "run b" || got.Status != of.Status || got.Reason != of.Reason || got.Cause != of.Cause || len(got.Findings) != 1 || got.Pods != 7 || got.Artifacts != "out/a" {
		t.Errorf("got %+v", got)
	}
	if got.Duration != 0 || got.Phases != nil || got.Key != "" || got.Kubeconfig != "" {
		t.Errorf("it has what only a cell that ran has: %+v", got)
	}
	if got.SameAs == nil || *got.SameAs != (result.Twin{Recipe: "a", Duration: time.Minute + time.Second}) || got.Cost() != time.Minute+time.Second {
		t.Errorf("same as %+v, cost %s", got.SameAs, got.Cost())
	}
	if want := []string{"constraint OS of b", "a Secret"}; !slices.Equal(got.NotVerified, want) {
		t.Errorf("not verified: got %q, want %q", got.NotVerified, want)
	}
	if len(got.Notes) != 2 || !strings.HasPrefix(got.Notes[0], "same as a/helm: ") || got.Notes[1] != "noted" || len(of.Notes) != 1 {
		t.Errorf("notes: got %q", got.Notes)
	}
}
