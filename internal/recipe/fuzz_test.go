package recipe

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nvidia/aicr-action/internal/recipe/document"
)

// seedFiles adds the files that match, from the test data.
func seedFiles(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no %s: %v", pattern, err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(raw)
		}
	}
}

// FuzzOverlay checks that any overlay either is rejected with file and line, or is a recipe that
// resolves, with the same result each time.
func FuzzOverlay(f *testing.F) {
	seedFiles(f, "testdata/valid-full/overlays/*.yaml", "testdata/invalid-*/overlays/*.yaml")
	for _, text := range []string{
		"", "null", "---\n---\n", "a: &a [*a]", "? [a]\n: b", "<<: [{a: b}, {a: c}]", "\xff\xfe", "%YAML 1.1\n---\na: 1", "spec: {criteria: {nodes: 99999999999999999999}}",
		"apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: fuzz}\nspec:\n  base: eks\n  criteria: {service: eks, nodes: 3}\n  componentRefs:\n    - {name: cert-manager, overrides: {a: {b: .inf}, ? {c: d} : e}}\n",
		"apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: fuzz}\nspec:\n  criteria: {service: eks, intent: training}\n  constraints: [{name: a, value: b}]\n  componentRefs:\n    - {name: gpu-operator, overrides: {enabled: \"false\"}}\n",
		"apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: fuzz}\nspec:\n  componentRefs:\n    - {name: cert-manager, dependencyRefs: [gpu-operator], manifestFiles: [../x, /etc/passwd, 'a\\b', components/gpu-operator/values.yaml]}\n",
	} {
		f.Add([]byte(text))
	}
	recipes := fstest.MapFS{}
	for _, file := range []string{"registry.yaml", "overlays/base.yaml", "overlays/eks.yaml", "components/gpu-operator/values.yaml"} {
		raw, err := os.ReadFile("testdata/valid-minimal/" + file)
		if err != nil {
			f.Fatal(err)
		}
		recipes[file] = &fstest.MapFile{Data: raw}
	}
	f.Fuzz(func(t *testing.T, overlay []byte) {
		with := fstest.MapFS{"overlays/fuzz.yaml": {Data: overlay}}
		for name, file := range recipes {
			with[name] = file
		}
		first, again := describeAll(t, with, overlay), describeAll(t, with, overlay)
		if first != again {
			t.Errorf("the same overlay is not the same twice:\n%s\n%s", first, again)
		}
	})
}

// describeAll is everything that the recipes directory resolves to, or its error.
func describeAll(t *testing.T, fsys fstest.MapFS, overlay []byte) string {
	t.Helper()
	s, err := Open(fsys, "recipes")
	if err != nil {
		wantPlaces(t, err, overlay)
		return err.Error()
	}
	var all strings.Builder
	for _, name := range s.Names() {
		r, err := s.ResolveName(name)
		if err != nil {
			wantPlaces(t, err, overlay)
			all.WriteString(err.Error())
			continue
		}
		text, err := r.YAML()
		if err != nil {
			t.Errorf("%s resolves, and cannot be written: %v", name, err)
		}
		all.Write(text)
		if _, err := s.Inputs(name); err != nil {
			t.Errorf("%s resolves, and has no inputs: %v", name, err)
		}
		if err := r.CheckKubeVersion("v1.36.1"); err != nil {
			wantPlaces(t, err, overlay)
		}
		components, err := s.Components(r)
		if err != nil {
			wantPlaces(t, err, overlay)
			all.WriteString(err.Error())
			continue
		}
		doc, err := s.Hydrate(r)
		if err != nil {
			t.Errorf("%s has components, and no hydrated form: %v", name, err)
		}
		for _, part := range []any{components, doc} {
			raw, err := json.Marshal(part)
			if err != nil {
				t.Errorf("%s has values that JSON does not: %v", name, err)
			}
			all.Write(raw)
		}
		for path := range componentOrigins(components) {
			if strings.Contains(path, "\x00") {
				t.Errorf("%s sets %q", name, path)
			}
		}
	}
	return all.String()
}

func componentOrigins(components []Component) map[string]Origin {
	all := map[string]Origin{}
	for _, c := range components {
		for path, at := range c.Origins {
			all[path] = at
		}
	}
	return all
}

// wantPlaces fails unless the error, or all that it joins, has a file and a line that is in it.
func wantPlaces(t *testing.T, err error, overlay []byte) {
	t.Helper()
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			wantPlaces(t, e, overlay)
		}
		return
	}
	var at *FileError
	if !errors.As(err, &at) {
		t.Errorf("an error without a place: %v", err)
		return
	}
	if lines := strings.Count(string(overlay), "\n") + strings.Count(string(overlay), "\r") + strings.Count(string(overlay), "\u2028") + strings.Count(string(overlay), "\u2029") + strings.Count(string(overlay), "\u0085") + 2; at.File == "recipes/overlays/fuzz.yaml" && at.Line > lines {
		t.Errorf("line %d of a file of %d lines: %v", at.Line, lines, err)
	}
	if at.Line < 0 || !strings.HasPrefix(at.File, "recipes/") {
		t.Errorf("no place that a person could open: %v", err)
	}
}

// understood is every condition on the API server's version that has an answer.
var understood = regexp.MustCompile(`^\s*(>=|<=|>|<|==|!=|)\s*v?(\d+(?:\.\d+){0,2})\s*$`)

// FuzzConstraint checks that any constraint and version give an answer or an error, and that the
// answers do not contradict each other.
func FuzzConstraint(f *testing.F) {
	for _, version := range []string{"v1.36.1", "1.30.0", "v1.30.0-eks-1", "v1.36", "", "v1.99999999999999999999.0"} {
		for _, constraint := range []string{">= 1.30", "<1.36.1", "== v1.36", "!=1", "1.36.1", "> 1.2.3.4", ">=  v1.30 ", "~> 1.30", ">= 99999999999999999999", "=> 1", "", "١.٣٠"} {
			f.Add(constraint, version)
		}
	}
	f.Fuzz(func(t *testing.T, constraint, version string) {
		r := &Result{Constraints: []Constraint{{Name: kubeVersionConstraint, Value: constraint, Origin: Origin{File: "recipes/overlays/a.yaml", Line: 7}}}}
		err := r.CheckKubeVersion(version)
		var at *FileError
		if err != nil && (!errors.As(err, &at) || at.Line != 7) {
			t.Fatalf("an error without its place: %v", err)
		}
		operand := understood.FindStringSubmatch(constraint)
		var broken *BrokenConstraintError
		if operand == nil {
			if err == nil || errors.As(err, &broken) {
				t.Fatalf("%q was understood: %v", constraint, err)
			}
			return
		}
		holds := func(operator string) bool {
			ok, e := document.OfKubernetes(operator+operand[2], version)
			if (e != nil) != (err != nil && !errors.As(err, &broken)) {
				t.Fatalf("%q against %q is an error with one operator and not with another: %v, %v", constraint, version, e, err)
			}
			return ok
		}
		if err != nil && !errors.As(err, &broken) {
			holds("==")
			return
		}
		less, equal, more := holds("<"), holds("=="), holds(">")
		n := 0
		for _, one := range []bool{less, equal, more} {
			if one {
				n++
			}
		}
		if n != 1 || holds(">=") != (more || equal) || holds("<=") != (less || equal) || holds("!=") == equal || holds("") != equal {
			t.Errorf("%q against %q: < %v, == %v, > %v", operand[2], version, less, equal, more)
		}
		if bare, e := document.OfKubernetes(operand[1]+" v"+operand[2], "v"+strings.TrimPrefix(version, "v")); e != nil || bare != (err == nil) {
			t.Errorf("%q against %q depends on blanks and on the v", constraint, version)
		}
	})
}

// FuzzSelect: a selector gives a part of the document or an error, and every part of a document can
// be selected by the keys that lead to it.
func FuzzSelect(f *testing.F) {
	for _, doc := range []string{`{}`, `[]`, `null`, `{"a":{"b":[1,{"c":null}]}}`, `{"a":1,"a.b":{"c.d":2,"c":[0]}}`, `{"app":"x","app.kubernetes.io/name":"y"}`, `{"":{"":1},".":2,"0":[3]}`, `[[0],{"1":2}]`} {
		for _, selector := range []string{"", ".", "a", ".a.b.0", "a.b.1.c", "a..b", "app.kubernetes.io/name", "0.0", "-1", "a.b.+1", "\xff", "…"} {
			f.Add(doc, selector)
		}
	}
	f.Fuzz(func(t *testing.T, text, selector string) {
		var doc any
		if json.Unmarshal([]byte(text), &doc) != nil {
			return
		}
		if part, err := document.Select(doc, selector); err == nil && !within(doc, part) {
			t.Errorf("%q selects %#v, which is no part of %s", selector, part, text)
		} else if err != nil && !strings.Contains(err.Error(), "selecting ") {
			t.Errorf("%q: %v", selector, err)
		}
		eachWay(doc, "", func(way string, part any) {
			if strings.HasPrefix(way, ".") || way == "" {
				return // leading dots mean nothing
			}
			// Two ways that are spelled alike lead to one of two parts; none leads nowhere.
			if _, err := document.Select(doc, way); err != nil {
				t.Errorf("%q of %s: %v", way, text, err)
			}
		})
	})
}

// eachWay goes through a document with the way to each part.
func eachWay(doc any, way string, do func(string, any)) {
	do(way, doc)
	if way != "" {
		way += "."
	}
	switch doc := doc.(type) {
	case map[string]any:
		for key, child := range doc {
			eachWay(child, way+key, do)
		}
	case []any:
		for i, child := range doc {
			eachWay(child, way+strconv.Itoa(i), do)
		}
	}
}

func within(doc, part any) bool {
	found := false
	eachWay(doc, "", func(_ string, at any) { found = found || reflect.DeepEqual(at, part) })
	return found
}
