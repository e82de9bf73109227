package render

import "testing"

func TestIs(t *testing.T) {
	for file, want := range map[string]bool{
		".argocd-source.yaml": true, ".argocd-source-web.yaml": true, "x/.argocd-source.yaml": false, ".argocd-source-x/y.yaml": false,
		".argocd-source": false, "argocd-source.yaml": false, ".argocd-sources.yaml": false, ".argocd-source.yml": false,
	} {
		if got := IsArgoSource(file); got != want {
			t.Errorf("%s: got %t", file, got)
		}
	}
	for _, file := range ArgoSourceFiles("web") {
		if !IsArgoSource(file) {
			t.Errorf("%s is one of Files and not Is", file)
		}
	}
}
