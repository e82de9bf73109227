package podrun

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// serviceBudget is how long a Service may be looked for. The API server waits as long for each
// call of a webhook.
const serviceBudget = 5 * time.Second

// Route is where on this machine an address of a Service leads, if pods that run are behind it:
// SERVICE.NAMESPACE.svc:PORT, or CLUSTERIP:PORT. It is false for a Service of other pods, and an
// error if its pods run and none of them is ready.
func (r *Runner) Route(address string) (string, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), serviceBudget)
	defer cancel()
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
		if on, ok := w.serves(s.Spec.Ports[i]); ok {
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
// of the machine.
func (w *worker) serves(p corev1.ServicePort) (int, bool) {
	if !w.ready.Load() {
		return 0, false
	}
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
	return w.listens.own(port)
}
