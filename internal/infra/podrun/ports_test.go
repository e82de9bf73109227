package podrun

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A port that a container does not name is information which it may leave out, so its program gets it;
// once for each port, since what fails again is the program's own.
func TestLearn(t *testing.T) {
	w := newWorker(&Runner{}, podOf(nil))
	for i, c := range []struct {
		said string
		want bool
	}{
		{"level=error err=\"no such flag\"", false},
		{"listen tcp :8080: bind: permission denied", true},
		{"starting | failed to create listener: listen tcp :8080: bind: permission denied", false},
		{"listen tcp4 127.0.0.1:9443: bind: address already in use", true},
		{"listen tcp: lookup nowhere: no such host", false},
	} {
		if got := w.learn(&state{said: c.said, exitCode: 1}); got != c.want {
			t.Errorf("%d, %q: got %t", i, c.said, got)
		}
	}
	if fmt.Sprint(w.learnt) != "[8080 9443]" {
		t.Errorf("learnt %v", w.learnt)
	}
	w.stop()
	if w.learn(&state{said: "listen tcp :1: bind: permission denied"}) {
		t.Error("a pod that is to end starts again")
	}
}

// A pod whose port has a replica of it is as ready as that one; no other pod's process answers for it.
func TestReplicaAt(t *testing.T) {
	r := &Runner{pods: map[types.UID]*worker{}, answered: map[types.UID]bool{}}
	make := func(uid, owner types.UID) *worker {
		p := podOf(nil)
		yes := true
		p.UID, p.Name, p.OwnerReferences = uid, "p-"+string(uid), []metav1.OwnerReference{{UID: owner, Controller: &yes}}
		w := newWorker(r, p)
		r.pods[uid] = w
		return w
	}
	first, second, third, stranger := make("1", "a"), make("2", "a"), make("3", "a"), make("4", "b")
	taken := &portError{8080, "which the readiness probe asks"}
	if second.replicaAt(taken) != nil {
		t.Error("a replica that does not run answers")
	}
	first.runs.Store(true)
	if second.replicaAt(taken) != first || second.replicaAt(errors.New("no ConfigMap")) != nil || stranger.replicaAt(taken) != nil {
		t.Error("want the replica's for a port, and for nothing else")
	}
	second.runs.Store(true) // by its status
	if got := third.replicaAt(taken); got != first {
		t.Errorf("one that is answered for answers: %v", got)
	}
	if all := r.Answered(); len(all) != 2 || !strings.Contains(all[0], "p-2 is as ready as another replica") {
		t.Errorf("got %q", all)
	}
	second.alone()
	if all := r.Answered(); len(all) != 1 {
		t.Errorf("its own process runs: %q", all)
	}
}

// A pod waits for a port on which its program could not listen, as for one that is probed.
func TestPortTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	on := listener.Addr().(*net.TCPAddr).Port
	w := newWorker(&Runner{}, podOf(func(s *corev1.PodSpec, _ *corev1.Container) { s.InitContainers = []corev1.Container{{Name: "i"}} }))
	if err := w.portTaken(&w.pod.Spec.Containers[0]); err != nil {
		t.Errorf("before: %v", err)
	}
	w.learnt = []int{on}
	if err := w.portTaken(&w.pod.Spec.Containers[0]); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d, on which its program listens", on)) {
		t.Errorf("got %v", err)
	}
	if err := w.portTaken(&w.pod.Spec.InitContainers[0]); err != nil {
		t.Errorf("an init container: %v", err)
	}
}

// Of a pod that runs and is not ready its status has what the probe got, as a kubelet's event has.
func TestStatus_Unready(t *testing.T) {
	w := newWorker(&Runner{}, podOf(nil))
	for _, c := range []struct {
		state state
		want  string
	}{
		{state{running: true, unready: "connection refused"}, "its readiness probe fails: connection refused"},
		{state{running: true}, ""},
		{state{running: true, ready: true}, ""},
		{state{exited: true, unready: "connection refused"}, ""}, // it does not run
	} {
		got := ""
		for _, condition := range w.status(c.state).Conditions {
			got += condition.Message
		}
		if got != c.want {
			t.Errorf("%+v: %q", c.state, got)
		}
	}
}
