package podrun

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
)

// portError says that a process cannot have a port of this machine.
type portError struct {
	port int
	why  string
}

func (e *portError) Error() string {
	return fmt.Sprintf(infra.PortTaken+"%d, %s; a process has no ports of its own", e.port, e.why)
}

// portTaken: the ports of a process are its machine's. If another program listens on the one that
// is probed, its answer would be taken for the pod's, so the pod waits. It also waits for a port on
// which its program could not listen.
func (w *worker) portTaken(c *corev1.Container) error {
	if _, ok := probedPort(c.ReadinessProbe, c); ok && taken(w.probed(c)) {
		return &portError{w.probed(c), "which the readiness probe asks"}
	}
	if c == &w.pod.Spec.Containers[0] {
		if i := slices.IndexFunc(w.learnt, taken); i >= 0 {
			return &portError{w.learnt[i], "on which its program listens"}
		}
	}
	return nil
}

func taken(port int) bool {
	conn, err := net.DialTimeout("tcp", loopback(port), time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// cannotListen is how Go's net package says that a program may not have a port.
var cannotListen = regexp.MustCompile(`listen tcp[46]? \S*:(\d+): bind: (permission denied|address already in use)`)

// learn reports whether a program that has ended is to start again at once, with a port on which it
// may then listen: its container does not name the port, which in Kubernetes is information only. A
// recipe can name any port, so this gives it nothing that it has not.
func (w *worker) learn(s *state) bool {
	found := cannotListen.FindStringSubmatch(s.said)
	if found == nil || w.ctx.Err() != nil {
		return false
	}
	port, err := strconv.Atoi(found[1])
	if err != nil || slices.Contains(w.learnt, port) {
		return false
	}
	w.learnt = append(w.learnt, port)
	return true
}

// replicaAt is another pod of the same controller, which has the port that this one waits for; nil if
// there is none. Its program is this pod's too, so it answers for this pod until it ends: on a node
// each of them would have the port.
func (w *worker) replicaAt(err error) *worker {
	if _, ok := errors.AsType[*portError](err); !ok {
		return nil
	}
	mine := metav1.GetControllerOf(w.pod)
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	for _, other := range w.r.pods {
		its := metav1.GetControllerOf(other.pod)
		if other != w && mine != nil && its != nil && mine.UID == its.UID && other.runs.Load() && !w.r.answered[other.pod.UID] {
			w.r.answered[w.pod.UID] = true
			return other
		}
	}
	return nil
}

// alone says that this pod's own process runs.
func (w *worker) alone() {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	delete(w.r.answered, w.pod.UID)
}

// Answered names the pods whose processes did not run beside those of their replicas, a line each.
func (r *Runner) Answered() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for uid := range r.answered {
		if w := r.pods[uid]; w != nil {
			all = append(all, fmt.Sprintf("pod %s is as ready as another replica, which has its port of this machine: only one of them runs at a time", w.name()))
		}
	}
	slices.Sort(all)
	return all
}
