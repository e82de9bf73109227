package intake

import "testing"

func TestNote(t *testing.T) {
	for name, tc := range map[string]struct {
		files []string
		want  string
	}{
		"another lane's":        {[]string{"cert-manager/helmrelease.yaml", "kustomization.yaml"}, "; it looks like a bundle for flux-oci or flux-git"},
		"a helmfile's":          {[]string{"001-a/install.sh", "helmfile.yaml"}, "; it looks like a bundle for helmfile"},
		"helm's":                {[]string{"001-a/install.sh"}, "; it looks like a bundle for helm"},
		"in a directory":        {[]string{"README.md", "eks/app-of-apps.yaml", "eks/001-a/application.yaml"}, "; its directory eks looks like one for argocd-oci or argocd-git"},
		"one for each lane":     {[]string{"a/Chart.yaml", "h/001-a/install.sh"}, "; its directory a looks like one for argocd-helm-oci, its directory h looks like one for helm"},
		"directories of charts": {[]string{"a/Chart.yaml", "b/Chart.yaml", "c/Chart.yaml", "d/Chart.yaml"}, ""},
		"nothing known":         {[]string{"x.yaml", "a/b/deploy.sh"}, ""},
	} {
		if got := guessNote(tc.files); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
