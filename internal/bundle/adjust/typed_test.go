package adjust

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/recipe"
)

func applyTyped(t *testing.T, jsons, files []string) ([]recipe.Component, []string, error) {
	t.Helper()
	typed, err := ParseTyped(jsons, files)
	if err == nil {
		typed, err = NameTyped(typed, entries(), result())
	}
	all := components()
	if err != nil {
		return all, nil, err
	}
	lines, err := ApplyTyped(typed, all)
	return all, lines, err
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "value.yaml")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// A map is merged, anything else replaces; the deeper path and then JSON have the last word.
func TestTyped(t *testing.T) {
	env := file(t, "# a comment\nHTTPS_PROXY: http://proxy:3128\nPORT: 8080\n")
	all, lines, err := applyTyped(t, []string{
		`gpuoperator:driver={"version": null, "rdma": {"enabled": true}, "replicas": 3, "share": 0.5}`, `gpu-operator:list=["x"]`, `gpuoperator:driver.env.PORT=9090`, `gpuoperator:text=null`,
		`gpuoperator:labels.a\.b/c="d"`, `certmanager:a="first"`, `certmanager:a="second"`,
	}, []string{"gpuoperator:driver.env=" + env, "certmanager:a=" + env})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"driver": map[string]any{"enabled": true, "rdma": map[string]any{"enabled": true}, "replicas": int64(3), "share": 0.5, "env": map[string]any{"HTTPS_PROXY": "http://proxy:3128", "PORT": int64(9090)}},
		"list":   []any{"x"}, "text": nil, "labels": map[string]any{"a.b/c": "d"},
	}
	if got := all[0].Values; !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v\nwant %#v", got, want)
	}
	if got := all[1].Values; !reflect.DeepEqual(got, map[string]any{"a": "second"}) {
		t.Errorf("got %#v", got)
	}
	if len(lines) != 9 || lines[0] != `cert-manager: --set-file a=`+env {
		t.Errorf("got %q", lines)
	}
	if got := all[0].Origins["list"].File; got != `--set-json gpu-operator:list=["x"]` {
		t.Errorf("the value is from %q", got)
	}
}

// What these flags set is the last word: the bundler puts no tolerations to it.
func TestTyped_Tolerations(t *testing.T) {
	for flag, want := range map[string]string{
		"x:tolerations=[]":                        "a.tolerations b.c.tolerations",
		`x:a={"tolerations":[]}`:                  "tolerations b.c.tolerations",
		`x:a={"replicas":1}`:                      "tolerations a.tolerations b.c.tolerations",
		`x:b={"c":{"tolerations":[{"key":"k"}]}}`: "tolerations a.tolerations",
		"x:b=null":                                "tolerations a.tolerations",
		"x:toleration=[]":                         "tolerations a.tolerations b.c.tolerations",
	} {
		shared := recipe.SchedulingPaths{TolerationPaths: []string{"tolerations", "a.tolerations", "b.c.tolerations"}}
		all := []recipe.Component{{ComponentRef: recipe.ComponentRef{Name: "x"}, NodeScheduling: recipe.NodeScheduling{System: shared, Accelerated: shared}}}
		typed, err := ParseTyped([]string{flag}, nil)
		if err == nil {
			_, err = ApplyTyped(typed, all)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []recipe.SchedulingPaths{all[0].NodeScheduling.System, all[0].NodeScheduling.Accelerated} {
			if strings.Join(got.TolerationPaths, " ") != want {
				t.Errorf("%s: got %v, want %s", flag, got.TolerationPaths, want)
			}
		}
		if strings.Join(shared.TolerationPaths, " ") != "tolerations a.tolerations b.c.tolerations" {
			t.Fatalf("%s: the registry's own paths were changed", flag)
		}
	}
}

func TestTypedRefuses(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"gpuoperator":               "is not COMPONENT:PATH=JSON",
		"driver.version=1":          "is not COMPONENT:PATH=JSON",
		"gpuoperator:a={":           `--set-json "gpuoperator:a={": the value is not JSON: unexpected EOF`,
		"gpuoperator:a=":            "the value is not JSON: there is none",
		"gpuoperator:a=1 2":         "followed by something else",
		"gpuoperator:a..b=1":        "has an empty key",
		"gpuoperator:list[0]=1":     "leads to an element of a list",
		"gpuoperator:enabled=false": "by --set gpuoperator:enabled=false",
		"gpuoperater:a=1":           `did you mean "gpuoperator"?`,
		"plain:a=1":                 "component plain is not in the bundle: it is disabled",
		"gpuoperator:text.below=1":  "the value at text is not a map but x",
	} {
		if _, _, err := applyTyped(t, []string{text}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	broken, two := file(t, "a: 1\nb: [\n"), file(t, "a: 1\n---\nb: 2\n")
	for name, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "no such file or directory",
		dir:                             "is not a regular file",
		file(t, ""):                     "is empty",
		broken:                          broken + ":",
		two:                             two + ":",
	} {
		if _, _, err := applyTyped(t, nil, []string{"gpuoperator:a=" + name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

// What the registry names a path for gets the value there, and nothing else does.
func TestPaths(t *testing.T) {
	known := entries()
	known[0].StorageClassPaths, known[1].WorkloadSelectorPaths = []string{"pvc.storageClassName"}, []string{"selector"}
	all := components()
	all[0].NodeScheduling.Accelerated.TaintStrPaths, all[0].NodeScheduling.System.TaintPaths = []string{"taint"}, []string{"gate"}
	lines, err := StorageClass(all, known, "gp3")
	if err != nil || len(lines) != 1 || lines[0] != "gpu-operator: --storage-class gp3 at pvc.storageClassName" || !reflect.DeepEqual(all[0].Values["pvc"], map[string]any{"storageClassName": "gp3"}) {
		t.Errorf("got %q, %v, %v", lines, err, all[0].Values)
	}
	lines, err = WorkloadSelector(all, known, map[string]string{"b": "2", "a": "1"})
	if err != nil || len(lines) != 1 || lines[0] != "cert-manager: --workload-selector a=1,b=2 at selector" || !reflect.DeepEqual(all[1].Values["selector"], map[string]any{"a": "1", "b": "2"}) {
		t.Errorf("got %q, %v, %v", lines, err, all[1].Values)
	}
	lines, err = WorkloadGate(all, corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists, Effect: "NoSchedule"})
	if err != nil || len(lines) != 2 || all[0].Values["taint"] != "a:NoSchedule" || !reflect.DeepEqual(all[0].Values["gate"], map[string]any{"key": "a", "effect": "NoSchedule"}) {
		t.Errorf("got %q, %v, %v", lines, err, all[0].Values)
	}
	if _, err := ParsePodSelector("a"); err == nil || !strings.Contains(err.Error(), `pod selector "a" is not KEY=VALUE`) {
		t.Errorf("got %v", err)
	}
}

// What a profile decides stays what it is, whichever flag says otherwise.
func TestLocked(t *testing.T) {
	r := result()
	r.Metadata.SelectedProfile = &recipe.ProfileSelected{Name: "stack", Value: "managed", OwnedPaths: map[string][]string{"gpu-operator": {"driver.enabled", "enabled", "toolkit.enabled"}}}
	for name, c := range map[string]struct {
		change func(all []recipe.Component) []recipe.Component
		want   string
	}{
		"the same": {func(all []recipe.Component) []recipe.Component {
			all[0].Values["driver"].(map[string]any)["enabled"] = true
			return all
		}, ""},
		"elsewhere": {func(all []recipe.Component) []recipe.Component { all[0].Values["text"] = "y"; return all }, ""},
		"another": {func(all []recipe.Component) []recipe.Component {
			note(&all[0], "driver.enabled", "--set gpu-operator:driver.enabled=false")
			all[0].Values["driver"].(map[string]any)["enabled"] = false
			return all
		}, "--set gpu-operator:driver.enabled=false: the value driver.enabled of component gpu-operator belongs to the profile stack=managed, where it is true"},
		"new": {func(all []recipe.Component) []recipe.Component {
			all[0].Values["toolkit"] = map[string]any{"enabled": true}
			return all
		}, "the value toolkit.enabled"},
		"left out": {func(all []recipe.Component) []recipe.Component { return all[1:] }, "component gpu-operator cannot be left out: the profile stack=managed sets values of it"},
	} {
		all := components()
		err := Lock(r, all).Check(c.change(all))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	locked := Lock(r, components())
	for text, refused := range map[string]bool{"gpuoperator:driver": true, "gpuoperator:driver.enabled.x": true, "gpuoperator:driver.version": false, "certmanager:driver": false} {
		dynamic, err := ParseDynamic([]string{text})
		if err == nil {
			_, err = NameDynamic(dynamic, entries(), r, components(), locked)
		}
		if (err != nil) != refused {
			t.Errorf("--dynamic %s: got %v", text, err)
		}
	}
}

func TestDynamicRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"gpuoperator":         "is not COMPONENT:PATH",
		"gpuoperator:a=b":     "is not COMPONENT:PATH",
		"gpuoperator:a.":      "has an empty key",
		"gpuoperator:enabled": "decided when it is made",
		"other:a":             "component elsewhere is not in this recipe",
		"plain:a":             "component plain is not in the bundle",
	} {
		dynamic, err := ParseDynamic([]string{text})
		if err == nil {
			_, err = NameDynamic(dynamic, entries(), result(), components(), Locked{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	dynamic, err := ParseDynamic([]string{"gpuoperator:a.b", "gpu-operator:a.b", "gpuoperator:a"})
	if err == nil {
		_, err = NameDynamic(dynamic, entries(), result(), components(), Locked{})
	}
	if err == nil || !strings.Contains(err.Error(), `--dynamic "gpuoperator:a.b" is above or below it`) {
		t.Errorf("got %v", err)
	}
}
