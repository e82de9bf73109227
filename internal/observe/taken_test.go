package observe

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A pod that has the name of a StatefulSet's own is named: the controller writes no event of it.
func TestTakenName(t *testing.T) {
	labelled := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "s"} }
	going := func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = &metav1.Time{}, []string{"example.com/x"} }
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"a Pod of its own":     {testkit.Pod("s-0", "", "", "s1"), "pod ns/s-0 has the name of its pod 0 and is none of its own, so that it never makes that one"},
		"the second":           {testkit.Pod("s-1", "", "", "s1"), "pod ns/s-1 has the name of its pod 1"},
		"the third of two":     {testkit.Pod("s-2", "", "", "s1"), ""},
		"another name":         {testkit.Pod("s-00", "", "", "s1"), ""},
		"one that it adopts":   {testkit.Pod("s-0", "", "", "s1", labelled), ""},
		"one that goes":        {testkit.Pod("s-0", "", "", "s1", going), ""},
		"another controller's": {testkit.Pod("s-0", "DaemonSet", "d", "s1"), "pod ns/s-0 of DaemonSet d has the name of its pod 0, so that it never makes that one"},
		"of an earlier set":    {testkit.Pod("s-0", "StatefulSet", "s", "s1", func(p *corev1.Pod) { p.OwnerReferences[0].UID = "old" }), ""},
	} {
		set := testkit.StatefulSet("s")
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "s"}}
		r := CheckWorkloads([]bundle.Workload{testkit.Expected("StatefulSet", "s", 2, testkit.Sys)}, viewOf(t, append(testkit.TestNodes(), set, c.pod)...))
		i := slices.IndexFunc(r.Wrong, func(w WrongWorkload) bool { return strings.HasPrefix(w.Text, c.want) })
		if c.want == "" && len(r.Wrong) > 0 || c.want != "" && i < 0 {
			t.Errorf("%s: got %+v, want %q", name, r.Wrong, c.want)
		}
	}
}

func TestFilledIn(t *testing.T) {
	p := &corev1.Pod{}
	p.Annotations = map[string]string{"kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory request for container main; memory request for init container first; cpu, ephemeral-storage limit for container main"}
	for name, want := range map[corev1.ResourceName][]string{"cpu": {"container main"}, "memory": {"container main", "init container first"}, "ephemeral-storage": nil} {
		if got := FilledIn(p, name); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got := FilledIn(&corev1.Pod{}, "cpu"); got != nil {
		t.Errorf("without a LimitRange: got %q", got)
	}
}
