package report

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/result"
)

// remarkFields gives every list of strings of a result itself a text of its own, and returns the
// texts by the field's name in JSON. Those of a verdict are not remarks.
func remarkFields(t *testing.T, r *result.Result) map[result.RemarkKind]string {
	t.Helper()
	texts := map[result.RemarkKind]string{}
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous || f.Type != reflect.TypeFor[[]string]() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		texts[result.RemarkKind(name)] = "unique-" + name
		v.Field(i).Set(reflect.ValueOf([]string{"unique-" + name}))
	}
	r.NodeGroups = []result.NodeGroup{{Name: "unique-group", Max: 2, Nodes: 1, Made: []result.MadeNode{{Node: "n", Pod: "unique/pod"}}}} // the remark that is made of data
	texts["nodeGroups"] = "unique-group"
	return texts
}

// Every report prints everything that is not the recipe's own: a new list in a result has no place
// to hide.
func TestRemarks_EveryReport(t *testing.T) {
	for _, status := range []result.Status{result.Passed, result.Failed} {
		cell := result.Result{
			Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Verdict: result.Verdict{Status: status}, Duration: time.Second, Phases: []result.Phase{{Name: "sync", Duration: time.Second}},
		}
		texts := remarkFields(t, &cell)
		rows := map[result.RemarkKind]bool{}
		for _, row := range result.RemarkRows() {
			rows[row.Kind] = true
			if got := cell.Remarks(row.Kind); len(got) != 1 || !strings.HasPrefix(got[0], texts[row.Kind]) {
				t.Errorf("Remarks(%s) is %q, want what the field %q has", row.Kind, got, row.Kind)
			}
			if row.Title == "" || row.Label == "" || row.Phrase == "" || !strings.HasSuffix(row.Means, ".") {
				t.Errorf("the row of %s is not complete: %+v", row.Kind, row)
			}
		}
		if len(texts) < 6 {
			t.Fatalf("only %d lists found", len(texts))
		}
		r := &Report{Meta: Meta{Explain: true}, Results: []result.Result{cell}}
		for form, write := range map[string]func(io.Writer) error{
			"terminal": r.WriteTerminal, "Markdown": r.WriteMarkdown, "HTML": r.WriteHTML, "JUnit": r.WriteJUnit, "CTRF": r.WriteCTRF,
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			for kind, text := range texts {
				if !rows[kind] {
					t.Errorf("result.RemarkRows has no row for %q", kind)
				}
				if !strings.Contains(b.String(), text) {
					t.Errorf("a %s cell: %s does not print %s", status, form, kind)
				}
			}
		}
	}
}

// Without Explain, a JUnit file has the recipe's own remarks, and counts what every run has.
func TestRemarks_JUnit(t *testing.T) {
	cell := result.Result{Cell: result.Cell{Recipe: "eks", Deployer: "helm"}, Verdict: result.Verdict{Status: result.Passed}, Warnings: []string{"a warning"}, StandIns: []string{"one", "two"}, NotVerified: []string{"three"}}
	var b bytes.Buffer
	if err := (&Report{Results: []result.Result{cell}}).WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"warning: a warning": true, "not shown: 1 not verified, 2 stand-ins (": true, "two": false, "three": false} {
		if strings.Contains(b.String(), text) != want {
			t.Errorf("%q: want it %t in\n%s", text, want, b.String())
		}
	}
}

// A warning about a file of a bundle is one, though its folder has another number in another lane.
func TestRemarks_NumberedFolder(t *testing.T) {
	cell := func(deployer, at string) result.Result {
		return result.Result{Cell: result.Cell{Recipe: "eks", Deployer: deployer}, Phases: []result.Phase{{Name: "sync"}}, Warnings: []string{at + "-app/values.yaml:3: a", "503-times: " + at}}
	}
	r := &Report{Results: []result.Result{cell("helm", "bundle-original/012"), cell("argocd-oci", "bundle-original/013")}}
	kinds := r.remarks()
	if len(kinds) != 1 || len(kinds[0].Remarks) != 3 || !kinds[0].Remarks[0].All || len(kinds[0].Remarks[0].Cells) != 2 {
		t.Errorf("got %+v", kinds)
	}
}
