package workload

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const (
	// longestName is that of a host, and longestNode what Linux has room for (utsname).
	longestName, longestNode = 63, 64
	// domain is that of clusters that are given no other one.
	domain = "cluster.local"
	// hash and suffix stand for what controllers add to the names of ReplicaSets and pods, no longer than that is.
	hash, suffix = "-xxxxxxxx", "-xxxxx"
)

var hostName = judge.Check{
	ID: "MX140", Name: "host-name-too-long", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "The name of a pod in DNS is no longer than that of a host may be, where it is to be both",
	Why: "With setHostnameAsFQDN a pod's host has its whole name in DNS, and Linux has room for 64 characters " +
		"(https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-sethostnameasfqdn-field).",
	Fix:  "Leave setHostnameAsFQDN out, or shorten the name, the subdomain or the namespace.",
	Says: "has setHostnameAsFQDN: true, and the name %s has %d characters; a host's name has %d at most",
	Then: "a kubelet starts none of its containers (FailedCreatePodSandBox)",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			spec := &p.Template.Spec
			if spec.SetHostnameAsFQDN == nil || !*spec.SetHostnameAsFQDN || spec.Subdomain == "" || spec.HostnameOverride != nil {
				continue
			}
			full := strings.Join([]string{hostOf(p), spec.Subdomain, p.Object.Object.GetNamespace(), "svc", domain}, ".")
			if len(full) > longestNode {
				s.Report(p.Object, p.Path()+".setHostnameAsFQDN", full, len(full), longestNode).SetBy("setHostnameAsFQDN")
			}
		}
	},
}

// hostOf is the name of a pod's host.
func hostOf(p facts.PodTemplate) string {
	host := p.Template.Spec.Hostname
	if name := p.Object.Object.GetName(); host == "" {
		switch host = name; p.Object.Object.GetKind() {
		case "Deployment":
			host = generated(name + hash)
		case "StatefulSet":
			host = name + "-0"
		case "Pod":
		default:
			host = generated(name)
		}
	}
	return strings.TrimRight(host[:min(len(host), longestName)], "-.")
}

// generated is a name that the API server completes, which it shortens before.
func generated(base string) string { return base[:min(len(base), longestName-len(suffix))] + suffix }
