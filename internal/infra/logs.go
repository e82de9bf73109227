package infra

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// CopyLogs copies log files, keyed by the names that the copies get, to dir. One that does not
// exist is left out: its component never came so far as to log. What could not be read is an
// *UnreadError.
func CopyLogs(_ context.Context, dir string, logs map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var names []string
	for name := range logs {
		names = append(names, name)
	}
	slices.Sort(names)
	var unread, failed []error
	for _, name := range names {
		err := copyLog(filepath.Join(dir, name), logs[name])
		if u := (*UnreadError)(nil); errors.As(err, &u) {
			unread = append(unread, err)
		} else if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 && len(unread) > 0 {
		return &UnreadError{errors.Join(unread...)}
	}
	return errors.Join(failed...)
}

func copyLog(to, from string) error {
	src, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		unread := &UnreadError{err}
		if err := os.WriteFile(to, []byte(unread.Text()), 0o644); err != nil {
			return err
		}
		return unread
	}
	defer func() { _ = src.Close() }()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// LastLines is the end of a log, at most n lines.
func LastLines(log string, n int) ([]byte, error) {
	f, err := os.Open(log)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no such log: %s was not started", strings.TrimSuffix(filepath.Base(log), ".log"))
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	ring := make([][]byte, 0, n)
	next := 0
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			if len(ring) < n {
				ring = append(ring, line)
			} else {
				ring[next] = line
			}
			next = (next + 1) % n
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(ring) == 0 {
			return []byte("the log is empty\n"), nil
		}
		next %= len(ring) // the oldest line, if the ring went round; otherwise the first
		return bytes.Join(append(ring[next:len(ring):len(ring)], ring[:next]...), nil), nil
	}
}
