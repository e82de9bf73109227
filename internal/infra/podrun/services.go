package podrun

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// serviceBudget is how long a Service may be looked for. The API server waits as long for each
// call of a webhook.
const serviceBudget = 5 * time.Second

// Route is where on this machine an address of a Service leads, if pods that run are behind it:
// SERVICE.NAMESPACE.svc:PORT, or CLUSTERIP:PORT. It is false for a Service of other pods, and an
// error if its pods run and none of them is ready. For a webhook that fails open it waits until one
// is: the API server would leave the webhook out, and chance would decide what it sees.
func (r *Runner) Route(address string) (string, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), serviceBudget)
	defer cancel()
	to, ok, err := r.route(ctx, address)
	if ok {
		return to, true, nil
	}
	patience := r.patience(ctx, address)
	if patience <= 0 {
		return to, false, err
	}
	waited := wait.For(context.Background(), "a pod behind "+address, wait.Options{Budget: patience, Interval: openInterval}, func(ctx context.Context) wait.Result {
		ctx, cancel := context.WithTimeout(ctx, serviceBudget)
		defer cancel()
		if to, ok, err = r.route(ctx, address); ok {
			return wait.Done()
		}
		return wait.NotYet("%v", err)
	})
	return to, waited == nil, err
}

const (
	// openInterval is how often it is looked whether a pod is ready.
	openInterval = 100 * time.Millisecond
	// openMargin is what of a webhook's time is left for its answer.
	openMargin = 2 * time.Second
	// openDefault is the time that a webhook has (timeoutSeconds) if it names none.
	openDefault = 10
)

// patience is how long a call of a Service may wait here: 0, unless the Service is that of webhooks
// that fail open, and of no other.
func (r *Runner) patience(ctx context.Context, address string) time.Duration {
	host, _, _ := net.SplitHostPort(address)
	s := r.service(ctx, host)
	if s == nil {
		return 0
	}
	least := time.Duration(0)
	closed := false
	see := func(client *admissionv1.WebhookClientConfig, policy *admissionv1.FailurePolicyType, seconds *int32, when []admissionv1.MatchCondition) {
		never := slices.ContainsFunc(when, func(m admissionv1.MatchCondition) bool { return m.Expression == "false" })
		if never || client.Service == nil || client.Service.Namespace != s.Namespace || client.Service.Name != s.Name {
			return
		}
		closed = closed || policy == nil || *policy != admissionv1.Ignore
		has := time.Duration(openDefault) * time.Second
		if seconds != nil {
			has = time.Duration(*seconds) * time.Second
		}
		if has = max(0, has-openMargin); least == 0 || has < least {
			least = has
		}
	}
	api := r.Clients.Kube.AdmissionregistrationV1()
	validating, err := api.ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{ResourceVersion: "0"}) // from the watch cache
	if err != nil {
		return 0
	}
	mutating, err := api.MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0
	}
	for _, c := range validating.Items {
		for _, w := range c.Webhooks {
			see(&w.ClientConfig, w.FailurePolicy, w.TimeoutSeconds, w.MatchConditions)
		}
	}
	for _, c := range mutating.Items {
		for _, w := range c.Webhooks {
			see(&w.ClientConfig, w.FailurePolicy, w.TimeoutSeconds, w.MatchConditions)
		}
	}
	if closed {
		return 0
	}
	return least
}

// route is Route as of now.
func (r *Runner) route(ctx context.Context, address string) (string, bool, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", false, nil
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return "", false, nil
	}
	s := r.service(ctx, host)
	if s == nil || len(s.Spec.Selector) == 0 {
		return "", false, nil
	}
	i := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return int(p.Port) == port })
	behind := r.behind(s)
	if i < 0 || len(behind) == 0 {
		return "", false, nil
	}
	for _, w := range behind {
		if w.off(s.Spec.Ports[i]) {
			return "", false, nil // a stand-in answers
		}
		if on, ok := w.serves(ctx, s.Spec.Ports[i]); ok {
			return net.JoinHostPort("127.0.0.1", strconv.Itoa(on)), true, nil
		}
	}
	return "", false, fmt.Errorf("no pod of Service %s/%s is ready, or listens on its port %d (%s)", s.Namespace, s.Name, port, behind[0].name())
}

// service is the Service of an address; nil if there is none.
func (r *Runner) service(ctx context.Context, host string) *corev1.Service {
	if net.ParseIP(host) == nil {
		name, rest, _ := strings.Cut(host, ".")
		namespace, _, _ := strings.Cut(rest, ".")
		s, err := r.Clients.Kube.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return s
	}
	all, err := r.Clients.Kube.CoreV1().Services("").List(ctx, metav1.ListOptions{ResourceVersion: "0"}) // from the watch cache
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(all.Items, func(s corev1.Service) bool { return s.Spec.ClusterIP == host })
	if i < 0 {
		return nil
	}
	return &all.Items[i]
}

// behind are the pods of a Service that run, the oldest first.
func (r *Runner) behind(s *corev1.Service) []*worker {
	selector := labels.SelectorFromSet(s.Spec.Selector)
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []*worker
	for _, w := range r.pods {
		if w.pod.Namespace == s.Namespace && selector.Matches(labels.Set(w.pod.Labels)) && w.ctx.Err() == nil {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b *worker) int { return strings.Compare(a.pod.Name, b.pod.Name) })
	return all
}

// serves is the port of this machine behind a port of a Service; false if the pod is not ready, or
// its program did not get that port from here: a recipe must not make the API server dial any port
// of the machine. A pod without a readiness probe gets calls as soon as it runs, as in Kubernetes,
// where they fail until it listens (steady calls it ready later).
func (w *worker) serves(ctx context.Context, p corev1.ServicePort) (int, bool) {
	on, ok := w.listens.own(w.target(p))
	if !ok || w.ready.Load() {
		return on, ok
	}
	return on, w.runs.Load() && w.pod.Spec.Containers[0].ReadinessProbe == nil && probeTCP(ctx, on) == nil
}

// off reports whether the server behind a port of a Service does not run here.
func (w *worker) off(p corev1.ServicePort) bool {
	program, _ := w.r.program(&w.pod.Spec.Containers[0])
	port := w.target(p)
	return slices.ContainsFunc(program.Off, func(off infra.Off) bool { return off.Port == port })
}

// target is the port of the container behind one of a Service; 0 if the container has none of that name.
func (w *worker) target(p corev1.ServicePort) int {
	port := int(p.Port)
	switch {
	case p.TargetPort.Type == intstr.Int && p.TargetPort.IntValue() != 0:
		port = p.TargetPort.IntValue()
	case p.TargetPort.Type == intstr.String:
		port = 0
		for _, named := range w.pod.Spec.Containers[0].Ports {
			if named.Name == p.TargetPort.StrVal {
				port = int(named.ContainerPort)
			}
		}
	}
	return port
}
