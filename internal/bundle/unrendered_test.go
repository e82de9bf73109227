package bundle

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
)

// undeploy.sh removes what deploy.sh installs, the last release first, and passes its arguments on.
func TestUndeployScript(t *testing.T) {
	b, bash, dir, bundleDir := writtenHelmBundle(t)
	calls := filepath.Join(dir, "calls")
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(bash, append([]string{filepath.Join(bundleDir, "undeploy.sh")}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CALLS="+calls)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return string(out)
	}
	run("--kube-context", "a b")
	raw, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, i := range slices.Backward(b.Installs) {
		want = append(want, fmt.Sprintf("[uninstall][%s][--namespace][%s][--ignore-not-found][--kube-context][a b]", i.Release.Name, i.Release.Namespace))
	}
	if got := strings.Split(strings.TrimSpace(string(raw)), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if out := run("--help"); !strings.Contains(out, "HELM FLAG") || strings.Contains(out, "set -e") {
		t.Errorf("--help:\n%s", out)
	}
}

// A bundle that is made without reading charts has the same files as one that is made with them.
// Only its README and the permissions of an AppProject differ.
func TestUnrendered(t *testing.T) {
	for _, d := range Deployers() {
		if d.Name() == HelmTemplate {
			continue
		}
		in := fixture()
		in.TargetRevision = Tag(d.Name(), "1a2b3c4")
		rendered := mustBundle(t, d, in)
		in.Charts, in.Unrendered, in.PutIn = nil, true, []string{"put in by hand"}
		b := mustBundle(t, d, in)
		for i, f := range b.Files {
			if want := rendered.Files[i]; f.Path != want.Path || !slices.Contains([]string{"README.md", "checksums.txt", argoapi.ProjectFile}, f.Path) && !bytes.Equal(f.Content, want.Content) {
				t.Errorf("%s: %s is\n%s\nand with charts %s\n%s", d.Name(), f.Path, f.Content, want.Path, want.Content)
			}
		}
		if len(b.Files) != len(rendered.Files) || len(b.Expectation.Releases) != len(rendered.Expectation.Releases) || len(b.Charts) != 0 || len(b.Expectation.Workloads) != 0 {
			t.Errorf("%s: got %d files, %d releases, %d charts and %d workloads", d.Name(), len(b.Files), len(b.Expectation.Releases), len(b.Charts), len(b.Expectation.Workloads))
		}
		if o := b.Expectation.Overrides; len(o) != len(rendered.Expectation.Overrides)+1 || o[0] != "put in by hand" || !strings.Contains(content(t, b, "README.md"), "- `put in by hand`") {
			t.Errorf("%s: got overrides %q", d.Name(), o)
		}
		in.Components[0].Version = ""
		if _, err := d.Bundle(t.Context(), in); err == nil || !strings.Contains(err.Error(), "pins no version of its chart") {
			t.Errorf("%s without a version: got %v", d.Name(), err)
		}
	}
}
