package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// --output is a format, and --to says where to write; a path given to --output is where to write, as
// before there was --to.
func TestOutputIsAFormat(t *testing.T) {
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"to":     {"--to", filepath.Join(dir, "to")},
		"before": {"-o", filepath.Join(dir, "before")},
		"json":   {"--to", filepath.Join(dir, "json"), "-o", "json"},
	} {
		r := invoke(t, nil, append([]string{"bundle", "eks"}, args...)...)
		r.want(t, 0)
		if _, err := os.Stat(filepath.Join(dir, name, "README.md")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var told struct {
			Directory string
			Files     []string
		}
		if err := json.Unmarshal([]byte(r.stdout), &told); (err == nil) != (name == "json") {
			t.Errorf("%s: printed %s", name, r.stdout)
		} else if err == nil && (told.Directory != filepath.Join(dir, name) || len(told.Files) == 0) {
			t.Errorf("%s: printed %+v", name, told)
		}
	}
	invoke(t, nil, "bundle", "eks").want(t, 2, "--to: name a directory")
	invoke(t, nil, "stack", "archive", "-o", "json").want(t, 2, "--to: name a file")
	if help := invoke(t, nil, "bundle", "--help").stdout; !strings.Contains(help, "-o, --output") || !strings.Contains(help, "output format: table or json") {
		t.Errorf("help: %s", help)
	}
}

// CI changes which recipes are run only with a word that names it.
func TestCIIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	invoke(t, []string{"CI=1"}, "list", "recipes", "-o", "name").want(t, 2, "the default where CI is not set")
	invoke(t, []string{"CI=0"}, "list", "recipes", "-o", "name").want(t, 0)
}
