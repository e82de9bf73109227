package podrun

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// worker runs one pod from its binding to a node until its deletion.
type worker struct {
	r   *Runner
	pod *corev1.Pod // as it was bound; its spec does not change
	dir string
	log string

	stop context.CancelFunc // ends the process
	ctx  context.Context

	mu       sync.Mutex
	grace    time.Duration // for the process, from the time that stop is called
	deleting bool
	ended    chan struct{} // closed when the process has ended for good

	runs, ready atomic.Bool // the main container
	listens     listens     // where the main container's program listens

	initialized []state // the init containers that succeeded; only life touches it
	learnt      []int   // ports that the program listens on and its container does not name; the same
}

func newWorker(r *Runner, p *corev1.Pod) *worker {
	w := &worker{r: r, pod: p.DeepCopy(), dir: filepath.Join(r.Dir, string(p.UID)), log: r.logFile(p), ended: make(chan struct{})}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.listens.of = map[int]int{}
	return w
}

// delete ends the pod when the API server deletes it: it sends SIGTERM, sends SIGKILL after the
// grace period, and then removes the object.
func (w *worker) delete(p *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deleting {
		return
	}
	w.deleting = true
	if s := p.DeletionGracePeriodSeconds; s != nil {
		w.grace = time.Duration(*s) * time.Second
	}
	w.stop()
}

// kill ends the process at once.
func (w *worker) kill() { w.stop() }

// Restarts wait for firstBackoff, then twice as long each time, up to mostBackoff. A kubelet starts
// with 10 s and waits up to 5 minutes, which is too long for a cell that takes one minute.
const (
	firstBackoff = time.Second
	mostBackoff  = 30 * time.Second
)

// run ends when the pod has ended for good, and it has been deleted if that was asked for; or when
// ctx ends.
func (w *worker) run(ctx context.Context) {
	defer context.AfterFunc(ctx, w.stop)()
	last := w.life(ctx)
	w.listens.release(w.r.Ports)
	close(w.ended)
	if ctx.Err() != nil {
		return // the cluster stops, so no client reads a status
	}
	if last != nil {
		w.write(ctx, *last)
	}
	<-w.ctx.Done() // until the pod is deleted
	w.mu.Lock()
	deleting := w.deleting
	w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if deleting {
		w.remove(ctx)
	}
	if err := filesys.RemoveTree(w.dir); err != nil {
		w.r.Log.Warn("remove the files of a pod that ran", "pod", w.name(), "err", err)
	}
}

// logOf is the log of a container: the pod's own for the main one.
func (w *worker) logOf(container string) string {
	if container == w.pod.Spec.Containers[0].Name {
		return w.log
	}
	return strings.TrimSuffix(w.log, ".log") + "-" + container + ".log"
}

func (w *worker) name() string { return w.pod.Namespace + "/" + w.pod.Name }

// life runs the container, again and again if its restart policy says so. It gives the last state,
// nil if there was none.
func (w *worker) life(ctx context.Context) *state {
	if why := unsupported(w.pod, w.r.program); why != "" {
		w.write(ctx, state{waiting: "CreateContainerConfigError", message: infra.CannotRun + why})
		<-w.ctx.Done()
		return nil
	}
	main := &w.pod.Spec.Containers[0]
	if last, ok := w.initialize(ctx); !ok {
		return last
	}
	for restarts := 0; ; restarts++ {
		p, m, ok := w.begin(ctx, main, state{restarts: restarts})
		if !ok {
			return nil
		}
		s := w.attend(ctx, p, m, restarts)
		w.quote(main, &s)
		if w.learn(&s) {
			restarts-- // it is not the program's fault
			continue
		}
		again := w.pod.Spec.RestartPolicy == corev1.RestartPolicyAlways || w.pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && s.exitCode != 0
		if w.ctx.Err() != nil || !again {
			s.final = true
			return &s
		}
		if !w.backOff(ctx, &s) {
			s.final = true
			return &s
		}
	}
}

// initialize runs the init containers, one after another, each until it succeeds. False: the pod is
// to end, or one of them has failed for good, which is the state that it gives.
func (w *worker) initialize(ctx context.Context) (*state, bool) {
	for i := range w.pod.Spec.InitContainers {
		c := &w.pod.Spec.InitContainers[i]
		for restarts := 0; ; restarts++ {
			p, _, ok := w.begin(ctx, c, state{init: i + 1, restarts: restarts})
			if !ok {
				return nil, false
			}
			s := w.attendInit(ctx, p, state{init: i + 1, restarts: restarts})
			w.quote(c, &s)
			if s.exitCode == 0 && w.ctx.Err() == nil {
				w.initialized = append(w.initialized, s)
				break
			}
			if w.ctx.Err() != nil || w.pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
				s.final = true
				return &s, false
			}
			if !w.backOff(ctx, &s) {
				s.final = true
				return &s, false
			}
		}
	}
	return nil, true
}

// quote adds to the state of a process that has failed what it said at last, as a kubelet does for
// containers with terminationMessagePolicy FallbackToLogsOnError.
func (w *worker) quote(c *corev1.Container, s *state) {
	if s.exitCode != 0 {
		s.said = lastWords(w.logOf(c.Name))
	}
}

// attendInit waits for the end of an init container's process. The token of one is not renewed: it
// is valid for an hour.
func (w *worker) attendInit(ctx context.Context, p *host.Process, s state) state {
	s.running, s.started = true, time.Now()
	w.write(ctx, s)
	select {
	case <-p.Done():
	case <-w.ctx.Done():
		p.Stop(w.graceLeft())
	}
	s.running, s.exited, s.exitCode, s.left, s.finished = false, true, p.ExitCode(), p.Left(), time.Now()
	return s
}

// graceLeft is how long the process has once the pod is to end.
func (w *worker) graceLeft() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.grace
}

// backOff waits until a container that has ended starts again. False: the pod is to end.
func (w *worker) backOff(ctx context.Context, s *state) bool {
	backoff := firstBackoff
	for range s.restarts {
		backoff = min(2*backoff, mostBackoff)
	}
	s.waiting, s.message = "CrashLoopBackOff", fmt.Sprintf("ended with exit code %d, and starts again in %s", s.exitCode, backoff)
	if s.left > 0 {
		s.message += fmt.Sprintf("; processes that it had left behind ended with it, as in a container: %d", s.left)
	}
	if s.said != "" {
		s.message += "; its log says: " + s.said
	}
	w.write(ctx, *s)
	return sleep(w.ctx, backoff)
}

// What a process needs to start is looked for often at first: it is there within a second, as a rule,
// and a Job or a webhook that something waits for would lose the second.
const (
	beginOften    = 200 * time.Millisecond
	beginSeldom   = time.Second
	beginOftenFor = 10 * time.Second
)

// begin starts the process, as soon as the objects that it needs exist. It returns false if the pod
// is to end.
func (w *worker) begin(ctx context.Context, c *corev1.Container, s state) (*host.Process, *mounts, bool) {
	said, first := "", time.Now()
	for {
		spec, m, err := w.spec(w.ctx, c)
		if err == nil {
			err = w.portTaken(c)
		}
		if err == nil {
			err = w.r.awaitKinds(w.ctx)
		}
		if err == nil {
			var p *host.Process
			if p, err = w.r.Sup.Start(spec); err == nil {
				w.alone()
				return p, m, true
			}
		}
		if w.ctx.Err() != nil {
			return nil, nil, false
		}
		if y := w.replicaAt(err); y != nil {
			s.running, s.ready, s.started, s.waiting = true, y.ready.Load(), first, ""
			if text := fmt.Sprint(y.name(), s.ready); text != said {
				said = text
				w.write(ctx, s)
			}
		} else if text := err.Error(); text != said { // e.g. a ConfigMap that does not exist yet
			said = text
			s.running, s.ready, s.waiting, s.message = false, false, "ContainerCreating", text
			w.write(ctx, s)
		}
		if !sleep(w.ctx, often(first)) {
			return nil, nil, false
		}
	}
}

// often is how long to wait until the next look: the shorter time, for a while from the first look on.
func often(first time.Time) time.Duration {
	if time.Since(first) < beginOftenFor {
		return beginOften
	}
	return beginSeldom
}

// sandbox is what the process may do: the caller's profile, its mounts, and the ports that the
// container names.
func (w *worker) sandbox(program string, m *mounts, c *corev1.Container) *sandbox.Profile {
	if w.r.Sandbox == nil {
		return nil
	}
	p := *w.r.Sandbox
	p.Read = append([]string{m.root, m.kubeconfig}, p.Read...)
	p.ReadWrite = append(append([]string(nil), m.scratch...), p.ReadWrite...)
	if path.Dir(m.token) == tokenDirectory && sandbox.CanBind() {
		p.Binds, p.Overlay = []sandbox.Bind{{Source: filepath.Join(m.root, tokenDirectory), Target: tokenDirectory}}, w.overlay()
	}
	for _, started := range append([]string{program}, interpreters(program)...) {
		if dir := loaderDirectory(started); dir != "" {
			p.Execute = append([]string{dir}, p.Execute...)
			p.Read = append(p.Read, libraries...)
		}
	}
	p.Execute = append(interpreters(program), p.Execute...)
	p.Bind = append([]int(nil), p.Bind...)
	for _, port := range c.Ports {
		if port.Protocol == "" || port.Protocol == corev1.ProtocolTCP {
			p.Bind = append(p.Bind, w.listens.at(int(port.ContainerPort)))
		}
	}
	if port, ok := probedPort(c.ReadinessProbe, c); ok { // which a container need not name
		p.Bind = append(p.Bind, w.listens.at(port))
	}
	p.Bind = append(append(p.Bind, w.listens.all()...), w.learnt...)
	p.Connect = append(append([]int(nil), p.Connect...), w.listens.all()...) // controllers dial their own webhooks to find that they answer
	return &p
}

// tokenDirectory is the default directory of a pod's token (rest.InClusterConfig of client-go).
const tokenDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"

func (w *worker) overlay() string { return filepath.Join(w.dir, "overlay") }

// attend waits for the end of the process: it writes the status, runs the readiness probe and
// renews the token meanwhile. When the pod is to end, the process gets SIGTERM, and SIGKILL after
// its grace period.
func (w *worker) attend(ctx context.Context, p *host.Process, m *mounts, restarts int) state {
	began := time.Now()
	running := state{running: true, started: began, restarts: restarts}
	w.write(ctx, running)
	done, cancel := context.WithCancel(w.ctx)
	var helpers sync.WaitGroup
	if w.pod.Spec.Containers[0].ReadinessProbe == nil {
		helpers.Go(func() { w.steady(done, running) })
	} else {
		helpers.Go(func() { w.probe(done, running) })
	}
	if m.token != "" {
		helpers.Go(func() { w.renew(done, m.expires) })
	}
	if w.followed() {
		helpers.Go(func() { w.follow(done, m) })
	}
	select {
	case <-p.Done():
	case <-w.ctx.Done():
		p.Stop(w.graceLeft())
	}
	cancel()
	helpers.Wait()
	return state{exited: true, exitCode: p.ExitCode(), left: p.Left(), started: began, finished: time.Now(), restarts: restarts}
}

// A program without a readiness probe is ready once it has run for a while: a kubelet calls it ready
// at once, and a verdict could then fall between the start and the end of one that cannot start.
// One that has ended before has to show more.
const (
	steadyFirst = 2 * time.Second
	steadyAgain = 10 * time.Second
)

// steady makes the pod ready.
func (w *worker) steady(ctx context.Context, s state) {
	least := steadyFirst
	if s.restarts > 0 {
		least = steadyAgain
	}
	if sleep(ctx, least) {
		s.ready = true
		w.write(ctx, s)
	}
}

// renew writes the volumes again when four fifths of a token's lifetime are over, as a kubelet does
// for tokens.
func (w *worker) renew(ctx context.Context, expires time.Time) {
	for {
		timer := time.NewTimer(max(time.Minute, time.Until(expires)*4/5))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		m, err := w.mount(ctx, &w.pod.Spec.Containers[0])
		if err != nil {
			w.r.Log.Warn("renew the token of a pod that runs", "pod", w.name(), "err", err)
			continue
		}
		expires = m.expires
	}
}

// remove deletes the pod's object for good, as a kubelet does when the containers have ended.
func (w *worker) remove(ctx context.Context) {
	now := int64(0)
	err := w.r.Clients.Kube.CoreV1().Pods(w.pod.Namespace).Delete(ctx, w.pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &w.pod.UID},
	})
	w.unlessGone("delete a pod that ran", err)
}
