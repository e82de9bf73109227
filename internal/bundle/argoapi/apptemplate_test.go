package argoapi

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed testdata/objects/child.yaml
var child string

// The root of AICR's form: an action at the beginning of a line is within the spec all the same.
//
//go:embed testdata/objects/root.yaml
var root string

func TestBring(t *testing.T) {
	for name, tc := range map[string]struct {
		template   string
		has, lacks []string
	}{
		"a child": {child,
			[]string{"\n        server: \"https://kubernetes.default.svc\"\n", "\n    project: \"default\"\n", "\n    name: '{{ $name }}'\n", "                project: mine\n", "                    server: mine\n"},
			[]string{".project", "destinationServer"}},
		"the root": {root,
			[]string{"\n  project: \"default\"\n", "\n    server: \"https://kubernetes.default.svc\"\n    namespace: argocd\n", "  name: {{ .Values.appName"},
			[]string{"west", "team"}},
		"two": {child + "---\n" + root, []string{"{{- end }}"}, []string{".project", "west", "team"}},
		"no Application": {"metadata:\n  project: mine\ndata:\n  project: mine\n  destination:\n    server: mine\n",
			[]string{"metadata:\n  project: mine\ndata:\n  project: mine\n  destination:\n    server: mine\n"}, nil},
	} {
		for _, end := range []string{"\n", "\r\n"} {
			got := strings.ReplaceAll(string(RetargetTemplate([]byte(strings.ReplaceAll(tc.template, "\n", end)))), "\r\n", "\n")
			for _, want := range tc.has {
				if !strings.Contains(got, want) {
					t.Errorf("%s: it lacks %q:\n%s", name, want, got)
				}
			}
			for _, no := range tc.lacks {
				if strings.Contains(got, no) {
					t.Errorf("%s: it has %q:\n%s", name, no, got)
				}
			}
		}
	}
}

func TestRedirect(t *testing.T) {
	got := string(RedirectTemplate([]byte(child), "oci://127.0.0.1:5500/charts/one", "1.2.3"))
	for _, want := range []string{"    source:\n        path: \".\"\n", "repoURL: \"oci://127.0.0.1:5500/charts/one\"\n", "targetRevision: \"1.2.3\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}
