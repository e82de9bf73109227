package simulate

import (
	"fmt"

	"sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"
)

// KeepJobsRunning is KWOK's own stage that completes the pods of Jobs as soon as they run, except
// for pods in a namespace. Those keep their nodes until they are removed, which shows whether all
// of them fit at the same time.
func KeepJobsRunning(namespace string) ([]byte, error) {
	var s v1alpha1.Stage
	if err := yaml.Unmarshal([]byte(fast.DefaultPodComplete), &s); err != nil {
		return nil, fmt.Errorf("read KWOK's stage for the pods of Jobs: %w", err)
	}
	if s.Name != "pod-complete" || s.Spec.Selector == nil {
		return nil, fmt.Errorf("KWOK's stage for the pods of Jobs is %q: it would not take the place of pod-complete", s.Name)
	}
	s.Spec.Selector.MatchExpressions = append(s.Spec.Selector.MatchExpressions, v1alpha1.MatchExpression{
		JQ: &v1alpha1.SelectorJQ{Key: ".metadata.namespace", Operator: v1alpha1.SelectorOpNotIn, Values: []string{namespace}},
	})
	return yaml.Marshal(s)
}
