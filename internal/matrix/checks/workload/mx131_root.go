package workload

import (
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var rootRefused = judge.Check{
	ID: "MX131", Name: "root-that-may-not-be", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "A container that may not run as root does not ask for it",
	Why: "A kubelet refuses a container with runAsNonRoot and the user 0 (https://kubernetes.io/docs/tasks/configure-pod-container/security-context/). " +
		"A container's own fields come before those of its pod.",
	Fix:  "Set another runAsUser, or leave runAsNonRoot out.",
	Says: "container %s has runAsNonRoot: true and runAsUser: 0", Then: "a kubelet never starts it (CreateContainerConfigError)",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			var not *bool
			var user *int64
			if c := p.Template.Spec.SecurityContext; c != nil {
				not, user = c.RunAsNonRoot, c.RunAsUser
			}
			for _, c := range p.Containers() {
				not, user, path := not, user, p.Path()+".securityContext.runAsUser"
				if own := c.SecurityContext; own != nil {
					if own.RunAsNonRoot != nil {
						not = own.RunAsNonRoot
					}
					if own.RunAsUser != nil {
						user, path = own.RunAsUser, c.Path+".securityContext.runAsUser"
					}
				}
				if not != nil && *not && user != nil && *user == 0 {
					s.Report(p.Object, path, c.Name).OneOfTemplate().SetBy("runAsUser")
				}
			}
		}
	},
}
