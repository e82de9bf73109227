package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// An editor saves in several steps, and a machine without notifications is asked once a second.
const (
	quiet = 300 * time.Millisecond
	every = time.Second
)

// watchLoop runs something again after each change.
type watchLoop struct {
	// Roots are the files and directories in which changes are noticed.
	Roots []string
	// State stands for the content of all that is used: a change that leaves it as it is does not
	// count. An error is a state too, since the run reports it.
	State func() string
	// Run is one run, and returns its exit code. It ends soon after its context does.
	Run func(context.Context) int
	// Tell says to a person what happens.
	Tell func(string)
}

// Do runs until ctx is done, and returns the exit code of the last run that ended by itself; false
// if none did. A change during a run cancels it only if it changes the state.
func (l *watchLoop) Do(ctx context.Context) (code int, ended bool) {
	changes := l.changes(ctx)
	for ctx.Err() == nil {
		state := l.State()
		running, cancel := context.WithCancel(ctx)
		done := make(chan int, 1)
		go func() { done <- l.Run(running) }()
		again := false
		for !again {
			select {
			case <-ctx.Done():
				again = true
			case code = <-done:
				done, ended = nil, true
				if ctx.Err() == nil {
					l.Tell("Waiting for a change; press Ctrl-C to end.")
				}
			case <-changes:
				again = l.State() != state
			}
		}
		cancel()
		if done == nil {
			continue
		}
		if ctx.Err() == nil {
			l.Tell("The inputs of this run have changed: it is cancelled and begins again.")
		}
		<-done
	}
	return code, ended
}

// changes has an element soon after something has changed in the roots; or every second, where the
// system does not say.
func (l *watchLoop) changes(ctx context.Context) <-chan struct{} {
	out := make(chan struct{}, 1)
	tell := func() {
		select {
		case out <- struct{}{}:
		default:
		}
	}
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		err = addWatch(watcher, l.Roots)
	}
	if err != nil {
		l.Tell(fmt.Sprintf("Changes are looked for once a second, since the system does not report them: %v", err))
		if watcher != nil {
			_ = watcher.Close()
		}
		go poll(ctx, tell)
		return out
	}
	go l.notified(ctx, watcher, tell)
	return out
}

func poll(ctx context.Context, tell func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			tell()
		}
	}
}

// notified passes on what the system reports once it has been quiet for a moment.
func (l *watchLoop) notified(ctx context.Context, watcher *fsnotify.Watcher, tell func()) {
	defer func() { _ = watcher.Close() }()
	settled := time.NewTimer(0)
	<-settled.C
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-watcher.Events:
			if e.Has(fsnotify.Create) {
				_ = addWatch(watcher, []string{e.Name}) // a new directory; what is gone again needs no watch
			}
			if e.Op != fsnotify.Chmod {
				settled.Reset(quiet)
			}
		case err := <-watcher.Errors:
			if err == nil {
				return // closed
			}
			// Too many events at once, for example: some are lost, so that anything may have changed.
			settled.Reset(quiet)
		case <-settled.C:
			tell()
		}
	}
}

// addWatch watches all directories in the roots. Of a file its directory is watched: an editor replaces
// the file.
func addWatch(watcher *fsnotify.Watcher, roots []string) error {
	for _, root := range roots {
		info, err := os.Stat(root)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			if err := watcher.Add(filepath.Dir(root)); err != nil {
				return err
			}
			continue
		}
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case !d.IsDir():
				return nil
			case d.Name() == ".git":
				return fs.SkipDir
			}
			return watcher.Add(path)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// watchDigest stands for the content of files, and of all files in directories; one that does not exist
// counts as such.
func watchDigest(paths []string) string {
	sum := sha256.New()
	for _, root := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if d.Name() == ".git" {
					return fs.SkipDir
				}
				return nil
			}
			return hashFile(sum, path)
		})
		if err != nil {
			_, _ = fmt.Fprintf(sum, "%s\x00%v\x00", root, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func hashFile(sum io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	content := sha256.New()
	if _, err := io.Copy(content, f); err != nil {
		return err
	}
	_, err = fmt.Fprintf(sum, "%s\x00%x\x00", path, content.Sum(nil))
	return err
}
