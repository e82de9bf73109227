package rehook

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestFind(t *testing.T) {
	for name, c := range map[string]struct{ hook, policy, template, want string }{
		"only after a failure":     {"post-install,post-upgrade", "hook-failed", "", "leaves it in the cluster once it has succeeded"},
		"before it is created":     {"post-install,post-upgrade", "before-hook-creation,hook-failed", "", ""},
		"after it succeeded":       {"pre-install,pre-upgrade", "hook-succeeded", "", ""},
		"none":                     {"pre-install,pre-upgrade", "", "", ""},
		"only at the installation": {"post-install", "hook-failed", "", ""},
		"misspelt":                 {"post-install, post-upgrade", "hook-suceeded", "", `"hook-suceeded" is no policy of Helm (before-hook-creation, hook-succeeded, hook-failed)`},
		"misspelt, no upgrade":     {"post-install", "before-hook-create", "", `"before-hook-create" is no policy of Helm`},
		"one of two misspelt":      {"post-install,post-upgrade", "before-hook-creation,hook-suceeded", "", ""},
		"another name each time":   {"post-install,post-upgrade", "hook-failed", "name: seed-{{ .Release.Revision }}", ""},
		"the same name":            {"post-install,post-upgrade", "hook-failed", "name: seed", "leaves it"},
	} {
		text := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: seed, annotations: {helm.sh/hook: '" + c.hook + "', helm.sh/hook-delete-policy: '" + c.policy + "'}}"
		o := bundle.Object{Object: testkit.Parsed(t, text), Hook: true, Template: "b/templates/hook.yaml"}
		if c.template != "" {
			o.Chart = &chart.Chart{Templates: []*chart.File{{Name: "templates/hook.yaml", Data: []byte(c.template)}}}
		}
		got := ""
		for _, p := range Find(&bundle.Expectation{Objects: []bundle.Object{o}}) {
			got += p.Text
		}
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestFind_Kept(t *testing.T) {
	for policy, want := range map[string]string{
		"keep": "", `"keep"`: "", "Keep": `has helm.sh/resource-policy: "Keep", and Helm knows only keep`, `" keep "`: `has helm.sh/resource-policy: " keep ", and Helm knows only keep`,
		"kepp": `has helm.sh/resource-policy: "kepp", and Helm knows only keep`, `""`: `has helm.sh/resource-policy: "", and Helm knows only keep`,
	} {
		o := testkit.Parsed(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/resource-policy: "+policy+"}}")
		got := ""
		for _, p := range Find(&bundle.Expectation{Objects: []bundle.Object{{Object: o}}}) {
			got += p.Text
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", policy, got, want)
		}
	}
}
