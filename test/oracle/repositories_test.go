package oracle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/intake/app"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// repositories are the inputs of an oracle that reads repositories which are kept, each with what the program said of it.
func repositories(t *testing.T, oracle string) []input {
	return readInputs(t, filepath.Join("testdata", "repositories", oracle+"-*.yaml"))
}

// answerFile has what the program said of a kept input.
func answerFile(in *input) string {
	return filepath.Join("testdata", "repositories", strings.TrimPrefix(in.Name, "repositories-")+".json")
}

// What the programs said of a few repositories is what the readers expect. make oracle asks the programs themselves.
func TestStoredRepositories(t *testing.T) {
	dir := infratest.ShortTempDir(t)
	for _, oracle := range []string{"flux", "argo", "appset", "helmfile"} {
		for i, in := range repositories(t, oracle) {
			raw, err := os.ReadFile(answerFile(&in))
			if err != nil {
				t.Fatal(err)
			}
			var v verdict
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatal(err)
			}
			d, err := compareRepository(t.Context(), filepath.Join(dir, fmt.Sprint(oracle, i)), oracle, &in, &v)
			if err != nil {
				t.Fatal(err)
			}
			if d != nil {
				t.Errorf("%s: the program %s\nours: %s", in.Name, d.program, d.ours)
			}
		}
	}
}

// compareRepository lays an input out in a directory, and compares what the reader of repositories expects with what the
// program said.
func compareRepository(ctx context.Context, at, oracle string, in *input, v *verdict) (*difference, error) {
	if err := write(at, in); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(at) }()
	var own []map[string]any
	var needs map[string][]string
	var err error
	verb := "renders "
	if oracle == "helmfile" {
		verb = "installs "
		own, needs, err = installs(ctx, at, environmentOf(in))
	} else {
		own, err = expected(ctx, at)
	}
	switch {
	case err != nil && (v.Word == "fails" || len(v.Objects) == 0 || slices.ContainsFunc(v.Objects, unnamed) || oracle == "appset" && unfilled(v.Objects)):
		return nil, nil // for the reader it is an error that a parameter has no value, that an object has no name, or that there is nothing
	case err != nil:
		return &difference{*in, v.String(), "fails: " + strings.ReplaceAll(err.Error(), at+"/", "")}, nil
	case v.Word == "fails":
		return &difference{*in, v.String(), fmt.Sprintf("%s%d objects", verb, len(own))}, nil
	}
	theirs, ours := unlike(v.Objects, own)
	place := map[string]int{}
	for i, o := range v.Objects {
		place[nameOf(o)] = i
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		for _, need := range needs[name] {
			if i, ok := place[need]; ok && i > place[name] {
				theirs, ours = strings.TrimPrefix(theirs+"; "+name+" before "+need, "; "), strings.TrimPrefix(ours+"; "+name+" needs "+need, "; ")
			}
		}
	}
	if theirs == "" && ours == "" {
		return nil, nil
	}
	return &difference{*in, verb + theirs, ours}, nil
}

// gitConfig makes a directory the repository that its objects name.
const gitConfig = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@example.com:team/apps.git\n"

// unfilled reports whether a template left the name of a parameter, or its lack, in Applications.
func unfilled(applications []map[string]any) bool {
	raw, err := json.Marshal(applications)
	return err == nil && (strings.Contains(string(raw), "{{") || strings.Contains(string(raw), "\\u003cno value\\u003e"))
}

// unnamed reports whether an object has no name, so that the API server refuses it.
func unnamed(o map[string]any) bool {
	u := unstructured.Unstructured{Object: o}
	return u.GetName() == "" && u.GetGenerateName() == "" && u.GetKind() != "Release"
}

// write lays out the files of an input.
func write(dir string, in *input) error {
	files, _, _ := filesOf(in)
	files[".git/config"] = gitConfig
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// expected are the objects that our reader expects of the directory cluster/ of a repository. For an ApplicationSet
// they are its Applications, as far as they reach a chart.
func expected(ctx context.Context, dir string) ([]map[string]any, error) {
	a, err := app.FindApp(ctx, filepath.Join(dir, "cluster"), nil)
	if err != nil {
		return nil, err
	}
	deployers, err := bundle.ByName([]string{a.Deployer})
	if err != nil {
		return nil, err
	}
	b, err := a.Open(ctx, deployers[0])
	if err != nil {
		return nil, err
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "cluster", "set.yaml")); err == nil && strings.Contains(string(raw), "kind: ApplicationSet") {
		var all []map[string]any
		components, _ := b.Components()
		for _, c := range components {
			all = append(all, map[string]any{"apiVersion": "v1", "kind": "Application", "metadata": map[string]any{"name": c.Name, "namespace": c.Namespace}, "values": c.Values})
		}
		return all, nil
	}
	in := bundle.Input{Recipe: b.Resolved("test"), KubeVersion: kubeVersion, APIs: bundle.StackAPIs()}
	_, made, err := b.Make(ctx, in.InRegistry("127.0.0.1:5000", "127.0.0.1:5000", a.Deployer))
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	for _, o := range made.Expectation.Objects {
		whole, err := o.Whole()
		if err != nil {
			return nil, err
		}
		all = append(all, whole.Object)
	}
	for _, o := range made.Expectation.Applied {
		all = append(all, o.Object)
	}
	return all, nil
}

// unlike are the parts in which two lists of objects differ, a line each.
func unlike(theirs, ours []map[string]any) (a, b string) {
	index := func(all []map[string]any) map[string]map[string]any {
		by := map[string]map[string]any{}
		for _, o := range all {
			u := unstructured.Unstructured{Object: o}
			group := u.GroupVersionKind().Group
			if strings.HasSuffix(group, ".toolkit.fluxcd.io") || group == "argoproj.io" || u.GetNamespace() == "flux-system" {
				continue // what a person applies, and not what a controller makes
			}
			if u.GetKind() == "CustomResourceDefinition" { // of which the expectation keeps a part
				o = map[string]any{}
			}
			by[u.GetKind()+" "+u.GetName()+" in "+cmp.Or(u.GetNamespace(), "web")] = o
		}
		return by
	}
	x, y := index(theirs), index(ours)
	var only, other []string
	for _, key := range slices.Sorted(maps.Keys(x)) {
		o, ok := y[key]
		if !ok {
			only = append(only, key)
			continue
		}
		l, r := leaves(x[key]), leaves(o)
		for _, path := range slices.Sorted(maps.Keys(l)) {
			if l[path] != r[path] {
				only = append(only, key+path+"="+l[path])
			}
		}
		for _, path := range slices.Sorted(maps.Keys(r)) {
			if l[path] != r[path] {
				other = append(other, key+path+"="+r[path])
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(y)) {
		if x[key] == nil {
			other = append(other, key)
		}
	}
	return strings.Join(only, "; "), strings.Join(other, "; ")
}

// leaves are the values in an object by their paths, without what every delivery adds.
func leaves(o map[string]any) map[string]string {
	all := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 && path != ".metadata.labels" && path != ".metadata.annotations" {
				all[path] = "{}"
			}
			for k, x := range v {
				walk(path+"."+k, x)
			}
		case []any:
			if len(v) == 0 {
				all[path] = "[]"
			}
			for i, x := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), x)
			}
		case nil:
			if strings.HasPrefix(path, ".values") { // an object's fields without a value are none
				all[path] = "null"
			}
		default:
			raw, err := json.Marshal(v)
			if err != nil {
				raw = []byte(err.Error())
			}
			all[path] = string(raw)
		}
	}
	walk("", o)
	delete(all, ".metadata.namespace")
	delete(all, ".path")
	return all
}

func nameOf(o map[string]any) string {
	m, _ := o["metadata"].(map[string]any)
	return fmt.Sprint(m["name"])
}

func environmentOf(in *input) string { text, _ := in.Subject["environment"].(string); return text }

// release is one as an object that unlike compares.
func release(name, namespace, chart string, values map[string]any) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Release", "metadata": map[string]any{"name": name, "namespace": namespace}, "namespace": namespace, "chart": chart, "values": values}
}

// installs are the releases that our reader finds, and what each needs.
func installs(ctx context.Context, dir, environment string) (all []map[string]any, needs map[string][]string, err error) {
	a, err := app.FindApp(ctx, filepath.Join(dir, "cluster"), nil)
	if err != nil {
		return nil, nil, err
	}
	a.Environment = environment
	deployers, err := bundle.ByName([]string{bundle.Helmfile})
	if err != nil {
		return nil, nil, err
	}
	b, err := a.Open(ctx, deployers[0])
	if err != nil {
		return nil, nil, err
	}
	components, given := b.Components()
	needs = map[string][]string{}
	for _, c := range components {
		chart := path.Base(c.Chart) + " " + c.Version
		if g := given[c.Name]; g.Chart != nil {
			chart = "local " + g.Chart.Name()
		}
		raw, err := json.Marshal(c.Values)
		if err != nil {
			return nil, nil, err
		}
		values := map[string]any{}
		if err := json.Unmarshal(raw, &values); err != nil {
			return nil, nil, err
		}
		all = append(all, release(cmp.Or(given[c.Name].HelmName, c.Name), c.Namespace, chart, values))
		needs[c.Name] = c.DependencyRefs
	}
	return all, needs, nil
}
