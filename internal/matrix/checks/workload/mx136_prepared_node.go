package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/util/sysctl"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// safeSysctls are those that a kubelet allows by itself
// (https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/).
var safeSysctls = []string{
	"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
	"net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
}

var preparedNode = judge.Check{
	ID: "MX136", Name: "node-to-be-prepared", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "Pods need nothing of a node that only its owner can prepare",
	Why: "A kubelet sets only safe kernel parameters unless it is told otherwise (https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/#safe-and-unsafe-sysctls), " +
		"and rejects a pod with another; a localhostProfile is a file or a profile of the node (https://kubernetes.io/docs/tutorials/security/seccomp/). A simulated kubelet needs neither. Whether a node has the profile is not known, so that it is a warning.",
	Fix:  "Leave it out, set the kernel parameter on the node, or say in the recipe's documentation how nodes are prepared.",
	Says: "sets sysctl %s", Then: "a kubelet rejects its pods (SysctlForbidden) unless it was started with --allowed-unsafe-sysctls",
	Others: map[string]judge.Message{
		"seccomp": {Says: "uses the seccomp profile %s, a file of the node (localhostProfile)",
			Then: "a kubelet starts it only where something has put the file there (CreateContainerError)"},
		"armor": {Says: "uses the AppArmor profile %s of the node (localhostProfile)",
			Then: "a kubelet starts it only where something has loaded the profile (CreateContainerError)"},
	},
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			seen := map[string]bool{}
			if c := p.Template.Spec.SecurityContext; c != nil {
				for i, parameter := range c.Sysctls {
					if !slices.Contains(safeSysctls, sysctl.NormalizeName(parameter.Name)) {
						s.Report(p.Object, fmt.Sprintf("%s.securityContext.sysctls[%d].name", p.Path(), i), parameter.Name).OneOfTemplate()
					}
				}
				profiles(s, p, seen, p.Path(), c.SeccompProfile, c.AppArmorProfile)
			}
			for _, c := range p.Containers() {
				if own := c.SecurityContext; own != nil {
					profiles(s, p, seen, c.Path, own.SeccompProfile, own.AppArmorProfile)
				}
			}
		}
	},
}

// profiles reports those of the node, each once for an object.
func profiles(s *judge.Scope, p facts.PodTemplate, seen map[string]bool, path string, seccomp *corev1.SeccompProfile, armor *corev1.AppArmorProfile) {
	report := func(message, field, name string) {
		if !seen[message+name] {
			seen[message+name] = true
			s.ReportAs(message, p.Object, path+".securityContext."+field+".localhostProfile", name).Warning()
		}
	}
	if seccomp != nil && seccomp.LocalhostProfile != nil {
		report("seccomp", "seccompProfile", *seccomp.LocalhostProfile)
	}
	if armor != nil && armor.LocalhostProfile != nil {
		report("armor", "appArmorProfile", *armor.LocalhostProfile)
	}
}
