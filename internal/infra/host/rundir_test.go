package host

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

func runEntries(t *testing.T, paths Paths) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(paths.Root, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestRunDir_KilledRun(t *testing.T) {
	paths := Paths{Root: t.TempDir()}
	runs := filepath.Join(paths.Root, "runs")
	for _, dir := range []string{"killed/logs", "somebody-elses"} {
		if err := os.MkdirAll(filepath.Join(runs, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(runs, "killed.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := OpenRunDir(paths, "first")
	if err != nil {
		t.Fatal(err)
	}
	second, err := OpenRunDir(paths, "second") // a run that is going on is left alone
	if err != nil {
		t.Fatal(err)
	}
	if got, want := runEntries(t, paths), []string{"first", "first.lock", "second", "second.lock", "somebody-elses"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, d := range []*RunDir{first, second} {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := runEntries(t, paths); !slices.Equal(got, []string{"somebody-elses"}) {
		t.Errorf("left: %v", got)
	}
}

func TestRunDir_Concurrent(t *testing.T) {
	paths := Paths{Root: t.TempDir()}
	var wg sync.WaitGroup
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		wg.Go(func() {
			for range 20 {
				d, err := OpenRunDir(paths, id)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(d.Path); err != nil {
					t.Errorf("another run removed it: %v", err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := runEntries(t, paths); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}

func TestDiskReason(t *testing.T) {
	for _, test := range []struct {
		err  error
		want reason.Reason
	}{
		{&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, reason.NoSpace},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, reason.NoSpace},
		{os.ErrPermission, reason.Internal},
	} {
		if got := infra.DiskReason(test.err, reason.Internal); got != test.want {
			t.Errorf("%v: got %s, want %s", test.err, got, test.want)
		}
	}
}
