package facts

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// GKE and EKS are providers that nodes tell by their labels.
const (
	GKE = "GKE"
	EKS = "EKS"
)

// providers are what a label of each of their nodes begins with.
var providers = map[string]string{EKS: "eks.amazonaws.com/", GKE: "cloud.google.com/gke-"}

// Provider is the provider of nodes; empty for one that is none of the above.
func Provider(nodes []corev1.Node) string {
	for i := range nodes {
		for label := range nodes[i].Labels {
			for name, begins := range providers {
				if strings.HasPrefix(label, begins) {
					return name
				}
			}
		}
	}
	return ""
}
