package workload

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var twiceInTemplate = judge.Check{
	ID: "MX125", Name: "list-key-twice", Needs: judge.Rendered,
	Title: "A pod template has each pull secret, variable and port once",
	Why: "The name is the key of such a list. An apply on the server's side is refused for a key that comes twice, and a client that creates or patches the object is not " +
		"(https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy).",
	Fix:  "Remove one.",
	Says: "%shas %s %s twice", Then: "Helm 3 installs it, and what applies on the server's side is rejected (Helm 4, and controllers that do so)",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			seen := keys{scope: s, pods: p, times: map[string]int{}}
			for i, secret := range p.Template.Spec.ImagePullSecrets {
				seen.add(fmt.Sprintf("%s.imagePullSecrets[%d]", p.Path(), i), "", "the pull secret", secret.Name)
			}
			for _, c := range p.Containers() {
				where := "container " + c.Name + " "
				for i, e := range c.Env {
					seen.add(fmt.Sprintf("%s.env[%d]", c.Path, i), where, "the variable", e.Name)
				}
				for i, port := range c.Ports {
					seen.add(fmt.Sprintf("%s.ports[%d]", c.Path, i), where, "port", fmt.Sprintf("%d/%s", port.ContainerPort, cmp.Or(port.Protocol, corev1.ProtocolTCP)))
				}
			}
		}
	},
}

// keys are how often the keys of lists come in a template.
type keys struct {
	scope *judge.Scope
	pods  facts.PodTemplate
	times map[string]int
}

// add reports a key when it comes for the second time.
func (k keys) add(path, where, what, key string) {
	full := where + what + " " + key
	if k.times[full]++; k.times[full] == 2 {
		k.scope.Report(k.pods.Object, path, where, what, key)
	}
}
