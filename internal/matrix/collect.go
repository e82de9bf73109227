package matrix

// collect.go collects the debug artifacts of a cell before its cluster is removed: objects,
// logs, summary.md, cell.json and the snapshot for matrix replay. It knows what the gate saw and
// what a lane asks to keep. It must not change a verdict or a cluster.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/gate"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	// artifactsBudget bounds the collection of debug artifacts. It does not depend on what is left of the
	// cell's time.
	artifactsBudget = 60 * time.Second
	// requestPatience bounds one request to the API server, so that one without an answer does not
	// use up the budget.
	requestPatience = 5 * time.Second
	// The number of lines of a controller's log that is beside the tables; the whole log is in
	// logs/. The figures are upstream's.
	controllerLines = 500
	registryLines   = 200
)

// artifactsSource is a cell whose debug artifacts are collected.
type artifactsSource struct {
	// Artifacts is the directory for cells' directories; RunID ends their names. NoSnapshot omits
	// the snapshot of a failed cell's cluster.
	Artifacts  string
	RunID      string
	NoSnapshot bool
	// Result is the cell's. Collect sets its path of the directory.
	Result *result.Result
	Env    *lane.Env
	Lane   lane.Lane
	// Observed is what the gate's last poll saw; nil without one.
	Observed *gate.ObservedRecord
	// HarnessLog is the file with the cell's own log.
	HarnessLog string
	// Measured is the cell's snapshot file, which --validate writes; it need not exist.
	Measured string
	// Started means that starting the cluster was at least attempted.
	Started bool
	// Refused are the files of a bundle that was made and not run; none if there is a bundle.
	Refused []bundle.File
}

// collection is the directory of one cell while it is written.
type collection struct {
	dir    string
	record cellRecord
	lane   lane.Artifacts

	mu     sync.Mutex
	files  []artifact // in the order in which summary.md lists them
	failed []error    // what could not be written
}

// artifact is one file or directory of the collection.
type artifact struct {
	name  string // inside the directory
	what  string // one line for summary.md
	state string // "" once it is complete; otherwise why it is missing or incomplete
}

// collector makes one file or directory.
type collector struct {
	name, what string
	make       func(ctx context.Context, path string) error
}

// Collect writes a cell's debug artifacts before anything is deleted (faults F16). For a failure
// the directory has upstream's name, kwok-debug-<recipe>-<deployer>-<run id>, and includes what is
// in the cluster. For a pass it is kwok-logs-….
//
// Local files come first, and summary.md with them: they remain if the harness is killed while it
// waits for a dying API server. An error means that a file could not be written. What could not be
// read is no error: the file and summary.md say so.
func (c *artifactsSource) Collect(ctx context.Context, failure error) (err error) {
	defer func() { // cleanup must continue after a panic here
		if v := recover(); v != nil {
			err = reason.New(reason.Internal, "panic while the debug artifacts of cell %s were collected: %v\n%s", c.Env.Cell, v, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, artifactsBudget)
	defer cancel()
	start := time.Now()
	e := &collection{dir: filepath.Join(c.Artifacts, c.directoryName(failure)), lane: c.Lane.Artifacts()}
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.Internal), fmt.Errorf("make the directory for debug artifacts: %w", err))
	}
	c.Result.Artifacts = e.dir
	e.record = c.cellRecord(failure)
	local, remote := c.localCollectors(e), []collector(nil)
	if failure != nil && c.Started && c.Env.Cluster != nil {
		remote = append(c.clusterCollectors(), c.stateCollectors(failure)...)
	}
	e.announce(local, "")
	e.announce(remote, stillBeingRead)
	e.gather(ctx, local)
	e.writeSummary()
	if len(remote) > 0 {
		e.gather(ctx, remote)
		e.writeSummary()
	}
	c.Env.Log.Info("Collecting debug artifacts", "dir", e.dir, "took", time.Since(start).Round(time.Millisecond))
	if ctx.Err() != nil {
		e.failed = append(e.failed, fmt.Errorf("it was not done after %s: %w", artifactsBudget, context.Cause(ctx)))
	}
	if err := errors.Join(e.failed...); err != nil {
		return reason.Wrap(infra.DiskReason(err, reason.Internal), fmt.Errorf("write the debug artifacts to %s: %w", e.dir, err))
	}
	return nil
}

func (c *artifactsSource) directoryName(failure error) string {
	prefix := logsPrefix
	if failure != nil {
		prefix = debugPrefix
	}
	return fmt.Sprintf("%s%s-%s", prefix, c.Env.Cell.FileName(), c.RunID)
}

func (c *artifactsSource) cellRecord(failure error) cellRecord {
	rec := cellRecord{Result: *c.Result, Observed: c.Observed}
	rec.Verdict = result.VerdictOf(failure)
	rec.Duration = time.Since(rec.Started)
	if c.Env.Bundle != nil {
		rec.Expectation = recordExpectation(c.Env.Bundle.Expectation)
	}
	return rec
}

// localCollectors need only this program and its disk.
func (c *artifactsSource) localCollectors(e *collection) []collector {
	list := []collector{
		{"cell.json", "for programs: verdict, times, what was expected, what the last poll saw", fromBytes(func(context.Context) ([]byte, error) {
			raw, err := json.MarshalIndent(e.record, "", "  ")
			return append(raw, '\n'), err
		})},
		{"logs", "the whole log of the harness and of every process", c.copyLogs},
	}
	if b := c.Env.Bundle; b != nil {
		list = append(list, collector{"bundle", "the rendered bundle, as it was deployed", func(_ context.Context, path string) error { return b.WriteTo(path, true) }})
		if b.Foreign != nil && len(b.Foreign.Original) > 0 {
			list = append(list, originalOf(b.Foreign.Original, "the bundle as AICR's CLI made it, before its addresses were changed"))
		}
	} else if len(c.Refused) > 0 {
		list = append(list, originalOf(c.Refused, "the bundle as AICR's CLI made it, which was not run"))
	}
	return list
}

func originalOf(files []bundle.File, about string) collector {
	original := &bundle.Bundle{Files: files}
	return collector{"bundle-original", about, func(_ context.Context, path string) error { return original.WriteTo(path, true) }}
}

// clusterCollectors are upstream's files under upstream's names: those of the cluster, then those
// of the lane's controllers. They are written side by side.
func (c *artifactsSource) clusterCollectors() []collector {
	d, err := c.dumper()
	table := func(read func(*dumper, context.Context) ([]byte, error)) func(context.Context, string) error {
		return fromBytes(func(ctx context.Context) ([]byte, error) {
			if err != nil {
				return nil, err
			}
			return read(d, ctx)
		})
	}
	tail := func(component string, lines int) func(context.Context, string) error {
		return fromBytes(func(ctx context.Context) ([]byte, error) { return c.Env.Cluster.Tail(ctx, component, lines) })
	}
	list := []collector{
		{"resources.txt", "workloads, pods and services: kubectl get all --all-namespaces", table((*dumper).All)},
		{"nodes.txt", "the simulated nodes: kubectl get nodes -o wide", table((*dumper).Nodes)},
		{"events.txt", "events, the newest last: kubectl get events --all-namespaces --sort-by=.lastTimestamp", table((*dumper).Events)},
		{"pods.txt", "pods with their nodes: kubectl get pods --all-namespaces -o wide", table((*dumper).Pods)},
	}
	own := c.Lane.Artifacts()
	for _, o := range own.Dumps {
		list = append(list, collector{o.Name, o.What, table(func(d *dumper, ctx context.Context) ([]byte, error) {
			return d.YAML(ctx, o.Namespace, o.Resources...)
		})})
	}
	for _, l := range own.Logs {
		list = append(list, collector{l.Name, l.What, tail(l.Component, controllerLines)})
	}
	list = append(list, collector{"registry.log", "the cell's registry, a line per request: last 200 lines", tail("registry", registryLines)})
	for i := range list {
		list[i].name = c.Env.Cluster.Name() + "-" + list[i].name
	}
	return list
}

// copyLogs copies the logs of the harness and of the cluster's components.
func (c *artifactsSource) copyLogs(ctx context.Context, dir string) error {
	files := map[string]string{"harness.log": c.HarnessLog}
	if _, err := os.Stat(c.Measured); err == nil {
		files["snapshot.yaml"] = c.Measured
	}
	err := infra.CopyLogs(ctx, dir, files)
	if err != nil || c.Env.Cluster == nil {
		return err
	}
	return c.Env.Cluster.CollectLogs(ctx, dir)
}

func (c *artifactsSource) dumper() (*dumper, error) {
	if c.Env.Clients == nil {
		return nil, errors.New("the cluster's API server never became ready")
	}
	return newDump(c.Env.Clients.Config, requestPatience)
}

// announce lists files before they are made.
func (e *collection) announce(list []collector, state string) {
	for _, col := range list {
		e.files = append(e.files, artifact{name: col.name, what: col.what, state: state})
	}
}

// stillBeingRead is the state in summary.md of a file that it did not wait for.
const stillBeingRead = "was still being read when this page was written: the harness was ended before it was done"

// gather writes files side by side. One that fails or panics does not affect the others.
func (e *collection) gather(ctx context.Context, list []collector) {
	var wg sync.WaitGroup
	for _, col := range list {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					e.done(col.name, fmt.Errorf("panic: %v", v))
				}
			}()
			e.done(col.name, col.make(ctx, filepath.Join(e.dir, filepath.FromSlash(col.name))))
		})
	}
	wg.Wait()
}

// done records how a file ended.
func (e *collection) done(name string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.files, func(f artifact) bool { return f.name == name })
	e.files[i].state = ""
	if err == nil {
		return
	}
	e.files[i].state = result.FirstLine(err.Error())
	var unread *infra.UnreadError
	if !errors.As(err, &unread) {
		e.failed = append(e.failed, fmt.Errorf("%s: %w", name, err))
	}
}

// writeSummary replaces the whole page at once, so that one always exists.
func (e *collection) writeSummary() {
	path := filepath.Join(e.dir, "summary.md")
	err := os.WriteFile(path+".new", []byte(summary(e.record, e.lane, e.files)), 0o644)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		e.failed = append(e.failed, fmt.Errorf("summary.md: %w", err))
	}
}

// fromBytes writes what read returns. An error stands in the file instead; read itself may put it
// in place of a part.
func fromBytes(read func(context.Context) ([]byte, error)) func(context.Context, string) error {
	return func(ctx context.Context, path string) error {
		content, unread := read(ctx)
		if unread != nil && len(content) == 0 {
			content = []byte((&infra.UnreadError{Err: unread}).Text())
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
		if unread != nil {
			return &infra.UnreadError{Err: unread}
		}
		return nil
	}
}
