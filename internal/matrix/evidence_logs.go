package matrix

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// copyLogs copies the log of every process to dir.
func (c *cellRun) copyLogs(_ context.Context, dir string) error {
	logs := map[string]string{}
	files, err := filepath.Glob(filepath.Join(c.env.Logs, "*.log"))
	if err != nil {
		return err
	}
	for _, f := range files {
		logs[filepath.Base(f)] = f
	}
	if c.env.Cluster != nil {
		for component, f := range c.env.Cluster.Logs() {
			logs[component+".log"] = f
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var unread, failed []error
	for _, name := range sortedKeys(logs) {
		err := copyLog(filepath.Join(dir, name), logs[name])
		if u := (*unreadError)(nil); errors.As(err, &u) {
			unread = append(unread, err)
		} else if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 && len(unread) > 0 {
		return &unreadError{errors.Join(unread...)}
	}
	return errors.Join(failed...)
}

func copyLog(to, from string) error {
	src, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the component never came so far as to log
	}
	if err != nil {
		if err := os.WriteFile(to, []byte(couldNotBeRead(err)), 0o644); err != nil {
			return err
		}
		return &unreadError{err}
	}
	defer func() { _ = src.Close() }()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// lastLines is the end of a log.
func lastLines(log string, n int) ([]byte, error) {
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
