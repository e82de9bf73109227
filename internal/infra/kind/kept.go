package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Clusters are the names of the clusters that stay: those that runs with --keep left, and those
// that are reused. They are sorted.
func Clusters(paths host.Paths) []string {
	entries, err := os.ReadDir(stateRoot(paths))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if newState(paths, e.Name()).kept() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// Kept is a cluster that stays.
type Kept struct {
	Name       string
	Created    time.Time
	Kubeconfig string
	// Reused says that it is one for --reuse-cluster; InUse that a run has it now.
	Reused, InUse bool
	// Containers are those of it that run. Err is why that is not known.
	Containers []string
	Err        error
}

// Kept describes the clusters that stay, sorted by name.
func (p *Platform) Kept(ctx context.Context) []Kept {
	var all []Kept
	for _, name := range Clusters(p.Paths) {
		s := newState(p.Paths, name)
		k := Kept{Name: name, Kubeconfig: s.kubeconfig()}
		if info, err := os.Stat(filepath.Join(s.dir, keptFile)); err == nil {
			k.Created = info.ModTime()
		}
		if r, err := s.record(); err == nil && r != nil {
			k.Reused, k.Created = true, r.Created
		}
		if err := s.take(); err != nil {
			k.InUse = true
		} else {
			k.Err = s.lock.Unlock()
		}
		out, err := p.Engine.Run(ctx, "ps", "--format", "{{.Names}}", "--filter", "label="+clusterLabel+"="+name)
		if err != nil {
			k.Err = fmt.Errorf("ask Docker for its containers: %w", err)
		}
		k.Containers = strings.Fields(out)
		all = append(all, k)
	}
	return all
}

// Kubeconfig is the path of the kubeconfig of a persistent cluster; empty if none has the name.
func Kubeconfig(paths host.Paths, name string) string {
	if !slices.Contains(Clusters(paths), name) {
		return ""
	}
	return newState(paths, name).kubeconfig()
}

// Remove removes a persistent cluster, and no other one.
func (p *Platform) Remove(ctx context.Context, name string) error {
	if !slices.Contains(Clusters(p.Paths), name) {
		return reason.New(reason.Usage, "no Kind cluster of this program is named %q; there are: %s", name, cmp.Or(strings.Join(Clusters(p.Paths), ", "), "none"))
	}
	s := newState(p.Paths, name)
	if err := s.take(); err != nil {
		return reason.New(reason.Usage, "remove Kind cluster %s: %w", name, err)
	}
	return errors.Join(s.remove(ctx, p.Engine, p.provider(kindLogger{})), s.lock.Unlock())
}
