package main

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/report"
)

// --report stands for all reports, and a path of its own goes before.
func TestReportDirectory(t *testing.T) {
	for name, tc := range map[string]struct {
		flags reportFlags
		want  report.Files
	}{
		"none": {},
		"all":  {reportFlags{dir: "out"}, report.Files{Results: "out/" + report.FileName, JUnit: "out/junit.xml", HTML: "out/report.html", Markdown: "out/summary.md", SARIF: "out/checks.sarif"}},
		"one elsewhere": {reportFlags{dir: "out", html: "page.html", results: "ctrf"},
			report.Files{Results: "ctrf/" + report.FileName, JUnit: "out/junit.xml", HTML: "page.html", Markdown: "out/summary.md", SARIF: "out/checks.sarif"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.flags.files(); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// A cluster is named by an argument, as in most programs, and not twice.
func TestClusterDown_Name(t *testing.T) {
	invoke(t, nil, "cluster", "down", "no-such-cluster", "--name", "other").want(t, 2, "leave out --name")
	invoke(t, nil, "cluster", "down", "no-such-cluster", "--stale").want(t, 2, "leave out --name and --stale")
	got := invoke(t, nil, "cluster", "down", "no-such-cluster")
	if text := got.stdout + got.stderr; !strings.Contains(text, "no-such-cluster") {
		t.Errorf("got %s; want the name in it", text)
	}
}

// A cache on a file system that takes no files is found before a run fails on it.
func TestDoctor_CacheNotWritable(t *testing.T) {
	got := invokeIn(t.Context(), t, "/proc/matrix", nil, "doctor")
	if text := got.stdout; !strings.Contains(text, "cannot be written to") || got.code == 0 {
		t.Errorf("exit code %d, got %s", got.code, text)
	}
}

// The cluster of a run that goes on is not one to ask: it goes away with the run.
func TestWhy_ClusterInUse(t *testing.T) {
	if inUse(&embedded.State{Name: "kept"}) || !inUse(&embedded.State{Name: "cell", Owner: 1}) {
		t.Error("want a kept cluster, and not one with an owner")
	}
}
