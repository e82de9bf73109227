package argoapi

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// AICR's --set deployer:project and deployer:destinationServer name what only a user's Argo CD has (F354).
func TestRetarget_Bring(t *testing.T) {
	for name, tc := range map[string]struct{ spec, project, server, changed string }{
		"as it is":       {"{project: default, destination: {server: https://kubernetes.default.svc}}", "default", "https://kubernetes.default.svc", ""},
		"by name":        {"{project: default, destination: {name: in-cluster}}", "default", "", ""},
		"a project":      {"{project: team, destination: {server: https://kubernetes.default.svc}}", "default", "https://kubernetes.default.svc", "project team are in the project default here, and nothing verifies what team allows"},
		"a cluster":      {"{project: default, destination: {server: https://10.0.0.1:6443, namespace: n}}", "default", "https://kubernetes.default.svc", "for the cluster https://10.0.0.1:6443 are"},
		"another's name": {"{project: default, destination: {name: west}}", "default", "https://kubernetes.default.svc", "for the cluster west are"},
	} {
		docs, err := yamlx.Documents([]byte("spec: " + tc.spec + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		node := docs[0].Content[0]
		changed := strings.Join(Retarget(node), "\n")
		if !strings.Contains(changed, tc.changed) || (changed == "") != (tc.changed == "") {
			t.Errorf("%s: got %q, want %q", name, changed, tc.changed)
		}
		if got := yamlx.Text(node, "spec", "project"); got != tc.project {
			t.Errorf("%s: got project %s", name, got)
		}
		if got := yamlx.Text(node, "spec", "destination", "server"); got != tc.server {
			t.Errorf("%s: got server %s", name, got)
		}
	}
}
