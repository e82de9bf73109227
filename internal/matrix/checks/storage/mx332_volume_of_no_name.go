package storage

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var volumeOfNoName = judge.Check{
	ID: "MX332", Name: "volume-of-no-name", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "A volume names a Secret or ConfigMap that can exist",
	Why:   "The API server does not validate the name. A kubelet asks for it and gets an error which is not \"not found\", so that optional does not help (https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names).",
	Fix:   "Name the object; its key goes to items or subPath.",
	Says:  "has volume %s of %s %q, which is no name (%s)", Then: "a kubelet starts none of its containers (FailedMount)",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for i, v := range facts.MountedVolumes(&p.Template.Spec) {
				report := func(field, kind, name string) {
					if wrong := content.IsPathSegmentName(name); len(wrong) > 0 {
						s.Report(p.Object, fmt.Sprintf("%s.volumes[%d].%s", p.Path(), i, field), v.Name, kind, name, strings.Join(wrong, ", ")).OneOfTemplate()
					}
				}
				if v.Secret != nil {
					report("secret.secretName", "Secret", v.Secret.SecretName)
				}
				if v.ConfigMap != nil {
					report("configMap.name", "ConfigMap", v.ConfigMap.Name)
				}
				if v.Projected == nil {
					continue
				}
				for j, source := range v.Projected.Sources {
					if source.Secret != nil {
						report(fmt.Sprintf("projected.sources[%d].secret.name", j), "Secret", source.Secret.Name)
					}
					if source.ConfigMap != nil {
						report(fmt.Sprintf("projected.sources[%d].configMap.name", j), "ConfigMap", source.ConfigMap.Name)
					}
				}
			}
		}
	},
}
