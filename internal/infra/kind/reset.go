package kind

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nvidia/aicr-action/internal/util/wait"
)

// Where etcd of a node has its data, and where a copy of it is.
const (
	etcdData = "/var/lib/etcd"
	etcdCopy = "/var/lib/aicr-action-etcd"
)

// inNode runs a program in a node.
func (e *Engine) inNode(ctx context.Context, node string, command ...string) (string, error) {
	return e.Run(ctx, append([]string{"exec", node}, command...)...)
}

// save copies etcd's data while a signal suspends etcd. The copy is like the data after a kill,
// from which etcd recovers.
func (e *Engine) save(ctx context.Context, node string) (err error) {
	const next = etcdCopy + ".next"
	if _, err := e.inNode(ctx, node, "rm", "-rf", next); err != nil {
		return err
	}
	if _, err := e.inNode(ctx, node, "pkill", "-STOP", "-x", "etcd"); err != nil {
		return err
	}
	_, copied := e.inNode(ctx, node, "cp", "-a", etcdData, next)
	if _, err := e.inNode(context.WithoutCancel(ctx), node, "pkill", "-CONT", "-x", "etcd"); err != nil {
		return err
	}
	if copied != nil {
		return copied
	}
	if _, err := e.inNode(ctx, node, "rm", "-rf", etcdCopy); err != nil {
		return err
	}
	_, err = e.inNode(ctx, node, "mv", next, etcdCopy)
	return err
}

// killsAtATime bounds the programs that end containers.
const killsAtATime = 4

// reset stops every container of a node, also those of the control plane, restores the copy of
// etcd's data, and has the kubelet start all of them again. It returns the time of that: containers
// that started earlier are old ones.
func (e *Engine) reset(ctx context.Context, node string) (time.Time, error) {
	if _, err := e.inNode(ctx, node, "test", "-d", etcdCopy+"/member"); err != nil {
		return time.Time{}, fmt.Errorf("its node has no saved state: %w", err)
	}
	if _, err := e.inNode(ctx, node, "systemctl", "stop", "kubelet"); err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	err := wait.For(ctx, "the containers of node "+node+" to end", wait.Options{Budget: 60 * time.Second, Interval: 250 * time.Millisecond}, func(ctx context.Context) wait.Result {
		running, err := e.inNode(ctx, node, "ctr", "--namespace", "k8s.io", "tasks", "list")
		if err != nil {
			return wait.NotYet("%v", err)
		}
		tasks := runningTasks(running)
		if len(tasks) == 0 {
			return wait.Done()
		}
		kills, kctx := errgroup.WithContext(ctx)
		kills.SetLimit(killsAtATime)
		for _, task := range tasks {
			kills.Go(func() error {
				_, _ = e.inNode(kctx, node, "ctr", "--namespace", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", task) // it may have ended meanwhile
				return nil
			})
		}
		_ = kills.Wait()
		return wait.NotYet("%d run", len(tasks))
	})
	if err != nil {
		return began, err
	}
	for _, command := range [][]string{
		{"rm", "-rf", etcdData + "/member"},
		{"cp", "-a", etcdCopy + "/member", etcdData + "/member"},
		{"systemctl", "start", "kubelet"},
	} {
		if _, err := e.inNode(ctx, node, command...); err != nil {
			return began, err
		}
	}
	return began, nil
}

// runningTasks are the names in a list of containerd's tasks (TASK PID STATUS) of those that have
// not ended.
func runningTasks(list string) []string {
	var names []string
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] != "TASK" && fields[2] != "STOPPED" {
			names = append(names, fields[0])
		}
	}
	return names
}
