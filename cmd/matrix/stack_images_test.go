package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Where programs come from is checked before anything is asked or compiled.
func TestStackSource_BadInput(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "images.lock")
	if err := os.WriteFile(broken, []byte("programs:\n- program: etcd\n  path: etcd\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
		want string
	}{
		"source":           {nil, []string{"version", "--stack", "docker"}, 2, `--stack "docker": want auto, images, modules or archive`},
		"source, variable": {[]string{"AICR_ACTION_STACK=x"}, []string{"version"}, 2, "want auto"},
		"lock":             {[]string{"AICR_ACTION_STACK_LOCK=" + broken}, []string{"version"}, 10, "etcd has the path \"etcd\"; want the whole path"},
		"no lock":          {[]string{"AICR_ACTION_STACK_LOCK=" + broken + "x"}, []string{"version"}, 10, "AICR_ACTION_STACK_LOCK"},
		"mirror":           {[]string{"AICR_ACTION_STACK_MIRROR=https://x/y"}, []string{"version"}, 2, "AICR_ACTION_STACK_MIRROR"},
		"archive":          {nil, []string{"stack", "build", "--stack", "archive"}, 11, "run `matrix stack install FILE`"},
		"images":           {nil, []string{"stack", "build", "--stack", "images"}, 11, "images.lock has no digest for "},
		"parity of one":    {nil, []string{"parity", "eks", "--stack", "images"}, 2, "name two different sources"},
		"parity of two":    {nil, []string{"parity", "eks", "--stack", "images,docker"}, 2, "want auto"},
		"parity of both":   {nil, []string{"parity", "eks", "--stack", "images,modules", "--operators", "auto"}, 2, "exclude each other"},
		"no such lock dir": {nil, []string{"stack", "lock"}, 2, "arg"},
	} {
		t.Run(name, func(t *testing.T) {
			invokeIn(t.Context(), t, t.TempDir(), c.env, c.args...).want(t, c.code, c.want)
		})
	}
	for want, args := range map[string][]string{"images.lock has no digest for ": {"version"}, "will come from registry.k8s.io/etcd:3.6.8-0": {"version", "--allow-unpinned"}} {
		r := invokeIn(t.Context(), t, t.TempDir(), nil, args...)
		r.want(t, 0)
		wantText(t, "matrix version", r.stdout, want)
	}
}
