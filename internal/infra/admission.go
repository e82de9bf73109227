package infra

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// AdmissionAnnotation has the admission plug-ins that the API server of a simulated node's provider
// runs besides Kubernetes' defaults, separated by commas.
const AdmissionAnnotation = "aicr.nvidia.com/admission-plugins"

// ExtendedResourceToleration is the plug-in that gives each pod a toleration for the extended
// resources that it requests, so that a GPU pod gets onto nodes with the taint nvidia.com/gpu.
// https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#extendedresourcetoleration
const ExtendedResourceToleration = "ExtendedResourceToleration"

// AdmissionPlugins returns the plug-ins of the nodes' provider, sorted.
func AdmissionPlugins(nodes []*corev1.Node) []string {
	var all []string
	for _, n := range nodes {
		if list := n.Annotations[AdmissionAnnotation]; list != "" {
			all = append(all, strings.Split(list, ",")...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
