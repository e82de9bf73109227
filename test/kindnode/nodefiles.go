package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// baseSpec is containerd's default container, changed as kind does: a hook that mounts the product
// files, and no resource limits.
func baseSpec(spec []byte) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(spec, &document); err != nil {
		return nil, fmt.Errorf("read the output of ctr oci spec: %w", err)
	}
	process, ok := document["process"].(map[string]any)
	if !ok {
		return nil, errors.New("the output of ctr oci spec has no process")
	}
	delete(process, "rlimits")
	document["hooks"] = map[string]any{"createContainer": []any{map[string]any{"path": "/kind/bin/mount-product-files.sh"}}}
	return json.Marshal(document)
}

// edit replaces a text that must be there.
func edit(root, path, old, with string) error {
	file := filepath.Join(root, path)
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(content), old) {
		return fmt.Errorf("/%s of kind's base image has no %q", path, old)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(content), old, with, 1)), 0o644)
}

func symlink(link, target string) error {
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(link); err != nil {
		return err
	}
	return os.Symlink(target, link)
}

func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// pollEvery is how often a daemon is asked whether it answers.
const pollEvery = 200 * time.Millisecond

// poll asks until the answer is nil. After the timeout it returns the last answer.
func poll(ctx context.Context, timeout time.Duration, ask func() error) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	again := time.NewTicker(pollEvery)
	defer again.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			return err
		case <-again.C:
		}
	}
}
