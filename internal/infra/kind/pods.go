package kind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// ownNamespaces have the pods that the harness installs.
func ownNamespaces() []string {
	return []string{kwokNamespace, registryNamespace, infra.ArgoCDNamespace, infra.FluxNamespace}
}

// waitPods waits until every Deployment and StatefulSet of a namespace that the harness installed
// has its pods ready. A pod that crashes again and again, or whose image is not in the node, ends
// the wait at once, with the end of its log.
func (c *cluster) waitPods(ctx context.Context, namespace string, budget time.Duration) error {
	return wait.For(ctx, "the pods of namespace "+namespace, wait.Options{Budget: budget, Interval: 250 * time.Millisecond}, func(ctx context.Context) wait.Result {
		lacking, err := c.lacking(ctx, namespace)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		pods, err := c.clients.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return wait.NotYet("list pods: %v", err)
		}
		for i := range pods.Items {
			if hopeless := hopelessPod(&pods.Items[i]); hopeless != "" {
				return wait.Never(fmt.Errorf("%s; the end of its log:\n%s", hopeless, c.lastWords(ctx, &pods.Items[i])))
			}
		}
		if len(lacking) > 0 {
			return wait.NotYet("not ready: %s", strings.Join(append(lacking, podStates(pods.Items)...), ", "))
		}
		return wait.Done()
	})
}

// lacking are the workloads of a namespace that are not ready.
func (c *cluster) lacking(ctx context.Context, namespace string) ([]string, error) {
	deployments, err := c.clients.Kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Deployments: %w", err)
	}
	var names []string
	for _, d := range deployments.Items {
		want := int32(1)
		if d.Spec.Replicas != nil {
			want = *d.Spec.Replicas
		}
		if d.Status.ObservedGeneration < d.Generation || d.Status.ReadyReplicas < want || d.Status.UpdatedReplicas < want {
			names = append(names, "Deployment "+d.Name)
		}
	}
	sets, err := c.clients.Kube.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list StatefulSets: %w", err)
	}
	for _, s := range sets.Items {
		if s.Status.ObservedGeneration < s.Generation || s.Status.ReadyReplicas < 1 {
			names = append(names, "StatefulSet "+s.Name)
		}
	}
	return names, nil
}

// podStates say what the pods wait for, as far as they do.
func podStates(pods []corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		for _, s := range p.Status.ContainerStatuses {
			if w := s.State.Waiting; w != nil {
				all = append(all, fmt.Sprintf("pod %s: %s %s", p.Name, w.Reason, w.Message))
			}
		}
		for _, cond := range p.Status.Conditions {
			if cond.Type == corev1.PodScheduled && cond.Status == corev1.ConditionFalse {
				all = append(all, fmt.Sprintf("pod %s: %s", p.Name, cond.Message))
			}
		}
	}
	return all
}

// maxRestarts is how often a container may end before it is said to crash for good.
const maxRestarts = 3

// hopelessPod says why a pod of the harness will not come up by waiting, or "".
func hopelessPod(p *corev1.Pod) string {
	for _, s := range p.Status.ContainerStatuses {
		w := s.State.Waiting
		switch {
		case w != nil && slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName"}, w.Reason):
			return fmt.Sprintf("pod %s/%s: image %s is not in the node (%s)", p.Namespace, p.Name, s.Image, w.Reason)
		case s.RestartCount >= maxRestarts && !s.Ready && (w != nil || s.State.Terminated != nil):
			return fmt.Sprintf("pod %s/%s crashes: %d restarts", p.Namespace, p.Name, s.RestartCount)
		}
	}
	return ""
}

// lastWords is the end of a pod's log: of the container that ended, if one did.
func (c *cluster) lastWords(ctx context.Context, p *corev1.Pod) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, previous := range []bool{true, false} {
		raw, err := c.podLog(ctx, p, previous, 8)
		if err == nil && len(bytes.TrimSpace(raw)) > 0 {
			return strings.TrimSpace(string(raw))
		}
	}
	return "there is none"
}

// podLog is the log of a pod's first container; its last lines, if lines is not 0.
func (c *cluster) podLog(ctx context.Context, p *corev1.Pod, previous bool, lines int) ([]byte, error) {
	o := &corev1.PodLogOptions{Container: p.Spec.Containers[0].Name, Previous: previous}
	if lines > 0 {
		n := int64(lines)
		o.TailLines = &n
	}
	raw, err := c.clients.Kube.CoreV1().Pods(p.Namespace).GetLogs(p.Name, o).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	return raw, nil
}

// componentOf is the name of a pod's component. It is the name of the process on the embedded
// platform, so that debug artifacts have the same files.
func componentOf(p *corev1.Pod) string {
	for _, label := range []string{"app.kubernetes.io/name", "component", "app", "k8s-app"} {
		if name := p.Labels[label]; name != "" {
			return name
		}
	}
	return p.Name
}

// components are the pods on the real node, by component.
func (c *cluster) components(ctx context.Context) (map[string]*corev1.Pod, error) {
	if c.clients == nil {
		return nil, errors.New("the cluster's API server never became ready")
	}
	list, err := c.clients.Kube.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + c.node.String()})
	if err != nil {
		return nil, fmt.Errorf("list the pods on node %s: %w", c.node, err)
	}
	all := map[string]*corev1.Pod{}
	for i := range list.Items {
		p := &list.Items[i]
		if p.Namespace == systemNamespace || slices.Contains(ownNamespaces(), p.Namespace) {
			all[componentOf(p)] = p
		}
	}
	return all, nil
}

func (c *cluster) Tail(ctx context.Context, component string, lines int) ([]byte, error) {
	pods, err := c.components(ctx)
	if err != nil {
		return nil, err
	}
	p := pods[component]
	if p == nil {
		return nil, fmt.Errorf("there is no such log: %s has no pod on node %s", component, c.node)
	}
	return c.podLog(ctx, p, false, lines)
}

// CollectLogs writes a file for each component, and what kind itself collects (the journal, the
// kubelet's log, all pods) below kind/.
func (c *cluster) CollectLogs(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var unread, failed []error
	pods, err := c.components(ctx)
	if err != nil {
		unread = append(unread, err)
	}
	for name, p := range pods {
		raw, err := c.podLog(ctx, p, false, 0)
		if err != nil {
			u := &infra.UnreadError{Err: err}
			unread, raw = append(unread, err), []byte(u.Text())
		}
		failed = append(failed, os.WriteFile(filepath.Join(dir, filepath.Base(name)+".log"), raw, 0o644))
	}
	if c.node != nil || c.created != nil {
		collected := make(chan error, 1) // kind has no context; what it still writes after the time is up is of the same directory
		go func() { collected <- c.provider.CollectLogs(c.Name(), filepath.Join(dir, "kind")) }()
		var err error
		select {
		case err = <-collected:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if err != nil {
			unread = append(unread, fmt.Errorf("collect kind's logs: %w", kindError(err)))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if len(unread) > 0 {
		return &infra.UnreadError{Err: errors.Join(unread...)}
	}
	return nil
}

// watchNode delivers the end of the node: `docker wait` returns when the container ends, and fails
// when the engine does.
func (c *cluster) watchNode(ctx context.Context, name string) {
	out, err := c.platform.Engine.Run(ctx, "wait", name)
	if ctx.Err() != nil {
		return
	}
	death := &infra.DeathError{Name: "node " + name, Reason: reason.ComponentDied, Log: "kind/" + name, Err: fmt.Errorf("its container ended with %s", strings.TrimSpace(out))}
	if err != nil {
		death = &infra.DeathError{Name: "the Docker engine of " + c.platform.Engine.address(), Reason: reason.ComponentDied, Err: err, Help: engineHelp}
	} else if logs, err := c.platform.Engine.Run(ctx, "logs", "--tail", "8", name); err == nil {
		death.Tail = strings.Split(strings.TrimSpace(logs), "\n")
	}
	c.deliver(death)
}

func (c *cluster) deliver(death *infra.DeathError) {
	select {
	case c.died <- death:
	default: // one is enough
	}
}

// watchPods delivers the first pod of the harness that crashes for good.
func (c *cluster) watchPods(ctx context.Context) {
	err := wait.For(ctx, "a crash", wait.Options{Budget: 365 * 24 * time.Hour, Interval: 2 * time.Second}, func(ctx context.Context) wait.Result {
		for _, namespace := range ownNamespaces() {
			list, err := c.clients.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return wait.NotYet("list pods: %v", err)
			}
			for i := range list.Items {
				p := &list.Items[i]
				if why := hopelessPod(p); why != "" {
					name := componentOf(p)
					c.deliver(&infra.DeathError{Name: name, Reason: reason.ComponentDied, Err: errors.New(why), Log: name + ".log", Tail: strings.Split(c.lastWords(ctx, p), "\n")})
					return wait.Done()
				}
			}
		}
		return wait.NotYet("none")
	})
	if err != nil && ctx.Err() == nil {
		c.spec.Log.Error("watch the pods of the harness", "err", err)
	}
}
