package action_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpstream rehearses the weekly job that reads AICR's main: on a checkout with a field and a service that are not known
// here, and a cell that fails, it opens one issue, leaves one that has the same, and changes one that has something else.
func TestUpstream(t *testing.T) {
	w := readWorkflow(t, ".github/workflows/upstream.yaml")
	r := &runner{t: t, dir: t.TempDir(), known: map[string]string{"github.token": "none", "github.repository": "o/r", "runner.os": "Linux", "runner.arch": "X64"}}
	aicr := func(name string) string { return r.file("aicr/recipes/" + name) }
	if err := os.CopyFS(r.file("aicr/recipes"), os.DirFS("recipes")); err != nil {
		t.Fatal(err)
	}
	registry := strings.Replace(r.read("aicr/recipes/registry.yaml"), "\n    displayName:", "\n    audience: core\n    displayName:", 1)
	write(t, aicr("registry.yaml"), registry)
	write(t, aicr("overlays/moon.yaml"), "apiVersion: aicr.run/v1beta1\nkind: RecipeMetadata\nmetadata: {name: moon}\nspec: {criteria: {service: moon}}\n")
	write(t, r.file("matrix"), `#!/bin/bash
[[ $1 == run ]] || exec `+matrix(t)+` "$@"
[[ $* == "run --tier 1 --job-timeout 120m --report found/report --recipes-dir aicr/recipes" ]] || exit 9
mkdir found/report
echo '{"results": {"tests": [{"name": "eks-training helm", "status": "failed", "message": "first\nsecond"}, {"name": "kind helm", "status": "passed"}]}}' > found/report/kwok-results.json
exit 51
`)
	bin := t.TempDir()
	write(t, filepath.Join(bin, "gh"), `#!/bin/bash
[[ "$1 $2" != "issue list" ]] || exec cat open.json
for a; do [[ $a != body.md ]] || cp body.md issue.md; done
echo "$*" >> calls
`)
	r.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "GITHUB_WORKFLOW=AICR's main"}
	do := func(job, id string) {
		t.Helper()
		for _, s := range w.Jobs[job].Steps {
			if s.ID != id {
				continue
			}
			cmd, out := r.startStep(s.step)
			if code := r.finish(id, cmd); code != 0 {
				t.Fatalf("%s: exit code %d\n%s", id, code, out)
			}
			return
		}
		t.Fatalf("no step %s", id)
	}
	do("look", "look")
	found := r.read("found/differences.txt")
	for _, want := range []string{"field components[].audience is not known", "not run: moon: no KWOK node profile", "matrix run --tier 1 --job-timeout 120m --report found/report: exit code 51\n", "failed: eks-training helm: first\n"} {
		if !strings.Contains(found, want) {
			t.Errorf("no %q in\n%s", want, found)
		}
	}
	if strings.Contains(found, "kind helm") || strings.Contains(found, "second") {
		t.Errorf("what passed is a difference:\n%s", found)
	}
	const title = "AICR's main is not what this release knows"
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(found)))[:16]
	for open, want := range map[string]string{
		`[]`: "issue create --title " + title + " --body-file body.md\n",
		`[{"number": 3, "title": "Re: ` + title + `", "body": "` + digest + `"}]`:                             "issue create --title " + title + " --body-file body.md\n",
		`[{"number": 3, "title": "other", "body": ""}, {"number": 7, "title": "` + title + `", "body": "x"}]`: "issue edit 7 --body-file body.md\nissue comment 7 --body It is something else since this run.\n",
		`[{"number": 7, "title": "` + title + `", "body": "Digest: ` + digest + `"}]`:                         "",
	} {
		write(t, r.file("open.json"), open)
		write(t, r.file("calls"), "")
		do("tell", "tell")
		if got := r.read("calls"); got != want {
			t.Errorf("with the issues %s: got\n%s\nwant\n%s", open, got, want)
		}
	}
	if body := r.read("issue.md"); !strings.Contains(body, "\n    failed: eks-training helm: first") {
		t.Errorf("the issue:\n%s", body)
	}
	write(t, r.file("found/differences.txt"), "")
	write(t, r.file("calls"), "")
	if do("tell", "tell"); r.read("calls") != "" {
		t.Errorf("without a difference: %s", r.read("calls"))
	}
}
