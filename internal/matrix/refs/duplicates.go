package refs

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
)

// duplicates warns of what a pod template has twice where the name is the key of the list. A
// deployer that applies on the server's side cannot: the API server rejects it then ("duplicate
// entries for key"), and takes it from one that creates the object.
func (c *checker) duplicates(w *bundle.Workload) {
	for _, text := range twice(&w.PodSpec) {
		c.warn(reference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template,
			text: text, then: "Helm 3 installs it, and what applies on the server's side is rejected (Helm 4, and controllers that do so)"})
	}
}

func twice(spec *corev1.PodSpec) []string {
	var all []string
	seen := map[string]bool{}
	see := func(where, what, key string) {
		full := where + what + " " + key
		if !seen[full] {
			seen[full] = true
			return
		}
		if text := fmt.Sprintf("%shas %s %s twice", where, what, key); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, s := range spec.ImagePullSecrets {
		see("", "the pull secret", s.Name)
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			where := "container " + list[i].Name + " "
			for _, e := range list[i].Env {
				see(where, "the variable", e.Name)
			}
			for _, p := range list[i].Ports {
				protocol := p.Protocol
				if protocol == "" {
					protocol = corev1.ProtocolTCP
				}
				see(where, "port", fmt.Sprintf("%d/%s", p.ContainerPort, protocol))
			}
		}
	}
	return all
}
