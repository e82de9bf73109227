package oracle

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/result"
)

// input is a pod, and the objects that are there besides. For the API server any object may stand in the pod's place.
type input struct {
	Name string
	// From is what it was made of.
	From    string
	Subject map[string]any
	Objects []map[string]any
}

// all are its objects, the subject first.
func (in *input) all() []map[string]any { return append([]map[string]any{in.Subject}, in.Objects...) }

func (in *input) copy() input {
	out := input{Name: in.Name, From: in.From, Subject: deepCopy(in.Subject).(map[string]any)}
	for _, o := range in.Objects {
		out.Objects = append(out.Objects, deepCopy(o).(map[string]any))
	}
	return out
}

// yaml is the input as a case file has it, the subject first.
func (in *input) yaml() string {
	var text bytes.Buffer
	for i, o := range in.all() {
		if i > 0 {
			text.WriteString("---\n")
		}
		raw, err := yaml.Marshal(o)
		if err != nil {
			return err.Error()
		}
		text.Write(raw)
	}
	return text.String()
}

// in moves an input to namespaces of its own, so that one program can have many at once.
func (in *input) in(namespace string) input {
	out := in.copy()
	for _, o := range out.all() {
		u := unstructured.Unstructured{Object: o}
		if u.GetNamespace() != "" {
			u.SetNamespace(namespace + "-" + u.GetNamespace())
		}
	}
	return out
}

// readInput reads documents: the first is the subject.
func readInput(name, text string) (input, error) {
	in := input{Name: name, From: name}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		objects, err := rendering.ParseDocuments(doc)
		if err != nil {
			return input{}, err
		}
		for _, o := range objects {
			if in.Subject == nil {
				in.Subject = o.Object
				continue
			}
			in.Objects = append(in.Objects, o.Object)
		}
	}
	if in.Subject == nil {
		return in, fmt.Errorf("%s: no objects", name)
	}
	return in, nil
}

// readInputs reads the files of a pattern.
func readInputs(t testing.TB, pattern string) (all []input) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// With its directory's: many checks have a case of the same name.
		in, err := readInput(filepath.Base(filepath.Dir(file))+"-"+strings.TrimSuffix(filepath.Base(file), ".yaml"), string(raw))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, in)
	}
	return all
}

// checksCases are the cases of all checks, each with each of its objects as the subject.
func checksCases(t testing.TB) (all []input) {
	t.Helper()
	for _, in := range readInputs(t, filepath.Join(root, "internal", "matrix", "checks", "*", "testdata", "mx*", "*.yaml")) {
		seen := map[result.Ref]bool{}
		objects := slices.DeleteFunc(in.all(), func(o map[string]any) bool { // how it is in the cluster
			ref := (&input{Subject: o}).ref()
			again := seen[ref]
			seen[ref] = true
			return again
		})
		for i := range objects {
			one := input{Name: fmt.Sprintf("%s-%d", in.Name, i), From: in.From, Subject: objects[i], Objects: slices.Delete(slices.Clone(objects), i, i+1)}
			all = append(all, one.copy())
		}
	}
	return all
}

// podsOf are the inputs whose subject makes pods, each with such a pod in its place.
func podsOf(inputs []input) (all []input) {
	for _, in := range inputs {
		u := &unstructured.Unstructured{Object: in.Subject}
		template, ok := podspec.Template(u)
		if !ok || template == nil {
			continue
		}
		p := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": template["spec"], "metadata": map[string]any{"name": "pod", "namespace": namespaceOf(u)}}
		if m, ok := template["metadata"].(map[string]any); ok {
			for _, k := range []string{"labels", "annotations"} {
				if m[k] != nil {
					p["metadata"].(map[string]any)[k] = deepCopy(m[k])
				}
			}
		}
		_ = unstructured.SetNestedField(p, "1", "metadata", "labels", "pod-template-hash") // as controllers do it
		_ = unstructured.SetNestedField(p, "0", "metadata", "annotations", "batch.kubernetes.io/job-completion-index")
		if kind := u.GetKind(); kind == "Job" || kind == "CronJob" {
			if s, ok := p["spec"].(map[string]any); ok && s["restartPolicy"] == nil {
				continue // the API server refuses it
			}
		}
		// The StatefulSet's controller adds a volume for each template of a claim.
		if templates, _, _ := unstructured.NestedSlice(in.Subject, "spec", "volumeClaimTemplates"); u.GetKind() == "StatefulSet" && len(templates) > 0 {
			if spec, ok := deepCopy(p["spec"]).(map[string]any); ok {
				volumes, _ := spec["volumes"].([]any)
				for _, t := range templates {
					t, _ := t.(map[string]any)
					name := (&unstructured.Unstructured{Object: t}).GetName()
					volumes = append(slices.DeleteFunc(volumes, func(v any) bool { return v.(map[string]any)["name"] == name }), map[string]any{"name": name, "persistentVolumeClaim": map[string]any{"claimName": name}})
				}
				spec["volumes"], p["spec"] = volumes, spec
			}
		}
		out := input{Name: in.Name, From: in.From, Subject: p, Objects: in.Objects}
		all = append(all, out.copy())
	}
	return all
}

func namespaceOf(u *unstructured.Unstructured) string {
	if u.GetNamespace() == "" {
		return "x"
	}
	return u.GetNamespace()
}

// kubeVersion is what charts are rendered for.
const kubeVersion = "v1.36.0"

// filesOf are the files of an input, and its values.
func filesOf(in *input) (files map[string]string, values map[string]any, packed bool) {
	files = map[string]string{}
	list, _ := in.Subject["files"].(map[string]any)
	for name, text := range list {
		files[name] = fmt.Sprint(text)
	}
	values, _ = in.Subject["values"].(map[string]any)
	packed, _ = in.Subject["packed"].(bool)
	return files, values, packed
}
