package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// collect leaves a cell's evidence in the artifacts directory, before anything is deleted: the logs of every process, the bundle,
// and cell.json. For a failure the directory has upstream's name, kwok-debug-<recipe>-<deployer>-<run id>.
func (c *cellRun) collect(ctx context.Context, failure error) error {
	name := fmt.Sprintf(logsPrefix+"%s-%s-%s", c.plan.Cell.Recipe, c.plan.Cell.Deployer, c.RunID)
	if failure != nil {
		name = fmt.Sprintf(debugPrefix+"%s-%s-%s", c.plan.Cell.Recipe, c.plan.Cell.Deployer, c.RunID)
	}
	dir := filepath.Join(c.Artifacts, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory for evidence: %w", err)
	}
	c.result.Artifacts = dir
	var errs []error
	logs := map[string]string{}
	files, err := filepath.Glob(filepath.Join(c.env.Logs, "*.log"))
	errs = append(errs, err)
	for _, f := range files {
		logs[filepath.Base(f)] = f
	}
	if c.env.Cluster != nil {
		for component, f := range c.env.Cluster.Logs() {
			logs[component+".log"] = f
		}
	}
	for name, from := range logs {
		errs = append(errs, copyFile(filepath.Join(dir, "logs", name), from))
	}
	if c.env.Bundle != nil {
		errs = append(errs, c.env.Bundle.WriteTo(filepath.Join(dir, "bundle"), true))
	}
	snapshot := c.result
	snapshot.Verdict = verdictOf(failure)
	raw, err := json.MarshalIndent(snapshot, "", "  ")
	errs = append(errs, err, os.WriteFile(filepath.Join(dir, "cell.json"), append(raw, '\n'), 0o644), ctx.Err())
	return errors.Join(errs...)
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the component never came so far as to log
	}
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}
