package workload

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// It waits for the cluster: the API server and controllers add labels to pods, and matchLabelKeys to selectors.
var spreadOfOthers = judge.Check{
	ID: "MX120", Name: "spread-of-other-pods", Needs: judge.Settled,
	Title: "A rule that spreads pods counts the pods that have it",
	Why: "The scheduler counts the pods that labelSelector takes. If the pod itself is none of them, the rule stays fulfilled wherever the others of its workload are " +
		"(https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field).",
	Fix:  "Give labelSelector the labels of the pod template.",
	Says: "spreads pods with %s over %s (topologySpreadConstraints), and its own are none of them", Then: "the scheduler does not count them, so that they may all be in one place",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			pods := s.LivePods(p.Object)
			if len(pods) == 0 {
				continue
			}
			for i, c := range p.Template.Spec.TopologySpreadConstraints {
				selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
				if c.LabelSelector != nil && err == nil && !selector.Matches(labels.Set(pods[0].Labels)) {
					s.Report(p.Object, fmt.Sprintf("%s.topologySpreadConstraints[%d].labelSelector", p.Path(), i), selector, c.TopologyKey).SetBy(c.TopologyKey)
				}
			}
		}
	},
}
