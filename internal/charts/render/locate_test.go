package render

import (
	"fmt"
	"testing"
)

// An error of Kustomize leads to a file, and to the line where it is known.
func TestLocate(t *testing.T) {
	for name, c := range map[string]struct {
		over map[string]string
		want string
	}{
		"no YAML":                  {map[string]string{"app/base/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n"}, "app/base/web.yaml:3"},
		"an unknown field":         {map[string]string{"app/prod/kustomization.yaml": "resources: [../base]\nnamePrefixes: x\n"}, "app/prod/kustomization.yaml:2"},
		"a patch for nothing":      {map[string]string{"app/prod/replicas.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: nosuch\n"}, "app/prod/replicas.yaml:4"},
		"an inline patch":          {map[string]string{"app/prod/kustomization.yaml": "resources: [../base]\npatches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: nosuch}\n"}, "app/prod/kustomization.yaml:3"},
		"a path that is not there": {map[string]string{"app/prod/kustomization.yaml": "resources: [../base]\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: replace, path: /spec/nosuch/field, value: 1}\n"}, "app/prod/kustomization.yaml:5"},
		"twice":                    {map[string]string{"app/base/kustomization.yaml": "resources: [web.yaml, z.yaml]\n", "app/base/z.yaml": "# again\n" + deployment}, "app/base/z.yaml:4"},
		"nothing to go by":         {map[string]string{"app/prod/kustomization.yaml": "resources: [../nosuch]\n"}, "app/prod/kustomization.yaml:0"},
	} {
		in := overlay()
		for file, text := range c.over {
			in.Files[file] = []byte(text)
		}
		_, err := buildKustomization(in)
		if err == nil {
			t.Errorf("%s: it builds", name)
			continue
		}
		file, line := LocateInKustomization(in, err)
		if got := fmt.Sprintf("%s:%d", file, line); got != c.want {
			t.Errorf("%s: got %s, want %s: %v", name, got, c.want, err)
		}
	}
}
