package checkout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// The remotes of a clone are its addresses, except those that are directories of this machine.
func TestRemotesOf(t *testing.T) {
	for url, want := range map[string]string{
		"git@example.com:team/apps.git": "example.com/team/apps", "https://example.com/team/Apps": "example.com/team/apps", "ssh://git@example.com:22/team/apps.git": "example.com/team/apps",
		"/srv/mirror": "", "../apps": "", "file:///srv/apps.git": "",
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".git", "config"), []byte("[remote \"origin\"]\n\turl = "+url+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(remotesOf(dir), " "); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}

// A List is its items, as for every deployer.
func TestParsed_List(t *testing.T) {
	t.Parallel()
	text := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: b}}]}\n- {size: 1}\n"
	r := &Repository{FSys: fstest.MapFS{"a.yaml": {Data: []byte(text)}}}
	all, other, err := r.Parsed("a.yaml")
	if err != nil || len(all) != 2 || all[0].Name() != "a" || all[1].Name() != "b" || other == nil || other.Node.Line != 6 {
		t.Errorf("got %v, %v, %v", all, other, err)
	}
	if _, err := r.Documents("a.yaml"); err == nil || !strings.Contains(err.Error(), "a.yaml:6: a document without apiVersion or kind") {
		t.Errorf("got %v", err)
	}
}
