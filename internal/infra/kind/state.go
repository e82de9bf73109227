package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// state is a cluster's directory. It has the owner of the cluster, its kubeconfig, and the
// directory that is mounted into its node. A container with the mount was created for this
// directory; no other container is ever deleted.
type state struct {
	name, dir string
	lock      *flock.Flock
}

const (
	ownerFile = "owner.lock" // locked by the run that owns the cluster
	keptFile  = "kept"       // exists once the cluster is to stay
)

func stateRoot(paths host.Paths) string { return filepath.Join(paths.Root, "kind") }

func newState(paths host.Paths, name string) *state {
	return &state{name: name, dir: filepath.Join(stateRoot(paths), name)}
}

// mount is the directory that the node has as /aicr-action.
func (s *state) mount() string { return filepath.Join(s.dir, "node") }

func (s *state) kubeconfig() string { return filepath.Join(s.dir, "kubeconfig.yaml") }

// make makes the directory and takes it.
func (s *state) make() error {
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return fmt.Errorf("make a directory for the cluster: %w", err)
	}
	s.lock = flock.New(filepath.Join(s.dir, ownerFile))
	if ok, err := s.lock.TryLock(); err != nil || !ok {
		return fmt.Errorf("take %s for this run: %w", s.dir, errors.Join(err, errors.New("another process has it")))
	}
	return os.Mkdir(s.mount(), 0o700)
}

// take takes the directory of a cluster that stays.
func (s *state) take() error {
	lock := flock.New(filepath.Join(s.dir, ownerFile))
	ok, err := lock.TryLock()
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("another run has it: wait for that, or set KWOK_CLUSTER to another name")
	}
	s.lock = lock
	return nil
}

// stale reports whether the run that owned the cluster has ended without keeping the cluster.
func (s *state) stale() bool {
	if s.kept() {
		return false
	}
	lock := flock.New(filepath.Join(s.dir, ownerFile))
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return false
	}
	_ = lock.Unlock()
	return true
}

// kept reports that the cluster is to stay.
func (s *state) kept() bool {
	_, err := os.Stat(filepath.Join(s.dir, keptFile))
	return err == nil
}

// keep makes the cluster one that stays.
func (s *state) keep() error {
	return os.WriteFile(filepath.Join(s.dir, keptFile), nil, 0o600)
}

// remove deletes the cluster's containers and the directory. Containers of that name that were not
// made for this directory are an error, and nothing is deleted then.
func (s *state) remove(ctx context.Context, e *Engine, p Provider) error {
	containers, err := e.Nodes(ctx, s.name)
	if err != nil {
		return err
	}
	for _, id := range containers {
		ours, err := e.Owns(ctx, id, s.mount())
		if err != nil {
			return err
		}
		if !ours {
			return fmt.Errorf("container %.12s of the Kind cluster %s is not this run's: it is left alone, and so is %s", id, s.name, s.dir)
		}
	}
	if len(containers) > 0 {
		if err := p.Delete(s.name, s.kubeconfig()); err != nil {
			return fmt.Errorf("delete Kind cluster %s: %w", s.name, kindError(err))
		}
	}
	if err := filesys.RemoveTree(s.dir); err != nil {
		return fmt.Errorf("remove the directory of Kind cluster %s: %w", s.name, err)
	}
	return nil
}
