package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// sampleResults has a cell of every status.
func sampleResults() []result.Result {
	res := func(recipe, deployer string, took time.Duration, v result.Verdict) result.Result {
		return result.Result{
			Cell: result.Cell{Recipe: recipe, Deployer: deployer}, Verdict: v, Duration: took, Charts: "simulated", Recipes: "recipes", Cluster: "embedded",
			Rerun: "matrix run " + recipe + " --deployer " + deployer + " --keep", Phases: []result.Phase{{Name: "cluster", Duration: took / 4}, {Name: "sync", Duration: took / 2}},
		}
	}
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("line %d", i+1))
	}
	passed := res("eks", "helm", 12300*time.Millisecond, result.Verdict{Status: result.Passed})
	passed.Pods, passed.Overrides, passed.StandIns = 110, []string{"a.nodeSelector", "a.tolerations"}, []string{"Prometheus monitoring/k8s"}
	passed.Warnings = []string{"a and b both own CustomResourceDefinition x"}
	noted := res("eks", "argocd-oci", 45*time.Second, result.Verdict{Status: result.Passed})
	noted.Pods, noted.Notes, noted.Overrides = 110, []string{"Application web passed as OutOfSync, Healthy"}, []string{"a.nodeSelector"}
	noted.Kubeconfig = "/cache/clusters/x/kubeconfig.yaml"
	failed := res("eks", "flux-oci", 20*time.Second, result.Verdict{Status: result.Failed, Reason: reason.SchedulingFailed, Cause: "Deployment cert-manager/cert-manager (cert-manager): 0/6 nodes are available", Details: many})
	failed.Artifacts = "/out/kwok-debug-eks-flux-oci-1"
	return []result.Result{
		passed, noted, failed,
		res("eks-training", "helm", 31*time.Second, result.Verdict{Status: result.Failed, Reason: reason.DeployFailed, Cause: "Release efa: DaemonSet is invalid", Details: []string{"Release efa: DaemonSet is invalid\nsecurityContext: Invalid value", "2 more blocked by this failure"}}),
		res("eks-training", "argocd-oci", 330*time.Second, result.Verdict{Status: result.Timeout, Reason: reason.SyncTimeout, Cause: "not ready after 5m0s: Application web: OutOfSync, Missing", Details: []string{"Application web: OutOfSync, Missing"}}),
		res("eks-training", "flux-oci", 8*time.Second, result.Verdict{Status: result.Infrastructure, Reason: reason.ComponentDied, Component: "helm-controller", Cause: "helm-controller ended unexpectedly (signal: killed)", Details: []string{"last lines of its log:", "{}"}}),
		res("base", "helm", 3*time.Second, result.Verdict{Status: result.Interrupted, Reason: reason.Interrupted, Cause: "interrupted by interrupt"}),
		res("base", "argocd-oci", 0, result.Verdict{Status: result.NotRun, Reason: reason.Interrupted, Cause: "the run was ended before this cell began"}),
		res("base", "flux-oci", 0, result.Verdict{Status: result.Skipped, Reason: reason.NoProfile, Cause: "no node profile for service gke"}),
	}
}

// What a run ends with has the exit codes of this program.
func TestResultsTable(t *testing.T) {
	var b strings.Builder
	if err := reports.Print(&b, sampleResults(), "table", 0, false); err != nil {
		t.Fatal(err)
	}
	wantText(t, "table", b.String(), "✓ 12.3 s, 110 pods", "✗ SCHEDULING_FAILED (1)", "9 cells: 2 passed, ")
}

func TestResultsJSON(t *testing.T) {
	var b strings.Builder
	if err := reports.Print(&b, sampleResults(), "json", 0, false); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Results []struct {
			Recipe, Deployer, Status, Reason, Component, Cause, Charts string
			Overrides                                                  []string
			Details                                                    []string
		}
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("%v in:\n%s", err, b.String())
	}
	if len(got.Results) != 9 {
		t.Fatalf("got %d results, want 9", len(got.Results))
	}
	for i, want := range sampleResults() {
		r := got.Results[i]
		if r.Recipe != want.Recipe || r.Deployer != want.Deployer || r.Status != string(want.Status) || r.Reason != string(want.Reason) || r.Component != want.Component || r.Cause != want.Cause || r.Charts != "simulated" {
			t.Errorf("result %d: got %+v, want %+v", i, r, want)
		}
		if len(r.Overrides) != len(want.Overrides) || len(r.Details) != len(want.Details) {
			t.Errorf("result %d: want all of its overrides and details; got %q, %q", i, r.Overrides, r.Details)
		}
	}
}
