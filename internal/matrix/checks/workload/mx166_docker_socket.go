package workload

import (
	"fmt"
	"slices"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var dockerSocket = judge.Check{
	ID: "MX166", Name: "socket-of-docker", Needs: judge.Rendered,
	Title: "Pods do not need the socket of Docker",
	Why: "The kubelet has not used Docker since Kubernetes 1.24 (https://kubernetes.io/docs/tasks/administer-cluster/migrating-from-dockershim/check-if-dockershim-removal-affects-you/): nodes with containerd or CRI-O have no such socket. " +
		"A cell makes no files of nodes.",
	Fix:  "Use the socket of the runtime of the nodes, or a tool that needs none.",
	Says: "mounts %s of its node, and nodes with containerd or CRI-O have none", Then: "what talks to it fails, and with type: Socket the pod stays in ContainerCreating",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for i, v := range p.Template.Spec.Volumes {
				if v.HostPath != nil && slices.Contains([]string{"/var/run/docker.sock", "/run/docker.sock"}, v.HostPath.Path) {
					s.Report(p.Object, fmt.Sprintf("%s.volumes[%d].hostPath.path", p.Path(), i), v.HostPath.Path)
				}
			}
		}
	},
}
