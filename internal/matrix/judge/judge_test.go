package judge

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// two are a check that warns of every ConfigMap, and one that fails for every Secret.
func two() []Check {
	of := func(kind string) func(*Scope) {
		return func(s *Scope) {
			for _, o := range s.OfKind(KindsOf("", kind)...) {
				s.Report(o, "data.key", o.Object.GetName())
			}
		}
	}
	check := func(id, kind string, gives reason.Reason) Check {
		return Check{ID: id, Name: strings.ToLower(kind) + "-there", Kinds: KindsOf("", kind), Gives: gives, Title: "t", Why: "w", Fix: "f", Says: "is called %s", Then: "so what", Run: of(kind)}
	}
	return []Check{check("MX001", "ConfigMap", ""), check("MX002", "Secret", reason.WorkloadFailed)}
}

func index(kinds ...string) *facts.Index {
	e := &bundle.Expectation{}
	for i, kind := range kinds {
		e.Objects = append(e.Objects, bundle.Object{Component: "c", Template: "t.yaml", Object: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": fmt.Sprintf("n%d", i), "namespace": "x"}, "data": map[string]any{"key": "value"},
		}}})
	}
	return facts.New(e, nil, nil, nil)
}

func report(x *facts.Index, found []problem.Problem) Report {
	d := newDocket(x)
	for _, p := range found {
		d.Add(p)
	}
	return d.Report()
}

// A finding is data: the ID, the field and the arguments, and the ID stands behind the text.
func TestJudge(t *testing.T) {
	x := index("ConfigMap", "Secret")
	found, err := (&Bench{Checks: two()}).Judge(x, "r", Order{}, Rendered)
	if err != nil {
		t.Fatal(err)
	}
	r := report(x, found)
	if len(r.Faults) != 1 || r.Faults[0].Reason != reason.WorkloadFailed || r.Faults[0].Finding.Check != "MX002" || r.Faults[0].Finding.Severity != result.SeverityError {
		t.Errorf("got faults %+v", r.Faults)
	}
	if want := "ConfigMap x/n0 (c): is called n0; so what (set in t.yaml) [MX001]"; len(r.Warnings) != 1 || r.Warnings[0] != want {
		t.Errorf("got warnings %q, want %q", r.Warnings, want)
	}
	if len(r.Findings) != 2 || r.Findings[0].Path != "data.key" || !slices.Equal(r.Findings[0].Arguments, []string{"n0"}) {
		t.Errorf("got findings %+v", r.Findings)
	}
}

// A check of another stage, of kinds that are not there, or of another lane does not run.
func TestJudge_LeftOut(t *testing.T) {
	list := two()
	list[0].Needs = Settled
	list[1].Lanes = func(o Order) bool { return o.Flux }
	for name, c := range map[string]struct {
		order Order
		kinds []string
		stage Stage
		want  int
	}{
		"another stage": {Order{}, []string{"ConfigMap"}, Rendered, 0}, "its stage": {Order{}, []string{"ConfigMap"}, Settled, 1},
		"another lane": {Order{}, []string{"Secret"}, Rendered, 0}, "its lane": {Order{Flux: true}, []string{"Secret"}, Rendered, 1},
		"no such kind": {Order{}, []string{"Service"}, Settled, 0},
	} {
		if found, err := (&Bench{Checks: list}).Judge(index(c.kinds...), "r", c.order, c.stage); err != nil || len(found) != c.want {
			t.Errorf("%s: got %d findings (%v), want %d", name, len(found), err, c.want)
		}
	}
}

// A check that panics is named, the cell ends INTERNAL, and the others have run.
func TestRun_Panics(t *testing.T) {
	list := two()
	list[0].Run = func(s *Scope) { s.Report(nil, "") }
	found, err := run(list, index("ConfigMap", "Secret"), Order{}, Rendered)
	if reason.Of(err) != reason.Internal || !strings.Contains(err.Error(), "check MX001 (configmap-there) panicked") {
		t.Errorf("got error %v", err)
	}
	if len(found) != 1 || found[0].Check != "MX002" {
		t.Errorf("got %+v, want what the other check found", found)
	}
}

func TestValidate(t *testing.T) {
	list := append(two(), two()[0])
	list[1].Why, list[1].ID = "", "X2"
	want := []string{`check "X2" (secret-there): its ID is not MX and three digits`, "check X2 has no Why", "two checks have the ID MX001", "two checks have the name configmap-there"}
	if got := Validate(list); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// What is ignored makes no cell fail, is listed with its reason, and is counted.
func TestIgnores(t *testing.T) {
	file := filepath.Join(t.TempDir(), IgnoreFile)
	if err := os.WriteFile(file, []byte("# all\nignore:\n- {check: secret-there, object: Secret/x/n1, reason: made elsewhere}\n- {check: MX001, reason: we know, recipe: other}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ignores, err := NewIgnores(two(), []string{"mx001=ConfigMap/*/n0"}, file, true)
	if err != nil {
		t.Fatal(err)
	}
	x := index("ConfigMap", "Secret", "Secret")
	found, err := (&Bench{Checks: two(), Ignore: ignores}).Judge(x, "r", Order{}, Rendered)
	if err != nil {
		t.Fatal(err)
	}
	r := report(x, found)
	if len(r.Faults) != 1 || r.Faults[0].Finding.Object.Name != "n2" || len(r.Warnings) != 0 {
		t.Errorf("got faults %+v and warnings %q", r.Faults, r.Warnings)
	}
	want := []string{"ConfigMap x/n0 (c): is called n0 [MX001]; ignored: --ignore mx001=ConfigMap/*/n0", "Secret x/n1 (c): is called n1 [MX002]; ignored: made elsewhere (" + file + ":3)"}
	if !slices.Equal(r.Ignored, want) {
		t.Errorf("got %q\nwant %q", r.Ignored, want)
	}
	if got := (&Bench{Ignore: ignores}).Inputs("r"); len(got) != 2 {
		t.Errorf("inputs of the recipe r: got %q, want its two entries", got)
	}
	one := func(recipe string) bool { return recipe == "r" }
	if got := ignores.Unused(func(string, Stage) bool { return true }); len(got) != 1 || !strings.Contains(got[0], IgnoreFile+":4 ignores nothing: check MX001 found nothing") {
		t.Errorf("unused of all recipes: got %q", got)
	}
	if got := ignores.Unused(func(recipe string, _ Stage) bool { return recipe == "" || one(recipe) }); len(got) != 0 {
		t.Errorf("an entry for a recipe that did not run: got %q", got)
	}
}

// What is refused, each with its place and what was meant.
func TestNewIgnores_Refused(t *testing.T) {
	for name, c := range map[string]struct{ flag, file, want string }{
		"unknown":              {"MX0O1", "", `--ignore MX0O1: there is no check "MX0O1" (did you mean MX001?)`},
		"one that fails cells": {"MX002", "", "check MX002 (secret-there) makes a cell fail, so that it can be ignored for a named object only"},
		"any object of that":   {"MX002=Secret/x/*", "", "for one object only, without *"},
		"no such kind":         {"MX001=ConfigMpa/x/a", "", "finds nothing of the kind ConfigMpa (did you mean ConfigMap?)"},
		"no name":              {"MX001=ConfigMap", "", "want KIND/NAMESPACE/NAME"},
		"no reason":            {"", "ignore: [{check: MX001}]\n", ":1: the entry for MX001 has no reason"},
		"a typo in a field":    {"", "ignore:\n- check: MX001\n  resaon: x\n", ":3: unknown field resaon (did you mean reason?)"},
		"a typo at the top":    {"", "ignroe: []\n", ":1: unknown field ignroe (did you mean ignore?)"},
		"no list":              {"", "ignore: {check: MX001}\n", ":1: ignore: want a list"},
		"no YAML":              {"", "ignore: [\n", IgnoreFile + ": yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			var flags []string
			if c.flag != "" {
				flags = []string{c.flag}
			}
			file := ""
			if c.file != "" {
				file = filepath.Join(t.TempDir(), IgnoreFile)
				if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := NewIgnores(two(), flags, file, true); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := NewIgnores(two(), nil, filepath.Join(t.TempDir(), IgnoreFile), false); err != nil {
		t.Errorf("no file: got %v", err)
	}
}

func TestAt(t *testing.T) {
	v := map[string]any{"a": []any{map[string]any{"b.c/d": "x"}}}
	for path, want := range map[string]any{`a[0]["b.c/d"]`: "x", "a[1]": nil, "a.b": nil, `a[0]["b`: nil, "": v["none"]} {
		if got := facts.At(v, path); path != "" && got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

// Many objects cost no more each.
func BenchmarkJudge(b *testing.B) {
	kinds := make([]string, 10_000)
	for i := range kinds {
		kinds[i] = "ConfigMap"
	}
	x := index(kinds...)
	for b.Loop() {
		if _, err := (&Bench{Checks: two()}).Judge(x, "r", Order{}, Rendered); err != nil {
			b.Fatal(err)
		}
	}
}

// What a step has observed gets its ID, and goes if the user ignores all of the objects that it is about. One object of
// several does not hide the others.
func TestRule(t *testing.T) {
	ref := func(name string) result.Ref { return result.Ref{Kind: "Secret", Namespace: "x", Name: name} }
	ignores, err := NewIgnores(two(), []string{"MX002=Secret/x/a", "MX002=Secret/x/b"}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	bench := &Bench{Checks: two(), Ignore: ignores}
	failure := func(others ...result.Ref) error {
		first := ref("a")
		return reason.Wrap(reason.NeverSettles, result.NewFailure(result.Finding{Check: "MX002", Object: &first, Others: others, Cause: "it changes", Story: []string{"it changes", "why"}}))
	}
	for name, tc := range map[string]struct {
		others []result.Ref
		gone   bool
	}{"ignored": {nil, true}, "all ignored": {[]result.Ref{ref("b")}, true}, "one is not": {[]result.Ref{ref("b"), ref("c")}, false}} {
		r, left := bench.Rule("r", failure(tc.others...))
		if (left == nil) != tc.gone || len(r.Findings) != 1 || (len(r.Ignored) == 1) != tc.gone {
			t.Errorf("%s: got %v, %+v", name, left, r)
		}
		if f := r.Findings[0]; f.Cause != "it changes [MX002]" || f.Story[0] != f.Cause || f.Severity != result.SeverityError || f.Reason != reason.NeverSettles {
			t.Errorf("%s: got %+v", name, f)
		}
	}
	again, left := bench.Rule("r", func() error { _, err := bench.Rule("r", failure(ref("c"))); return err }())
	if v := result.VerdictOf(left); len(again.Findings) != 0 || v.Reason != reason.NeverSettles || v.Cause != "it changes [MX002]" {
		t.Errorf("ruled on twice: got %+v, %v", again, left)
	}
	if _, left := bench.Rule("r", reason.New(reason.ClusterFailed, "gone")); reason.Of(left) != reason.ClusterFailed {
		t.Errorf("another error: got %v", left)
	}
	list := two()
	r := bench.Warn("r", []result.Finding{list[1].Warning(ref("a"), "c", "x"), list[1].Warning(ref("d"), "c", "%s stays", "it")})
	if !slices.Equal(r.Warnings, []string{"it stays [MX002]"}) || len(r.Ignored) != 1 || len(r.Findings) != 2 {
		t.Errorf("warnings: got %+v", r)
	}
}

// What a cell cannot go on after cannot be ignored.
func TestNewIgnores_Final(t *testing.T) {
	list := two()
	list[0].Final = true
	if _, err := NewIgnores(list, []string{"MX001=ConfigMap/x/y"}, "", false); err == nil || !strings.Contains(err.Error(), "could not go on") {
		t.Errorf("got %v", err)
	}
}
