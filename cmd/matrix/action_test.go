package main

import (
	"io"
	"os"
	"regexp"
	"testing"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/command/reports"
	"github.com/nvidia/aicr-action/internal/command/run"
)

// The Action calls `matrix run`, and `matrix report` for a Check Run, with flags that they have.
func TestActionFlags(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	a := &cli.App{Getenv: os.Getenv, Stdout: io.Discard, Stderr: io.Discard}
	flags, reported := run.RunCommand(a, &reports.CIFiles{}).Flags(), reports.ReportCommand(a).Flags()
	found := 0
	for _, m := range regexp.MustCompile(`--([a-z][a-z-]+)=`).FindAllStringSubmatch(string(text), -1) {
		found++
		if flags.Lookup(m[1]) == nil && reported.Lookup(m[1]) == nil {
			t.Errorf("action.yml passes --%s, which neither matrix run nor matrix report has", m[1])
		}
	}
	if found < 5 {
		t.Errorf("found %d flags in action.yml, want those of matrix run", found)
	}
}
