package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// A first installation and an upgrade of one recipe are two lines and two tests, also after a
// results file was written and read.
func TestUpgradeIsALineOfItsOwn(t *testing.T) {
	first := result.Result{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Verdict: result.Verdict{Status: result.Passed}}
	upgrade := first
	upgrade.From = "main"
	upgrade.Verdict = result.VerdictOf(reason.New(reason.UpgradeFailed, "no"))
	other := upgrade
	other.Verdict, other.Deployer = result.VerdictOf(reason.New(reason.BaseFailed, "old")), "flux-oci"
	var raw bytes.Buffer
	if err := (&Report{Results: []result.Result{other, upgrade, first}}).WriteCTRF(&raw); err != nil {
		t.Fatal(err)
	}
	read, err := parse(raw.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	r := merge([]string{"helm", "flux-oci"}, read)
	var rows []string
	g := r.grid()
	for _, l := range g.lines() {
		row := l.Recipe
		for _, c := range l.Cells {
			if c != nil {
				row += " " + string(c.Status)
			} else {
				row += " -"
			}
		}
		rows = append(rows, row)
	}
	if got, want := strings.Join(rows, "\n"), "eks passed -\neks from main failed not run"; got != want {
		t.Errorf("got the lines\n%s\nwant\n%s", got, want)
	}
	var junit bytes.Buffer
	if err := r.WriteJUnit(&junit); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`name="kwok/eks/helm"`, `name="kwok/eks/helm from main"`, `name="kwok/eks/flux-oci from main"`} {
		if !strings.Contains(junit.String(), want) {
			t.Errorf("JUnit lacks %s:\n%s", want, junit.String())
		}
	}
}
