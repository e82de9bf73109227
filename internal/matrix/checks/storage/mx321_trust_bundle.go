package storage

import (
	"fmt"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var trustBundle = judge.Check{
	ID: "MX321", Name: "trust-bundle-missing", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.WorkloadFailed,
	Title: "The ClusterTrustBundle of a projected volume exists",
	Why:   "A kubelet waits for a ClusterTrustBundle that is not optional (https://kubernetes.io/docs/concepts/storage/projected-volumes/#clustertrustbundle).",
	Fix:   "Add it, or make the source optional.",
	Says:  "mounts %s, which does not exist, and nothing in the recipe makes it", Then: volumeWaits,
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for i, v := range facts.MountedVolumes(&p.Template.Spec) {
				if v.Projected == nil {
					continue
				}
				for j, source := range v.Projected.Sources {
					b := source.ClusterTrustBundle
					if what := bundleMissing(s, p.Object, b); what != "" {
						f := s.Report(p.Object, fmt.Sprintf("%s.volumes[%d].projected.sources[%d].clusterTrustBundle", p.Path(), i, j), what).OneCause(what)
						if b.Name != nil {
							f.SetBy(*b.Name)
						}
					}
				}
			}
		}
	},
}

// bundleMissing is what a source names and does not exist; empty if it does, or is optional.
func bundleMissing(s *judge.Scope, o *bundle.Object, b *corev1.ClusterTrustBundleProjection) string {
	switch {
	case b == nil, b.Optional != nil && *b.Optional:
		return ""
	case b.Name != nil:
		if s.Lacks(result.Ref{Group: certificatesv1beta1.GroupName, Kind: "ClusterTrustBundle", Name: *b.Name}, o.Ref()) {
			return "ClusterTrustBundle " + *b.Name
		}
		return ""
	case b.SignerName == nil, s.Live == nil: // which a controller of the cluster may be
		return ""
	}
	for _, have := range s.Live.TrustBundles {
		if have.Spec.SignerName == *b.SignerName {
			return ""
		}
	}
	return "a ClusterTrustBundle of signer " + *b.SignerName
}
