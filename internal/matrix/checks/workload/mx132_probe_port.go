package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var probePort = judge.Check{
	ID: "MX132", Name: "probe-port-has-no-name", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "A port that a probe asks by its name is one of the container",
	Why: "A kubelet discards what a probe without a port answers: the container stays as it was at the start, which is not ready, and alive " +
		"(https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/#use-a-named-port). A warning for a livenessProbe.",
	Fix:  "Name the port in the container's ports, or give the probe a number.",
	Says: "the %s of container %s asks port %s, and the container has no port of that name", Then: "%[4]s",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				for _, q := range asked(c) {
					name := portOf(q.get, q.socket)
					if name == "" || slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == name }) {
						continue
					}
					f := s.Report(p.Object, c.Path+"."+q.path, q.what, c.Name, name, q.then).OneOfTemplate().SetBy(name)
					if q.what == "livenessProbe" {
						f.Warning()
					}
				}
			}
		}
	},
}

// question is a port that a kubelet asks.
type question struct {
	what, path, then string
	get              *corev1.HTTPGetAction
	socket           *corev1.TCPSocketAction
}

func asked(c facts.Container) (all []question) {
	const never = "its pods never become ready"
	probe := func(what, then string, p *corev1.Probe) {
		if p != nil {
			all = append(all, question{what, what, then, p.HTTPGet, p.TCPSocket})
		}
	}
	probe("readinessProbe", never, c.ReadinessProbe)
	probe("startupProbe", never, c.StartupProbe)
	probe("livenessProbe", "it is never probed", c.LivenessProbe)
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		all = append(all, question{"postStart hook", "lifecycle.postStart", "a kubelet kills it each time (FailedPostStartHook)", c.Lifecycle.PostStart.HTTPGet, c.Lifecycle.PostStart.TCPSocket})
	}
	return all
}

// portOf is the name of the port that is asked; empty if it is a number.
func portOf(get *corev1.HTTPGetAction, socket *corev1.TCPSocketAction) string {
	switch {
	case get != nil && get.Port.Type == intstr.String:
		return get.Port.StrVal
	case socket != nil && socket.Port.Type == intstr.String:
		return socket.Port.StrVal
	}
	return ""
}
