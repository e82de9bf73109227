package why

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// zoned are the test nodes in two zones: s0 and a0 in a, s1 and a1 in b.
func zoned() []corev1.Node {
	nodes := testkit.NodeList(testkit.TestNodes())
	for i := range nodes {
		nodes[i].Labels[corev1.LabelTopologyZone] = []string{"a", "b"}[i%2]
		nodes[i].Labels[corev1.LabelHostname] = nodes[i].Name
	}
	return nodes
}

// wanting is a pod without a node that tolerates every taint.
func wanting(change ...func(*corev1.Pod)) *corev1.Pod {
	p := testkit.Pod("p", "", "", "", testkit.Refused("0/4 nodes are available: 4 something."))
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	p.Spec.Containers = []corev1.Container{{Name: "c"}}
	for _, f := range change {
		f(p)
	}
	return p
}

func requests(name, q string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(q)}}}}
	}
}

func selecting(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			p.Spec.NodeSelector[pairs[i]] = pairs[i+1]
		}
	}
}

func tolerating(ts ...corev1.Toleration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Tolerations = ts }
}

func preferring(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
}

func in(key string, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
}

func labelled(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{"app": app} }
}

func podTerm(app, key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
}

func near1(app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podTerm(app, key)}}}
	}
}

func apart(app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podTerm(app, key)}}}
	}
}

func spread(app, key string, minDomains int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: podTerm(app, key).LabelSelector}
		if minDomains > 0 {
			c.MinDomains = &minDomains
		}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{c}
	}
}

func port(p *corev1.Pod) {
	p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: 9100, ContainerPort: 9100}}}}
}

func claiming(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	}
}

func testVolumes() observe.Volumes {
	claim := func(name, class, volume string) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{ObjectMeta: testkit.ObjectMeta("PersistentVolumeClaim", name), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, VolumeName: volume}}
	}
	zoneB := in(corev1.LabelTopologyZone, "b")
	first, now := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	return observe.Volumes{
		Read:   true,
		Claims: []corev1.PersistentVolumeClaim{claim("unbound", "now", ""), claim("waits", "later", ""), claim("in-b", "now", "pv-b"), claim("dangling", "now", "pv-x"), {ObjectMeta: testkit.ObjectMeta("PersistentVolumeClaim", "classless")}},
		Volumes: []corev1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "pv-b"}, Spec: corev1.PersistentVolumeSpec{
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{zoneB}}},
		}}},
		Classes: []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "now"}, VolumeBindingMode: &now}, {ObjectMeta: metav1.ObjectMeta{Name: "later"}, VolumeBindingMode: &first}},
	}
}

// explainCase is a pod, and what is said about it.
type explainCase struct {
	pod    *corev1.Pod
	others []corev1.Pod
	change func([]corev1.Node)
	groups []string
	notes  []string
	edits  []string
}

// TestExplain has every kind of refusal, by group of nodes, and the single edits that fix it.
func TestExplain(t *testing.T) {
	for _, tests := range []map[string]explainCase{selectorCases(), roomCases(), volumeCases(), neighbourCases(), specialCases()} {
		for name, tc := range tests {
			t.Run(name, tc.check)
		}
	}
}

func (tc explainCase) check(t *testing.T) {
	nodes := zoned()
	if tc.change != nil {
		tc.change(nodes)
	}
	e := explainPod(tc.pod, nil, &observe.View{Nodes: nodes, Pods: append(tc.others, *tc.pod), Volumes: testVolumes()})
	var groups []string
	for i := range e.Groups {
		groups = append(groups, e.Groups[i].String())
	}
	testkit.WantEach(t, "groups", groups, tc.groups)
	testkit.WantEach(t, "notes", e.Notes, tc.notes)
	if !slices.Equal(e.Edits, tc.edits) {
		t.Errorf("edits: got %q, want %q", e.Edits, tc.edits)
	}
}

func full(nodes []corev1.Node, name corev1.ResourceName, q string) {
	for i := range nodes {
		nodes[i].Status.Allocatable[name] = resource.MustParse(q)
	}
}

// explainPod explains one pod.
func explainPod(pod *corev1.Pod, w *bundle.Workload, view *observe.View) Explanation {
	return explainPods([]observe.PodFacts{observe.FactsOf(pod)}, w, view)
}
