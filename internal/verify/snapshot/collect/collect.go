// Package collect takes snapshots: it measures the machine that it runs on and a given cluster,
// each part by its own collector. It must not know what a snapshot is for.
package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/nvidia/aicr-action/internal/verify/snapshot"
)

// DefaultTimeout is what one collector may take.
const DefaultTimeout = 30 * time.Second

// Options are what to measure.
type Options struct {
	// Kube and Dynamic are clients of the cluster. Without them NoCluster says why there are none.
	Kube      kubernetes.Interface
	Dynamic   dynamic.Interface
	NoCluster error
	// Root is where the machine's file system is mounted; empty: /. A pod that measures its node
	// mounts it elsewhere.
	Root string
	// Only are the types to measure; empty: all.
	Only []string
	// Timeout of each collector; zero: DefaultTimeout.
	Timeout time.Duration
	// Version is this program's, for the metadata.
	Version string
	// Now is the time of the metadata; zero: none.
	Now time.Time
	// Log gets the time of each collector; nil discards it.
	Log *slog.Logger
}

// collector measures one type.
type collector struct {
	kind string
	do   func(context.Context, Options) ([]snapshot.Subtype, error)
}

func collectors() []collector {
	return []collector{
		{snapshot.TypeK8s, kubernetesOf},
		{snapshot.TypeNodeTopology, topologyOf},
		{snapshot.TypeOS, operatingSystem},
		{snapshot.TypeSystemD, services},
		{snapshot.TypeGPU, gpus},
	}
}

// Types are the names of the collectors.
func Types() []string {
	var names []string
	for _, c := range collectors() {
		names = append(names, c.kind)
	}
	return names
}

// Failure is a collector that measured nothing, or not everything.
type Failure struct {
	Type string
	// Partly: it measured something.
	Partly bool
	Err    error
}

func (f Failure) Error() string {
	if f.Partly {
		return f.Type + " is measured in part only: " + f.Err.Error()
	}
	return f.Type + " is not measured: " + f.Err.Error()
}

// Unwrap gives the cause.
func (f Failure) Unwrap() error { return f.Err }

// Take runs all collectors at the same time. If a collector fails, or exceeds the timeout, only its
// type is left out. The snapshot's metadata names what failed.
func Take(ctx context.Context, o Options) (*snapshot.Snapshot, []Failure) {
	all := slices.DeleteFunc(collectors(), func(c collector) bool {
		return len(o.Only) > 0 && !slices.ContainsFunc(o.Only, func(t string) bool { return strings.EqualFold(t, c.kind) })
	})
	type outcome struct {
		subtypes []snapshot.Subtype
		err      error
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	outcomes := make([]outcome, len(all))
	var group sync.WaitGroup
	for i, c := range all {
		group.Go(func() {
			began := time.Now()
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			done := make(chan outcome, 1) // it is not waited for longer than its time, even if it hangs in a call that knows no context
			go func() {
				defer func() {
					if v := recover(); v != nil {
						done <- outcome{err: fmt.Errorf("the collector failed; this is a bug: %v", v)}
					}
				}()
				subtypes, err := c.do(ctx, o)
				done <- outcome{subtypes, err}
			}()
			select {
			case outcomes[i] = <-done:
			case <-ctx.Done():
				outcomes[i].err = context.Cause(ctx)
			}
			if err := outcomes[i].err; errors.Is(err, context.DeadlineExceeded) {
				outcomes[i].err = fmt.Errorf("it took more than %s: %w", timeout, err)
			}
			if o.Log != nil {
				o.Log.Debug("measured", "collector", c.kind, "duration", time.Since(began), "subtypes", len(outcomes[i].subtypes), "err", outcomes[i].err)
			}
		})
	}
	group.Wait()
	s := &snapshot.Snapshot{APIVersion: snapshot.APIVersion, Kind: snapshot.Kind, Metadata: map[string]any{}, Measurements: []snapshot.Measurement{}}
	if host, err := os.Hostname(); err == nil {
		s.Metadata["source"] = host
	}
	if o.Version != "" {
		s.Metadata["version"] = o.Version
	}
	if !o.Now.IsZero() {
		s.Metadata["timestamp"] = o.Now.UTC().Format(time.RFC3339)
	}
	var failures []Failure
	failed := map[string]any{}
	for i, c := range all {
		if len(outcomes[i].subtypes) > 0 {
			s.Measurements = append(s.Measurements, snapshot.Measurement{Type: c.kind, Subtypes: outcomes[i].subtypes})
		}
		if err := outcomes[i].err; err != nil {
			failures = append(failures, Failure{c.kind, len(outcomes[i].subtypes) > 0, err})
			failed[c.kind] = err.Error()
		}
	}
	if len(failed) > 0 {
		s.Metadata["failed"] = failed
	}
	return s, failures
}

// data collects the readings of a subtype.
type data map[string]snapshot.Reading

func (d data) set(key string, value any) {
	if text, ok := value.(string); ok {
		if text = strings.TrimSpace(text); len(text) > most {
			text = text[:most] + "…"
		}
		value = text
	}
	d[key] = snapshot.Reading{Value: value}
}

// most is how long one reading may be, in bytes.
const most = 1024

// file is a path on the machine that is measured.
func (o Options) file(path string) string {
	if o.Root == "" {
		return path
	}
	return filepath.Join(o.Root, path)
}
