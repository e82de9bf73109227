package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func nodes(n int) []corev1.Node {
	var all []corev1.Node
	for i := range n {
		all = append(all, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%02d", i), Labels: map[string]string{"rack": fmt.Sprint(i % 2)}}})
	}
	return all
}

// The same random seed chooses the same nodes in the same step, in any order of the list. Another
// seed or another step chooses others.
func TestPick(t *testing.T) {
	any := func(*corev1.Node) bool { return true }
	pick := func(seed int64, step int, turned bool) []string {
		all := nodes(20)
		if turned {
			slices.Reverse(all)
		}
		chosen, err := newPicker(seed, step).among(all, NodeChoice{Labels: map[string]string{"rack": "1"}, Count: 4}, any)
		if err != nil {
			t.Fatal(err)
		}
		return names(chosen)
	}
	first := pick(7, 0, false)
	if !slices.Equal(first, pick(7, 0, true)) {
		t.Errorf("the same seed and step: got %q and %q", first, pick(7, 0, true))
	}
	if slices.Equal(first, pick(8, 0, false)) || slices.Equal(first, pick(7, 1, false)) {
		t.Errorf("another seed, and another step, chose the same: %q", first)
	}
	if len(first) != 4 || !slices.IsSorted(first) {
		t.Errorf("got %q", first)
	}
	for _, c := range []struct {
		choice NodeChoice
		usable func(*corev1.Node) bool
		want   string
	}{
		{NodeChoice{Labels: map[string]string{"rack": "9"}}, any, "no node has the labels rack=9; the nodes are: n00, n01, n02, n03, n04, n05, and 14 more"},
		{NodeChoice{Names: []string{"n01", "n77"}}, any, "there is no node n77"},
		{NodeChoice{Count: 21}, any, "want 21 nodes, and 20 can be chosen"},
		{NodeChoice{Count: 1}, func(*corev1.Node) bool { return false }, "nothing is left to do"},
	} {
		if _, err := newPicker(1, 0).among(nodes(20), c.choice, c.usable); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.choice, err, c.want)
		}
	}
	if all, err := newPicker(1, 0).among(nodes(3), NodeChoice{Labels: map[string]string{"rack": "0"}}, any); err != nil || len(all) != 2 {
		t.Errorf("without a count: got %d, %v; want all that have the labels", len(all), err)
	}
}
