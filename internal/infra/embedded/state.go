package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// State is what a cluster's directory says about it: whose it is and which processes it has.
type State struct {
	Name    string    `json:"name"`
	Purpose string    `json:"purpose,omitempty"`
	Created time.Time `json:"created"`
	// Owner is the PID of the run that the cluster belongs to, and dies with; 0 for a cluster that
	// stays until it is taken down. Whether that run is still there is not asked of the PID, which
	// the system uses again, but of the lock that it holds.
	Owner int `json:"owner,omitempty"`
	// Processes by component. A PID counts only while the process still has this cluster's
	// directory on its command line or as its working directory: PIDs are used again.
	Processes map[string]int `json:"processes"`

	dir  string
	lock *flock.Flock
}

const ownerLock = "owner.lock"

// own takes the cluster for this run, for as long as this process lives or until disown.
func (s *State) own() error {
	s.lock = flock.New(filepath.Join(s.dir, ownerLock))
	if ok, err := s.lock.TryLock(); err != nil || !ok {
		return fmt.Errorf("take cluster %s for this run: %w", s.Name, errors.Join(err, errNotFree(ok)))
	}
	return nil
}

func errNotFree(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("another process has it")
}

// disown makes the cluster one that stays.
func (s *State) disown() error {
	s.Owner = 0
	if s.lock == nil {
		return nil
	}
	return s.lock.Unlock()
}

const stateFile = "aicr-cluster.json"

func newState(name, dir string) *State {
	return &State{Name: name, Created: time.Now().UTC(), Owner: os.Getpid(), Processes: map[string]int{}, dir: dir}
}

func (s *State) save() error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp := filepath.Join(s.dir, "."+stateFile)
	if err := os.WriteFile(tmp, raw, 0o600); err != nil {
		return fmt.Errorf("write the state of cluster %s: %w", s.Name, err)
	}
	return os.Rename(tmp, filepath.Join(s.dir, stateFile))
}

func (s *State) addProcess(name string, pid int) error {
	if s.Processes == nil {
		s.Processes = map[string]int{}
	}
	s.Processes[name] = pid
	return s.save()
}

// Dir is the cluster's directory.
func (s *State) Dir() string { return s.dir }

// Kubeconfig of the cluster.
func (s *State) Kubeconfig() string { return filepath.Join(s.dir, "kubeconfig.yaml") }

// Running lists the components that still run.
func (s *State) Running() []string {
	var up []string
	for name, pid := range s.Processes {
		if processBelongs(pid, s.dir) {
			up = append(up, name)
		}
	}
	sort.Strings(up)
	return up
}

// Stale reports whether the run that owned the cluster has ended and left the cluster's directory
// or processes.
func (s *State) Stale() bool {
	if s.Owner == 0 || s.lock != nil {
		return false
	}
	lock := flock.New(filepath.Join(s.dir, ownerLock))
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return false
	}
	_ = lock.Unlock()
	return true
}

// Remove ends what still runs and removes the directory. It touches only what the state names as
// its own.
func (s *State) Remove() error {
	var errs []error
	for name, pid := range s.Processes {
		if !processBelongs(pid, s.dir) {
			continue
		}
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("end %s (process %d): %w", name, pid, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	// A process that was just killed may still be writing; removing twice is cheaper than waiting
	// blindly.
	if err := filesys.RemoveTree(s.dir); err != nil {
		return filesys.RemoveTree(s.dir)
	}
	return nil
}

// Clusters lists the clusters of this user, by name.
func Clusters(paths host.Paths) ([]*State, error) {
	entries, err := os.ReadDir(paths.Clusters())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	var all []*State
	for _, e := range entries {
		dir := filepath.Join(paths.Clusters(), e.Name())
		raw, err := os.ReadFile(filepath.Join(dir, stateFile))
		if err != nil {
			continue // not ours, or being made this very moment
		}
		s := &State{dir: dir}
		if err := json.Unmarshal(raw, s); err != nil {
			return nil, fmt.Errorf("read the state of the cluster in %s: %w", dir, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// FindCluster returns the cluster of that name, or an error that names those that exist.
func FindCluster(paths host.Paths, name string) (*State, error) {
	all, err := Clusters(paths)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no cluster named %q; there are none: make one with `matrix cluster up`", name)
	}
	return nil, fmt.Errorf("no cluster named %q; there are: %s", name, strings.Join(names, ", "))
}

func processAlive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// processBelongs reports whether pid is a live process of the cluster in dir.
func processBelongs(pid int, dir string) bool {
	if pid <= 0 || !processAlive(pid) {
		return false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err == nil {
		return cwd == dir || strings.HasPrefix(cwd, dir+"/")
	}
	if _, statErr := os.Stat("/proc/self"); statErr == nil {
		return false // /proc exists and does not have the process: it has exited, or is a zombie
	}
	// No /proc (macOS): the command line, which has the directory in it, is all there is.
	out, err := host.RunCommand(context.Background(), "", nil, "ps", "-o", "command=", "-p", strconv.Itoa(pid))
	return err == nil && strings.Contains(out, dir)
}

func joinTail(log string) string { return strings.Join(host.Tail(log, 8), "\n") }

// Mine reports whether this very process made the cluster.
func (s *State) Mine() bool { return s.Owner == os.Getpid() }

// standInsName is the name of the process that simulates a persistent cluster's operators.
const standInsName = "stand-ins"

// StartStandIns starts command (a hidden command of this program) as a process of a persistent
// cluster, and marks the cluster as persistent.
func StartStandIns(sup *host.Supervisor, paths host.Paths, name, command string, args ...string) error {
	s, err := FindCluster(paths, name)
	if err != nil {
		return err
	}
	p, err := sup.Start(host.ProcessSpec{
		Name: standInsName, Path: command, Args: args, Dir: s.dir, Log: filepath.Join(s.dir, "logs", standInsName+".log"), Detach: true,
		Env: []string{host.CacheEnv + "=" + paths.Root},
	})
	if err != nil {
		return err
	}
	s.Owner = 0
	return s.addProcess(standInsName, p.PID)
}
