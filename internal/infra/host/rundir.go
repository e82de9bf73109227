package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// RunDir is the directory of one run, in which its cells write while they run. It is removed at the
// end of the run.
type RunDir struct {
	Path string
	lock *flock.Flock
}

// OpenRunDir makes the directory of a run and locks it. It removes the directories of killed runs,
// whose locks are free: they have only logs and bundles of unfinished cells.
func OpenRunDir(paths Paths, id string) (*RunDir, error) {
	if strings.ContainsAny(paths.Root, `,"`) {
		return nil, reason.New(reason.Usage, "the cache's path %s has a comma or a quotation mark, at which the Helm in Argo CD splits the names of values files; set %s to another directory", paths.Root, CacheEnv)
	}
	all := filepath.Join(paths.Root, "runs")
	if err := os.MkdirAll(all, 0o755); err != nil {
		return nil, CacheError(reason.Internal, fmt.Errorf("make the directory of runs: %w", err))
	}
	release, err := lockRuns(all)
	if err != nil {
		return nil, err
	}
	defer release()
	old, err := os.ReadDir(all)
	if err != nil {
		return nil, reason.Wrap(reason.Internal, fmt.Errorf("list the directory of runs: %w", err))
	}
	for _, e := range old {
		if err := removeIfStale(filepath.Join(all, e.Name())); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(all, id)
	// The lock is beside the directory, not in it, and taken before the directory is made, so that
	// no other run finds the directory unlocked.
	lock := flock.New(dir + ".lock")
	if err := lock.Lock(); err != nil {
		return nil, CacheError(reason.Internal, fmt.Errorf("lock run directory %s: %w", dir, err))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		_ = lock.Unlock()
		return nil, CacheError(reason.Internal, fmt.Errorf("make the run's directory: %w", err))
	}
	return &RunDir{Path: dir, lock: lock}, nil
}

// CacheError gives an error of writing to the cache its reason: one that this user cannot write to
// is the user's to choose. Reasons: USAGE, NO_SPACE, otherwise.
func CacheError(otherwise reason.Reason, err error) error {
	for _, cannot := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENOTDIR} {
		if errors.Is(err, cannot) {
			return reason.New(reason.Usage, "%w: the cache cannot be written; set %s to a directory of yours", err, CacheEnv)
		}
	}
	return reason.Wrap(infra.DiskReason(err, otherwise), err)
}

// lockRuns keeps other runs from making, looking at or removing lock files for a moment: between
// opening a file and locking it another run could remove it.
func lockRuns(all string) (release func(), err error) {
	lock := flock.New(all + ".lock")
	if err := lock.Lock(); err != nil {
		return nil, CacheError(reason.Internal, fmt.Errorf("lock the directory of runs %s: %w", all, err))
	}
	return func() { _ = lock.Unlock() }, nil
}

// removeIfStale is called with the directory of runs locked.
func removeIfStale(path string) error {
	if filepath.Ext(path) != ".lock" {
		return nil
	}
	lock := flock.New(path)
	ok, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return nil // that run is still going on
	}
	dir := path[:len(path)-len(".lock")]
	return errors.Join(filesys.RemoveTree(dir), os.Remove(path), lock.Unlock())
}

// Close removes the directory.
func (d *RunDir) Close() error {
	err := filesys.RemoveTree(d.Path) // it may take its time; others need not wait for it
	release, lockErr := lockRuns(filepath.Dir(d.Path))
	if lockErr != nil {
		return errors.Join(err, lockErr)
	}
	defer release()
	return errors.Join(err, os.Remove(d.Path+".lock"), d.lock.Unlock())
}
