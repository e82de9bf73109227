package main

import (
	"strings"
	"testing"
)

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
