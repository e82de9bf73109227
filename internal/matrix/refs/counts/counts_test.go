package counts

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
)

func object(release, apiVersion, kind, name string, hard map[string]any) bundle.Object {
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": "ns"}}
	if hard != nil {
		o["spec"] = map[string]any{"hard": hard}
	}
	return bundle.Object{Component: release, Release: release, Template: release + "/templates/" + name + ".yaml", Object: &unstructured.Unstructured{Object: o}}
}

// A quota that allows fewer objects than come with it and after it is a fault. What comes before it, in
// another namespace or as a hook is not counted.
func TestFind(t *testing.T) {
	quota := func(name string, allowed any) bundle.Object {
		return object("b", "v1", "ResourceQuota", "q", map[string]any{name: allowed})
	}
	scoped := quota("count/configmaps", "1")
	scoped.Object.Object["spec"].(map[string]any)["scopes"] = []any{"BestEffort"}
	hook, elsewhere := object("b", "v1", "ConfigMap", "hook", nil), object("b", "v1", "ConfigMap", "elsewhere", nil)
	hook.Hook = true
	elsewhere.Object.SetNamespace("other")
	var seven []bundle.Object
	for i := range 7 {
		seven = append(seven, object("b", "apps/v1", "Deployment", fmt.Sprint("d", i), nil))
	}
	one, two := object("b", "v1", "ConfigMap", "one", nil), object("c", "v1", "ConfigMap", "two", nil)
	for name, test := range map[string]struct {
		objects []bundle.Object
		want    string
	}{
		"one too many":          {[]bundle.Object{quota("count/configmaps", "2"), one, two}, "allows 2 count/configmaps, and with it and after it 3 are delivered to ns: kube-root-ca.crt, one, two"},
		"by its older name":     {[]bundle.Object{quota("configmaps", int64(1)), one}, "allows 1 configmaps"},
		"room for all":          {[]bundle.Object{quota("count/configmaps", "3"), one, two}, ""},
		"delivered before":      {[]bundle.Object{quota("count/configmaps", "2"), object("a", "v1", "ConfigMap", "zero", nil), one}, ""},
		"others":                {[]bundle.Object{quota("count/configmaps", "2"), one, hook, elsewhere}, ""},
		"nothing of the kind":   {[]bundle.Object{quota("count/configmaps", "0")}, ""},
		"of a group":            {append([]bundle.Object{quota("count/deployments.apps", "5")}, seven...), "7 are delivered to ns: d0, d1, d2, d3, and 3 more"},
		"of another group":      {append([]bundle.Object{quota("count/deployments.example.com", "5")}, seven...), ""},
		"no count":              {append([]bundle.Object{quota("deployments.apps", "5")}, seven...), ""},
		"pods":                  {[]bundle.Object{quota("count/pods", "0"), object("b", "v1", "Pod", "p", nil)}, ""},
		"scopes are for pods":   {[]bundle.Object{scoped, one}, ""},
		"the same object twice": {[]bundle.Object{quota("count/configmaps", "2"), one, one}, ""},
	} {
		e := &bundle.Expectation{Objects: test.objects}
		for _, release := range []string{"a", "b", "c"} {
			e.Releases = append(e.Releases, bundle.Release{Component: release, Name: release})
		}
		got := ""
		for _, p := range Find(e) {
			got += p.Text
		}
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
