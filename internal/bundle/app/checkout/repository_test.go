package checkout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
