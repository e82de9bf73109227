package podspec

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// NodePorts are the ports of its node that a pod has as long as it runs, with their protocols: those of its containers, and
// of init containers that stay (restartPolicy: Always). With hostNetwork each port of a container is one of the node, as the
// API server fills in.
func NodePorts(spec *corev1.PodSpec) []corev1.ContainerPort {
	var all []corev1.ContainerPort
	add := func(c *corev1.Container) {
		for _, port := range c.Ports {
			port.Protocol = cmp.Or(port.Protocol, corev1.ProtocolTCP)
			if spec.HostNetwork {
				port.HostPort = cmp.Or(port.HostPort, port.ContainerPort)
			}
			if port.HostPort > 0 {
				all = append(all, port)
			}
		}
	}
	for i := range spec.InitContainers {
		if c := &spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return all
}
