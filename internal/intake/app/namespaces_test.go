package app

import (
	"path/filepath"
	"strings"
	"testing"
)

// A namespace that a file elsewhere in the repository has is taken to exist; one whose file is beside the
// Applications was forgotten, and is named.
func TestNamespaces(t *testing.T) {
	const web = "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"
	for name, tc := range map[string]struct {
		files   map[string]string
		creates bool
		says    string
	}{
		"nowhere":          {nil, false, "or the Namespace to the repository"},
		"elsewhere":        {map[string]string{"infra/web.yaml": web}, true, ""},
		"another one":      {map[string]string{"infra/web.yaml": strings.Replace(web, "web", "webs", 1) + "# web\n"}, false, "or the Namespace to the repository"},
		"beside":           {map[string]string{"apps/namespace.yaml": web}, false, "apps/namespace.yaml has it, and is not delivered)"},
		"in a hidden one":  {map[string]string{".old/web.yaml": web}, false, "or the Namespace to the repository"},
		"maybe a template": {map[string]string{"infra/web.yaml": web + "labels: {{ .x }\n"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := FindApp(t.Context(), filepath.Join(repo(t, argo(tc.files)), "apps"), nil)
			if err != nil {
				t.Fatal(err)
			}
			l := newLayout(t.Context(), a.repo)
			t.Cleanup(l.by.close)
			if err := l.applications(a); err != nil {
				t.Fatal(err)
			}
			for _, n := range l.Namespaces {
				if n.Name == "web" && (n.Creates != tc.creates || !strings.HasSuffix(n.Else, tc.says)) {
					t.Errorf("created: %v, want %v; otherwise %q, want %q", n.Creates, tc.creates, n.Else, tc.says)
				}
				if n.Name == "web" {
					return
				}
			}
			t.Errorf("no namespace web among %v", l.Namespaces)
		})
	}
}
