package workload

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var runtimeClasses = judge.KindsOf(nodev1.GroupName, "RuntimeClass")

var handlerUnknown = judge.Check{
	ID: "MX159", Name: "runtime-handler-unknown", Needs: judge.Rendered, Kinds: runtimeClasses,
	Title: "The nodes have the handler of a RuntimeClass that pods use",
	Why: "The handler is an entry in the configuration of each node's container runtime (https://kubernetes.io/docs/concepts/containers/runtime-class/#1-configure-the-cri-implementation-on-nodes). " +
		"No node profile says which one a machine has, so that it is a note. NVIDIA's are those of the nodes with GPUs.",
	Fix:  "Let the recipe configure the runtime, or say in its documentation what nodes need.",
	Says: "needs the handler %s in the configuration of the nodes' container runtime, which no node profile says anything of, and nothing in the recipe changes it",
	Then: "without it a kubelet starts no pod of %[2]s",
	Run: func(s *judge.Scope) {
		all := s.Pods()
		if slices.ContainsFunc(all, func(p facts.PodTemplate) bool { return configuresRuntime(&p.Template.Spec) }) {
			return
		}
		for _, o := range s.Rendered(runtimeClasses...) {
			class := facts.As[nodev1.RuntimeClass](s.Index, o)
			if class == nil || class.Handler == "runc" || strings.HasPrefix(class.Handler, "nvidia") {
				continue
			}
			i := slices.IndexFunc(all, func(p facts.PodTemplate) bool {
				return p.Template.Spec.RuntimeClassName != nil && *p.Template.Spec.RuntimeClassName == class.Name
			})
			if i >= 0 {
				s.Report(o, "handler", class.Handler, all[i].Object.Ref()).Note()
			}
		}
	},
}

// configuresRuntime reports whether a pod has the directory of its node with a container runtime's configuration.
func configuresRuntime(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		if v.HostPath == nil {
			return false
		}
		at := path.Clean(v.HostPath.Path)
		return at == "/" || at == "/etc" || strings.Contains(at, "containerd") || strings.Contains(at, "crio")
	})
}
