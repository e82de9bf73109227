package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands as release.yaml calls them, and versions as a person may type them into its form.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args      []string
		stdin     string
		out, fail string
	}{
		"major":                 {args: []string{"major", "--version", "v1.2.3"}, stdin: "v1\nv1.2.2\n", out: "v1\n"},
		"major, an old one":     {args: []string{"major", "--version", "v1.2.3"}, stdin: "v1.10.0\n"},
		"latest":                {args: []string{"latest", "--version", "v1.2.3"}, stdin: "v1\nv1.2.2\nv1.2.3\nother\n", out: "true\n"},
		"latest, an old one":    {args: []string{"latest", "--version", "v1.2.3"}, stdin: "v2.0.0\n", out: "false\n"},
		"compare, nothing":      {args: []string{"compare", "--version", "v1.2.3", "--dir", dir, "--with", filepath.Join(dir, "absent")}, fail: "absent"},
		"compare":               {args: []string{"compare", "--version", "v1.2.3", "--dir", dir, "--with", dir}},
		"checksums":             {args: []string{"checksums", "--version", "v1.2.3", "--dir", dir}},
		"pin, nothing to pin":   {args: []string{"pin", "--version", "v1.2.3", "--dir", dir}, fail: "matrix_v1.2.3_linux_arm64"},
		"pack, another machine": {args: []string{"pack", "--version", "v1.2.3", "--dir", dir, "--platform", "plan9/mips"}, fail: "plan9/mips"},
		"packages of nothing":   {args: []string{"packages", "--version", "v1.2.3", "--dir", dir}, fail: "matrix_v1.2.3_darwin_amd64"},
		"an image without name": {args: []string{"image", "--version", "v1.2.3", "--dir", dir}, fail: "--ref"},
		"no version":            {args: []string{"major"}, fail: "--version"},
		"a shell's version":     {args: []string{"pack", "--version", "v1.2.3; touch owned"}, fail: "vX.Y.Z"},
		"a flag for a version":  {args: []string{"checksums", "--version", "--dir"}, fail: "vX.Y.Z"},
		"another argument":      {args: []string{"major", "v1.2.3"}, fail: "v1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, log strings.Builder
			cmd := command(strings.NewReader(test.stdin), &out, &log)
			cmd.SetArgs(test.args)
			err := cmd.ExecuteContext(t.Context())
			if test.fail == "" && err != nil || test.fail != "" && (err == nil || !strings.Contains(err.Error(), test.fail)) {
				t.Errorf("got %v, want %q", err, test.fail)
			}
			if out.String() != test.out {
				t.Errorf("stdout %q, want %q", out.String(), test.out)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "checksums.txt")); err != nil {
		t.Error(err)
	}
}
