package workload

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var neverPulled = judge.Check{
	ID: "MX133", Name: "image-never-pulled", Needs: judge.Rendered,
	Title: "A kubelet may pull the image of a container",
	Why:   "With imagePullPolicy: Never a kubelet starts a container only if its node has the image already (https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy). That is right only where it is part of the node's own image.",
	Fix:   "Use IfNotPresent.",
	Says:  "container %s has imagePullPolicy: Never", Then: "a kubelet starts it only on nodes that have its image already (ErrImageNeverPull)",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				if c.ImagePullPolicy == corev1.PullNever {
					s.Report(p.Object, c.Path+".imagePullPolicy", c.Name).SetBy("imagePullPolicy")
				}
			}
		}
	},
}
