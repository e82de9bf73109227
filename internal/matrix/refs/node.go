package refs

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// safeSysctls are those that a kubelet allows by itself
// (https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/).
func safeSysctls() []string {
	return []string{
		"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports",
		"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
	}
}

// node finds what a kubelet does only where its node was prepared for it: kernel parameters that it does
// not allow by itself, and profiles that are files of the node.
func node(spec *corev1.PodSpec) []KubeletRefusal {
	var all []KubeletRefusal
	add := func(name, text, then string) {
		if !slices.ContainsFunc(all, func(r KubeletRefusal) bool { return r.Text == text }) {
			all = append(all, KubeletRefusal{Name: name, Text: text, Then: then, Harmless: true})
		}
	}
	profiles := func(seccomp *corev1.SeccompProfile, armor *corev1.AppArmorProfile) {
		if seccomp != nil && seccomp.LocalhostProfile != nil {
			add(*seccomp.LocalhostProfile, fmt.Sprintf("uses the seccomp profile %s, a file of the node (localhostProfile)", *seccomp.LocalhostProfile), "a kubelet starts it only where something has put the file there (CreateContainerError)")
		}
		if armor != nil && armor.LocalhostProfile != nil {
			add(*armor.LocalhostProfile, fmt.Sprintf("uses the AppArmor profile %s of the node (localhostProfile)", *armor.LocalhostProfile), "a kubelet starts it only where something has loaded the profile (CreateContainerError)")
		}
	}
	if s := spec.SecurityContext; s != nil {
		for _, parameter := range s.Sysctls {
			if !slices.Contains(safeSysctls(), parameter.Name) {
				add(parameter.Name, "sets sysctl "+parameter.Name, "a kubelet rejects its pods (SysctlForbidden) unless it was started with --allowed-unsafe-sysctls")
			}
		}
		profiles(s.SeccompProfile, s.AppArmorProfile)
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			if s := list[i].SecurityContext; s != nil {
				profiles(s.SeccompProfile, s.AppArmorProfile)
			}
		}
	}
	return all
}
