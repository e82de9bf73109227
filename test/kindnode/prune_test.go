package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Images of other inputs go when nobody used them for a while. Whatever else lies there stays.
func TestPrune(t *testing.T) {
	root, now := t.TempDir(), time.Now()
	const current, recent, old = "0000000000000000", "1111111111111111", "2222222222222222"
	stays := map[string]bool{current: true, recent: true, old: false, "engine": true, "debian-2222222222222222.tar": true}
	for name := range stays {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		used := now.Add(-30 * 24 * time.Hour)
		if name == recent {
			used = now.Add(-time.Hour)
		}
		if err := os.Chtimes(dir, used, used); err != nil {
			t.Fatal(err)
		}
	}
	if err := prune(root, current, now.Add(-keepUnused)); err != nil {
		t.Fatal(err)
	}
	for name, want := range stays {
		if _, err := os.Stat(filepath.Join(root, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(root, current)); err != nil || info.ModTime().Before(now.Add(-time.Minute)) {
		t.Errorf("the key in use is not marked as used: %v, %v", info, err)
	}
}
