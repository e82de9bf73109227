package adjust

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

func format(ts []corev1.Toleration) string {
	var out []string
	for _, t := range ts {
		out = append(out, bundle.FormatToleration(t))
	}
	return strings.Join(out, ",")
}

func TestParseSelector(t *testing.T) {
	for _, test := range []struct {
		in   string
		want map[string]string
		ok   bool
	}{
		{"", map[string]string{}, true},
		{"a=b", map[string]string{"a": "b"}, true},
		{"a=b, c.d/e=", map[string]string{"a": "b", "c.d/e": ""}, true},
		{"a", nil, false},
		{"=b", nil, false},
		{"a=b,a=c", nil, false},
	} {
		got, err := ParseSelector(test.in)
		if (err == nil) != test.ok || test.ok && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: got %v, %v", test.in, got, err)
		}
	}
}

func TestParseTolerations(t *testing.T) {
	for _, test := range []struct {
		in   string
		want []corev1.Toleration
		ok   bool
	}{
		{"", nil, true},
		{"*", []corev1.Toleration{{Operator: "Exists"}}, true},
		{"a=b:NoSchedule", []corev1.Toleration{{Key: "a", Operator: "Equal", Value: "b", Effect: "NoSchedule"}}, true},
		{"a:NoExecute,c=d:PreferNoSchedule", []corev1.Toleration{{Key: "a", Operator: "Exists", Effect: "NoExecute"}, {Key: "c", Operator: "Equal", Value: "d", Effect: "PreferNoSchedule"}}, true},
		{"a=b", nil, false},
		{"a=b:Never", nil, false},
		{":NoSchedule", nil, false},
	} {
		got, err := ParseTolerations(test.in)
		if (err == nil) != test.ok || test.ok && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: got %v, %v", test.in, got, err)
		}
		if test.ok {
			if text := format(got); text != test.in {
				t.Errorf("%q comes back as %q", test.in, text)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, bad := range []string{"a b=c", "a=b c", "a=b;rm", strings.Repeat("a", 64) + "=b"} {
		if got, err := ParseSelector(bad); err == nil {
			t.Errorf("node selector %q: got %v", bad, got)
		}
		if got, err := ParseTolerations(bad + ":NoSchedule"); err == nil {
			t.Errorf("toleration %q: got %v", bad, got)
		}
	}
	if got, err := ParseSelector("a=b", "c=d"); err != nil || len(got) != 2 {
		t.Errorf("two flags: got %v, %v", got, err)
	}
	if _, err := ParseSelector("a=b", "a=c"); err == nil || !strings.Contains(err.Error(), "given twice, as b and c") {
		t.Errorf("got %v", err)
	}
	if got, err := ParseTolerations("a:NoSchedule", "a:NoSchedule"); err != nil || len(got) != 1 {
		t.Errorf("twice the same: got %v, %v", got, err)
	}
}

func TestDescribeScheduling(t *testing.T) {
	want := []string{
		"injected scheduling for system components: nodeSelector aicr.nvidia.com/node-type=system; tolerations kwok.x-k8s.io/node=fake:NoSchedule",
		"injected scheduling for accelerated components: nodeSelector aicr.nvidia.com/node-type=accelerated; tolerations kwok.x-k8s.io/node=fake:NoSchedule,nvidia.com/gpu=present:NoSchedule",
	}
	if got := DescribeScheduling(bundle.KwokScheduling()); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := DescribeScheduling(bundle.Scheduling{}); len(got) != 1 || !strings.HasPrefix(got[0], "injected scheduling: none") {
		t.Errorf("got %q", got)
	}
}

func entries() []recipe.Entry {
	entry := func(name string, keys ...string) recipe.Entry {
		return recipe.Entry{ComponentRef: recipe.ComponentRef{Name: name}, ValueOverrideKeys: keys}
	}
	return []recipe.Entry{entry("gpu-operator", "gpuoperator"), entry("cert-manager", "certmanager", "shared"), entry("kgateway", "shared"), entry("plain"), entry("elsewhere", "other")}
}

func result() *recipe.Result {
	r := &recipe.Result{}
	for _, name := range []string{"gpu-operator", "cert-manager", "kgateway", "plain"} {
		r.ComponentRefs = append(r.ComponentRefs, recipe.ComponentRef{Name: name})
	}
	return r
}

func components() []recipe.Component {
	return []recipe.Component{
		{ComponentRef: recipe.ComponentRef{Name: "gpu-operator"}, Values: map[string]any{
			"driver": map[string]any{"version": "580.105.08", "enabled": true}, "list": []any{"a", "b"}, "text": "x",
		}, NodeScheduling: recipe.NodeScheduling{NodeCountPaths: []string{"a.nodes", "nodes"}}},
		{ComponentRef: recipe.ComponentRef{Name: "cert-manager"}},
	}
}

func apply(t *testing.T, flags ...string) ([]recipe.Component, []string, error) {
	t.Helper()
	sets, err := ParseSets(flags)
	if err == nil {
		sets, err = sets.Names(entries(), result())
	}
	all := components()
	if err != nil {
		return all, nil, err
	}
	lines, err := sets.Apply(all)
	return all, lines, err
}

// Values are typed as helm --set types them, and the last of two counts.
func TestSet(t *testing.T) {
	all, lines, err := apply(t, "gpuoperator:driver.version=570.86.16", "gpu-operator:driver.version=570.100", "gpuoperator:gds.enabled=true", "gpuoperator:n=3",
		"gpuoperator:f=1.30", "gpuoperator:gone=null", `gpuoperator:labels.a\.b/c=d\,e`, "gpuoperator:list[1]=z", "certmanager:crds={x,y}", "gpuoperator:image=example.com:5000/a,tag=v1", "gpuoperator:url=oci://x")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"driver": map[string]any{"version": "570.100", "enabled": true}, "gds": map[string]any{"enabled": true}, "n": int64(3), "f": "1.30", "gone": nil, "text": "x",
		"labels": map[string]any{"a.b/c": "d,e"}, "list": []any{"a", "z"}, "image": "example.com:5000/a", "tag": "v1", "url": "oci://x",
	}
	if got := all[0].Values; !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v\nwant %#v", got, want)
	}
	if got := all[1].Values; !reflect.DeepEqual(got, map[string]any{"crds": []any{"x", "y"}}) {
		t.Errorf("got %#v", got)
	}
	if len(lines) != 11 || lines[0] != "gpu-operator: --set driver.version=570.86.16" {
		t.Errorf("got %q", lines)
	}
	if got := all[0].Origins["driver.version"].File; got != "--set gpu-operator:driver.version=570.100" {
		t.Errorf("the value is from %q", got)
	}
	if got := all[1].Overrides; !reflect.DeepEqual(got, map[string]any{"crds": []any{"x", "y"}}) {
		t.Errorf("the bundler treats the values as overrides: got %v", got)
	}
}

func TestSetRefuses(t *testing.T) {
	for flag, want := range map[string]string{
		"gpuoperator":                         "is not COMPONENT:PATH=VALUE",
		"gpuoperator:driver":                  "is not COMPONENT:PATH=VALUE",
		"driver.version=1":                    "is not COMPONENT:PATH=VALUE",
		":a=b":                                "is not COMPONENT:PATH=VALUE",
		"gpuoperator:=b":                      "is not COMPONENT:PATH=VALUE",
		"gpuoperater:a=b":                     `no component of this recipe is called gpuoperater; did you mean "gpuoperator"? there are certmanager, gpuoperator, plain, shared`,
		"other:a=b":                           "component elsewhere is not in this recipe",
		"shared:a=b":                          "shared stands for cert-manager and for kgateway in the registry; write the component's name",
		"plain:a=b":                           "component plain is not in the bundle: it is disabled",
		"gpuoperator:a=1,networkoperator:b=2": "write --set once for each component, with networkoperator: in a flag of its own",
		"gpuoperator:text.below=1":            "--set \"gpuoperator:text.below=1\": ",
		"gpuoperator:list[9999999]=1":         "--set \"gpuoperator:list[9999999]=1\": ",
		"gpuoperator:enabled=no":              "write gpuoperator:enabled=true or gpuoperator:enabled=false",
		"gpuoperator:a" + strings.Repeat(".a", 40) + "=1": "--set ",
	} {
		if _, _, err := apply(t, flag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", flag, err, want)
		}
	}
}

func TestEnable(t *testing.T) {
	sets, err := ParseSets([]string{"gpuoperator:enabled=true", "gpuoperator:enabled=false", "certmanager:replicas=2"})
	if err != nil {
		t.Fatal(err)
	}
	before := result()
	before.ComponentRefs[0].Overrides = map[string]any{"a": "b"}
	if sets, err = sets.Names(entries(), before); err != nil {
		t.Fatal(err)
	}
	after, lines, err := sets.Enable(before)
	if err != nil {
		t.Fatal(err)
	}
	if got := after.ComponentRefs[0].Overrides; !reflect.DeepEqual(got, map[string]any{"a": "b", "enabled": false}) || after.ComponentRefs[1].Overrides != nil || len(lines) != 2 {
		t.Errorf("got %v, %q", got, lines)
	}
	if len(before.ComponentRefs[0].Overrides) != 1 {
		t.Error("the caller's own result was changed")
	}
	for flags, want := range map[string]string{
		"gpuoperator:enabled=1":                             "the recipe leaves component gpu-operator out",
		"gpuoperator:enabled=TRUE gpuoperator:enabled=f":    "",
		"certmanager:enabled=true":                          "",
		"aicr.nvidia.com/v1alpha1 gpuoperator:enabled=true": "", // brought back
	} {
		r := result()
		r.APIVersion = "aicr.run/v1alpha2"
		if rest, ok := strings.CutPrefix(flags, "aicr.nvidia.com/v1alpha1 "); ok {
			r.APIVersion, flags = "aicr.nvidia.com/v1alpha1", rest
		}
		r.ComponentRefs[0].Overrides = map[string]any{"enabled": false}
		sets, err := ParseSets(strings.Fields(flags))
		if err == nil {
			sets, err = sets.Names(entries(), r)
		}
		if err == nil {
			_, _, err = sets.Enable(r)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", flags, err, want)
		}
	}
}

func TestNodes(t *testing.T) {
	all := components()
	lines, err := Nodes(all, 8)
	if err != nil || !slices.Equal(lines, []string{"gpu-operator: --nodes 8 at a.nodes", "gpu-operator: --nodes 8 at nodes"}) {
		t.Errorf("got %q, %v", lines, err)
	}
	if got := all[0].Values["a"]; !reflect.DeepEqual(got, map[string]any{"nodes": int64(8)}) || all[0].Values["nodes"] != int64(8) {
		t.Errorf("got %#v", all[0].Values)
	}
	all[0].Values["a"] = "text"
	if _, err := Nodes(all, 8); err == nil || !strings.Contains(err.Error(), "the value at a is not a map but text") {
		t.Errorf("got %v", err)
	}
}

func TestWithoutEffect(t *testing.T) {
	paths := recipe.NodeScheduling{System: recipe.SchedulingPaths{NodeSelectorPaths: []string{"a"}}, Accelerated: recipe.SchedulingPaths{TaintStrPaths: []string{"b"}}}
	got := WithoutEffect([]recipe.Component{{NodeScheduling: paths}}, bundle.KwokScheduling())
	if len(got) != 2 || !strings.Contains(got[0], "toleration for system") || !strings.Contains(got[1], "node selector for accelerated") {
		t.Errorf("got %q", got)
	}
	if got := WithoutEffect(nil, bundle.Scheduling{}); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}
