package delivery

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var tooLarge = judge.Check{
	ID: "MX526", Name: "data-too-large", Needs: judge.Rendered, Kinds: judge.KindsOf("", "ConfigMap", "Secret"), Gives: reason.DeployFailed,
	Title: "The data of a ConfigMap or Secret is at most 1 MiB",
	Why:   "The API server refuses more (https://kubernetes.io/docs/concepts/configuration/configmap/#motivation); etcd's own limit is near it. Of a Secret the decoded data counts.",
	Fix:   "Split it, or mount it from an image or a volume.",
	Says:  "has %d bytes of data", Then: "the API server refuses more than 1048576",
	Run: func(s *judge.Scope) {
		for _, o := range s.Rendered(judge.KindsOf("", "ConfigMap", "Secret")...) {
			size := 0
			if m := facts.As[corev1.ConfigMap](s.Index, o); o.Object.GetKind() == "ConfigMap" && m != nil {
				for _, v := range m.Data {
					size += len(v)
				}
				for _, v := range m.BinaryData {
					size += len(v)
				}
			} else if m := facts.As[corev1.Secret](s.Index, o); m != nil {
				for k, v := range m.Data {
					if _, both := m.StringData[k]; !both {
						size += len(v)
					}
				}
				for _, v := range m.StringData {
					size += len(v)
				}
			}
			if size > corev1.MaxSecretSize {
				s.Report(o, "data", size)
			}
		}
	},
}
