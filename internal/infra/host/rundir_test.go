package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// A cache that this user cannot write to, and a machine that names none, are the user's to mend: no
// fault of this program.
func TestRunDir_CacheUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenRunDir(Paths{Root: file}, "x")
	if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "the cache cannot be written; set AICR_ACTION_CACHE to a directory of yours") {
		t.Errorf("a file: got %v (%s)", err, reason.Of(err))
	}
	_, err = OpenRunDir(Paths{Root: filepath.Join(t.TempDir(), "a,b")}, "x")
	if reason.Of(err) != reason.Usage || !strings.Contains(err.Error(), "has a comma or a quotation mark") {
		t.Errorf("a comma: got %v (%s)", err, reason.Of(err))
	}
	for _, cause := range []error{syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		if err := CacheError(reason.Internal, fmt.Errorf("lock: %w", cause)); reason.Of(err) != reason.Usage {
			t.Errorf("%v: got %s", cause, reason.Of(err))
		}
	}
	if got := reason.Of(CacheError(reason.Internal, syscall.ENOSPC)); got != reason.NoSpace {
		t.Errorf("a full disk: got %s", got)
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	if _, err := DefaultPaths(os.Getenv); reason.Of(err) != reason.Usage {
		t.Errorf("no home: got %v (%s)", err, reason.Of(err))
	}
}
