package chaos

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A step that stops too many nodes says why Kubernetes does nothing about them.
func TestWithheld(t *testing.T) {
	zone := func(name string, all, down int) []corev1.Node {
		var nodes []corev1.Node
		for i := range all {
			n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(name, i), Labels: map[string]string{corev1.LabelTopologyZone: name}}}
			status := corev1.ConditionTrue
			if i < down {
				status = corev1.ConditionFalse
			}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
			nodes = append(nodes, n)
		}
		return nodes
	}
	for name, c := range map[string]struct {
		nodes []corev1.Node
		want  string
	}{
		"none":                      {nil, ""},
		"one":                       {zone("a", 6, 1), ""},
		"two of three":              {zone("a", 3, 2), ""},
		"half":                      {zone("a", 6, 3), ""},
		"most of a zone":            {zone("a", 6, 4), `4 of 6 nodes of zone "a" are not Ready (from 3 nodes and 55% on): stop fewer`},
		"most of one of two":        {append(zone("a", 6, 1), zone("b", 4, 3)...), `3 of 4 nodes of zone "b"`},
		"a whole one of two":        {append(zone("a", 6, 0), zone("b", 4, 4)...), ""},
		"most of a large zone":      {zone("a", 51, 40), ""},
		"all of the cluster":        {append(zone("a", 2, 2), zone("b", 1, 1)...), "no node of the cluster is Ready: let one be"},
		"all but one of three zone": {zone("a", 5, 4), "4 of 5 nodes"},
	} {
		if got := whyWithheld(c.nodes); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
