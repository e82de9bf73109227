package refs

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// longestName is that of a host, and longestNode what Linux has room for (utsname).
	longestName, longestNode = 63, 64
	// domain is that of clusters that are given no other one.
	domain = "cluster.local"
	// hash and suffix stand for what controllers add to the names of ReplicaSets and pods, no longer than that is.
	hash, suffix = "-xxxxxxxx", "-xxxxx"
)

// kubeletNamed finds pods that take their whole name in DNS as the name of their host (setHostnameAsFQDN), which is
// too long for one.
func kubeletNamed(kind, namespace, name string, spec *corev1.PodSpec) []KubeletRefusal {
	if spec.SetHostnameAsFQDN == nil || !*spec.SetHostnameAsFQDN || spec.Subdomain == "" || spec.HostnameOverride != nil {
		return nil
	}
	host := spec.Hostname
	if host == "" {
		switch host = name; kind {
		case "Deployment":
			host = generated(name + hash)
		case "StatefulSet":
			host = name + "-0"
		case "Pod":
		default:
			host = generated(name)
		}
	}
	host = strings.TrimRight(host[:min(len(host), longestName)], "-.")
	full := strings.Join([]string{host, spec.Subdomain, namespace, "svc", domain}, ".")
	if len(full) <= longestNode {
		return nil
	}
	return []KubeletRefusal{{Name: "setHostnameAsFQDN", Text: fmt.Sprintf("has setHostnameAsFQDN: true, and the name %s has %d characters; a host's name has %d at most", full, len(full), longestNode), Then: "a kubelet starts none of its containers (FailedCreatePodSandBox)"}}
}

// generated is a name that the API server completes, which it shortens before.
func generated(base string) string { return base[:min(len(base), longestName-len(suffix))] + suffix }
