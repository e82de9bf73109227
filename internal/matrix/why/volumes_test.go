package why

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/observe"
)

// Of a class that is only a name, each volume has its own reason (F141).
func TestUnfit(t *testing.T) {
	class := "manual"
	size := func(text string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "c"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: size("5Gi")}}}
	of := func(text string, ref *corev1.ObjectReference, mode corev1.PersistentVolumeAccessMode) corev1.PersistentVolume {
		return corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{StorageClassName: class, Capacity: size(text), ClaimRef: ref, AccessModes: []corev1.PersistentVolumeAccessMode{mode}}}
	}
	for want, volumes := range map[string][]corev1.PersistentVolume{
		"":                                      {of("1Gi", nil, corev1.ReadWriteOnce), of("5Gi", &corev1.ObjectReference{Namespace: "x", Name: "c"}, corev1.ReadWriteOnce)},
		"it asks for 5Gi, and volume v has 1Gi": {of("1Gi", nil, corev1.ReadWriteOnce), {}},
		"volume v is for claim y/c":             {of("9Gi", &corev1.ObjectReference{Namespace: "y", Name: "c"}, corev1.ReadWriteOnce)},
		"it wants [ReadWriteOnce], and volume v has [ReadOnlyMany]": {of("9Gi", nil, corev1.ReadOnlyMany)},
	} {
		if got := unfit(volumes, claim); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A claim that one pod has, and no other may have, names that pod (F141).
func TestHolder(t *testing.T) {
	pod := func(name, node string) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
		claiming("c")(&p)
		return p
	}
	mine := pod("mine", "")
	for mode, want := range map[corev1.PersistentVolumeAccessMode]string{corev1.ReadWriteOncePod: "x/has", corev1.ReadWriteOnce: ""} {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "c"}, Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{mode}}}
		l := &check{pod: &mine, view: &observe.View{Pods: []corev1.Pod{mine, pod("waits", ""), pod("has", "n")}}}
		if got := l.holder(c); got != want {
			t.Errorf("%s: got %q, want %q", mode, got, want)
		}
	}
}

// A claim that is bound once its pod is placed rules out nodes for which its class makes no volume, and has none.
func TestLate(t *testing.T) {
	name, late := "c", storagev1.VolumeBindingWaitForFirstConsumer
	claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: "a"}}}
	zone := func(zone string) []corev1.TopologySelectorTerm {
		return []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{zone}}}}}
	}
	volume := func(zone string) corev1.PersistentVolume {
		return corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable}, Spec: corev1.PersistentVolumeSpec{StorageClassName: name, AccessModes: claim.Spec.AccessModes, NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}},
		}}}}
	}
	const nothing = "kubernetes.io/no-provisioner"
	for what, c := range map[string]struct {
		provisioner string
		topologies  []corev1.TopologySelectorTerm
		volumes     []corev1.PersistentVolume
		want        string
	}{
		"anywhere": {"x", nil, nil, ""}, "here": {"x", append(zone("b"), zone("a")...), nil, ""},
		"elsewhere":                {"x", zone("b"), nil, `its storage class "c" makes no volumes for this node (allowedTopologies)`},
		"elsewhere, and one here":  {"x", zone("b"), []corev1.PersistentVolume{volume("a")}, ""},
		"here, beside no label":    {"x", []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"a", "../b"}}}}}, nil, `its storage class "c" makes no volumes for this node (allowedTopologies)`},
		"nothing, and none":        {nothing, nil, nil, `its storage class "c" provisions nothing, and has no volume for this node`},
		"nothing, and one there":   {nothing, nil, []corev1.PersistentVolume{volume("b")}, `its storage class "c" provisions nothing, and has no volume for this node`},
		"nothing, and one is here": {nothing, nil, []corev1.PersistentVolume{volume("a")}, ""},
	} {
		s := &observe.Volumes{Volumes: c.volumes, Classes: []storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: c.provisioner, AllowedTopologies: c.topologies, VolumeBindingMode: &late}}}
		if got := unprovided(s, claim, node); got != c.want {
			t.Errorf("%s: got %q, want %q", what, got, c.want)
		}
	}
}

// TestOutOfZone: what the scheduler's filter VolumeZone does.
func TestOutOfZone(t *testing.T) {
	for what, c := range map[string]struct {
		volume, node map[string]string
		want         string
	}{
		"no label":              {nil, map[string]string{corev1.LabelTopologyZone: "a"}, ""},
		"another":               {map[string]string{corev1.LabelTopologyZone: "b"}, map[string]string{corev1.LabelTopologyZone: "a"}, corev1.LabelTopologyZone},
		"of several":            {map[string]string{corev1.LabelTopologyZone: "b__a"}, map[string]string{corev1.LabelTopologyZone: "a"}, ""},
		"an older name":         {map[string]string{corev1.LabelFailureDomainBetaZone: "a"}, map[string]string{corev1.LabelTopologyZone: "a"}, ""},
		"an older name's other": {map[string]string{corev1.LabelFailureDomainBetaZone: "b"}, map[string]string{corev1.LabelTopologyZone: "a"}, corev1.LabelFailureDomainBetaZone},
		"a node without":        {map[string]string{corev1.LabelTopologyZone: "b"}, nil, ""},
		"a node without it":     {map[string]string{corev1.LabelTopologyZone: "b"}, map[string]string{corev1.LabelTopologyRegion: "r"}, corev1.LabelTopologyZone},
	} {
		got := outOfZone(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Labels: c.volume}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: c.node}})
		if got != c.want {
			t.Errorf("%s: got %q, want %q", what, got, c.want)
		}
	}
}
