// Package host is this machine as clusters use it: processes and their end, ports, and the
// directories of runs. It must not know Kubernetes or what the processes are for.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// ProcessSpec is one process of a stack.
type ProcessSpec struct {
	Name string // the component, e.g. kube-apiserver; unique within its Supervisor
	Path string
	Args []string
	Env  []string // added to what baseEnv allows; the last one of a name wins
	Dir  string   // its own: it may write there, and HOME and TMPDIR are in it
	// WorkDir is where it starts; empty: Dir.
	WorkDir string
	Log     string // file that gets stdout and stderr, appended
	// Detach: the process outlives this program (`matrix cluster up`, --keep). Otherwise it dies
	// with it, even on SIGKILL.
	Detach bool
	// Death is the reason of its death, if the disk was not full; empty: COMPONENT_DIED.
	Death reason.Reason
	// Ends: the process may exit without being stopped, which is not reported as a death.
	Ends bool
	// Alone: no other process has its Dir. What it started and left behind in a group or session of
	// its own ends with it, on Linux.
	Alone bool
	// Sandbox, if set, is what the process may do besides writing to its Dir and running the
	// programs beside its own; in force as far as the kernel goes (sandbox.Support).
	Sandbox *sandbox.Profile
	// Memory is how many bytes the process may have for its data, and each process that it starts
	// as much; 0: no limit. Only Linux enforces it. A process that ends because of it has the
	// reason DEPLOY_FAILED: what it worked on came from the recipe.
	Memory uint64
}

// Executable reports whether a file is one that can be started.
func Executable(file os.FileInfo) bool { return file.Mode().IsRegular() && file.Mode()&0o111 != 0 }

// Process is a started process.
type Process struct {
	Spec ProcessSpec
	PID  int

	done chan struct{}
	err  error             // valid once done is closed
	use  result.ProcessUse // likewise
	stop sync.Once
	// stopping is closed when this program decided to end the process, so that its end is not
	// reported as a death.
	stopping chan struct{}
	reported bool // as stopped by a signal
	left     int
	// resident is its largest resident memory when that was last looked at, in bytes; inherited is
	// what the system counts as its memory without it having had any (largestResident).
	resident  atomic.Int64
	inherited int64
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode is that of a process that has ended, and 128 plus the signal's number if a signal ended
// it. It is valid once Done is closed.
func (p *Process) ExitCode() int {
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return 0
	case !errors.As(p.err, &exit):
		return 255 // its end could not be waited for
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// Left is how many processes it left behind when it ended, which were ended then, as those of a
// container are. It is known once Done is closed, of one that was Alone.
func (p *Process) Left() int { return p.left }

// Supervisor starts processes, each in its own process group, and stops all of them.
//
// On Linux a process that is not detached has a parent-death signal. The kernel sends it when the
// *thread* that made the process ends, not the program (prctl(2), PR_SET_PDEATHSIG), so one
// goroutine stays locked to one thread and starts every process.
type Supervisor struct {
	start chan startRequest
	quit  chan struct{}

	mu     sync.Mutex
	procs  []*Process
	closed bool
	died   chan *infra.DeathError
}

type startRequest struct {
	cmd  *exec.Cmd
	done chan error
}

// NewSupervisor returns a supervisor without processes. Close must be called.
func NewSupervisor() *Supervisor {
	s := &Supervisor{start: make(chan startRequest), quit: make(chan struct{}), died: make(chan *infra.DeathError, 64)}
	go s.starter()
	go s.watchStopped()
	return s
}

func (s *Supervisor) starter() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		select {
		case r := <-s.start:
			r.done <- r.cmd.Start()
		case <-s.quit:
			return
		}
	}
}

// Died delivers each process that ended without having been asked to.
func (s *Supervisor) Died() <-chan *infra.DeathError { return s.died }

// confine has a command start in the sandbox of its specification, if that has one.
func confine(cmd *exec.Cmd, spec ProcessSpec) error {
	if spec.Sandbox == nil {
		return nil
	}
	p := *spec.Sandbox
	if p.Root != nil {
		cmd.Path, cmd.Err = spec.Path, nil // it is in that root: what this machine has at the path is another file
		return sandbox.Wrap(cmd, p)
	}
	program, err := filepath.EvalSymlinks(spec.Path) // kwokctl's are links to the stack
	if err != nil {
		return err
	}
	p.ReadWrite = append([]string{spec.Dir}, p.ReadWrite...)
	p.Execute = append([]string{filepath.Dir(program)}, p.Execute...)
	return sandbox.Wrap(cmd, p)
}

// Start starts a process and returns once it runs.
func (s *Supervisor) Start(spec ProcessSpec) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o755); err != nil {
		return nil, fmt.Errorf("make the log directory of %s: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	base, err := baseEnv(spec, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = append(base, spec.Env...)
	cmd.Dir = cmp.Or(spec.WorkDir, spec.Dir)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ProcessAttributes(spec.Detach)
	if err := confine(cmd, spec); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("start %s: the run is ending", spec.Name)
	}
	started := make(chan error, 1)
	s.start <- startRequest{cmd, started}
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	if err := limitMemory(cmd.Process.Pid, spec.Memory); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, fmt.Errorf("start %s: limit its memory: %w", spec.Name, err)
	}
	p := &Process{Spec: spec, PID: cmd.Process.Pid, done: make(chan struct{}), stopping: make(chan struct{}), inherited: largestResident(os.Getpid())}
	s.procs = append(s.procs, p)
	go func() {
		p.err = cmd.Wait()
		p.use = p.useOf(cmd.ProcessState)
		if spec.Alone {
			p.left = endLeft(spec.Dir) // its group's too, which are counted
		}
		// The group may outlive its leader (Argo CD's repo-server runs helm). It is killed here,
		// and not when Stop is called: by then the system may have given the number of an empty
		// group to another program's group.
		_ = syscall.Kill(-p.PID, syscall.SIGKILL)
		close(p.done)
		select {
		case <-p.stopping:
			return
		default:
		}
		if spec.Ends {
			return
		}
		err := p.err
		if err == nil {
			err = errors.New("exit status 0")
		}
		s.Report(deathOf(spec, cmd.ProcessState.ExitCode(), err))
	}()
	return p, nil
}

// Report delivers the death of a component that is not a separate process.
func (s *Supervisor) Report(death *infra.DeathError) {
	select {
	case s.died <- death:
	default: // the channel is full, since its reader has stopped
	}
}

// Process returns the running process of that name, or nil.
func (s *Supervisor) Process(name string) *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.procs {
		if p.Spec.Name == name {
			select {
			case <-p.done:
			default:
				return p
			}
		}
	}
	return nil
}

// Processes returns every process that was started, ended ones too.
func (s *Supervisor) Processes() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Process(nil), s.procs...)
}

// Stop ends a process and its group: SIGTERM, and SIGKILL after grace. With no grace it is SIGKILL
// at once.
func (p *Process) Stop(grace time.Duration) {
	p.stop.Do(func() { close(p.stopping) })
	select {
	case <-p.done:
		return // and its group with it
	default:
	}
	p.measure()
	if grace > 0 {
		_ = syscall.Kill(-p.PID, syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
	}
	_ = syscall.Kill(-p.PID, syscall.SIGKILL)
	<-p.done
}

// Close ends every process that is not detached, the last started first, and the supervisor.
func (s *Supervisor) Close(grace time.Duration) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	procs := append([]*Process(nil), s.procs...)
	s.mu.Unlock()
	var wg sync.WaitGroup
	for i := len(procs) - 1; i >= 0; i-- {
		if procs[i].Spec.Detach {
			continue
		}
		wg.Add(1)
		go func() { defer wg.Done(); procs[i].Stop(grace) }()
	}
	wg.Wait()
	close(s.quit)
}

// Tail returns the last n lines of a file that are not empty; nil if it cannot be read. It reads at
// most the last 256 KiB.
func Tail(path string, n int) []string {
	const most = 256 << 10
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(0, info.Size()-most)
	buf := make([]byte, info.Size()-from)
	read, _ := f.ReadAt(buf, from) // a file that shrank meanwhile gives what it still has
	lines := strings.Split(strings.TrimRight(string(buf[:read]), "\n"), "\n")
	if from > 0 && len(lines) > 1 {
		lines = lines[1:] // the first is cut
	}
	var kept []string
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			kept = append(kept, l)
		}
	}
	return kept[max(0, len(kept)-n):]
}

// RunCommand is the one way in which this package runs a program to its end. The error has the
// command and what it printed.
func RunCommand(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		if ctx.Err() != nil {
			return stdout.String(), fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), context.Cause(ctx))
		}
		text := strings.TrimSpace(stderr.String())
		if text == "" {
			text = strings.TrimSpace(stdout.String())
		}
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return stdout.String(), nil
}
