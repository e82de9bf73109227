package topologies

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// A claim of a class that allows no node is one that no pod can use, however the class binds.
func TestFind(t *testing.T) {
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: x}\nspec: {CLASS}\n---\n"
	class := func(more string) string {
		return "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: zonal" + more + "\n"
	}
	zone := func(values string) string {
		return "}\nvolumeBindingMode: Immediate\nallowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [" + values + "]}]}]"
	}
	named := strings.Replace(claim, "CLASS", "storageClassName: zonal", 1)
	set := "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db, namespace: x}\nspec: {volumeClaimTemplates: [{metadata: {name: disk}, spec: {storageClassName: zonal}}]}\n---\n"
	local := func(name, key, value string) string {
		return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + name + "}\nspec: {storageClassName: zonal, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: " + key + ", operator: In, values: [" + value + "]}]}]}}}\n---\n"
	}
	byHand := class("}\nprovisioner: kubernetes.io/no-provisioner")
	disk := local("disk", corev1.LabelHostname, "host-1")
	for name, c := range map[string]struct{ objects, want string }{
		"a disk of no node":          {named + disk + byHand, "is for nodes with kubernetes.io/hostname In [host-1] (spec.nodeAffinity), and no node of this cluster has that; claim data of PersistentVolumeClaim x/data gets no other volume"},
		"of a class that is none":    {set + strings.TrimSuffix(disk, "---\n"), "claim disk of StatefulSet x/db gets no other volume"},
		"by its name":                {strings.Replace(claim, "CLASS", "storageClassName: zonal, volumeName: disk", 1) + disk + class("}\nprovisioner: p"), "gets no other volume"},
		"another's":                  {strings.Replace(claim, "CLASS", "storageClassName: zonal, volumeName: another", 1) + disk + byHand, ""},
		"a disk of a node":           {named + local("disk", corev1.LabelTopologyZone, "b") + byHand, ""},
		"one of two disks":           {named + disk + local("second", corev1.LabelTopologyZone, "b") + byHand, ""},
		"a disk beside a driver's":   {named + disk + class("}\nprovisioner: p"), ""},
		"a disk that none claims":    {disk + byHand, ""},
		"by a driver's label":        {named + local("disk", "topology.ebs.csi.aws.com/zone", "c") + byHand, ""},
		"no node":                    {named + class(zone("c")), "claim data wants StorageClass zonal, which allows only nodes with topology.kubernetes.io/zone in [c] (allowedTopologies)"},
		"a StatefulSet's":            {set + class(zone("c, d")), "claim disk wants StorageClass zonal, which allows only nodes with topology.kubernetes.io/zone in [c, d]"},
		"the default class":          {strings.Replace(claim, "CLASS", "", 1) + class(", annotations: {storageclass.kubernetes.io/is-default-class: 'true'}"+zone("c")), "claim data wants"},
		"not the default class":      {strings.Replace(claim, "CLASS", "", 1) + class(zone("c")), ""},
		"no class":                   {strings.Replace(claim, "CLASS", "storageClassName: ''", 1) + class(zone("c")), ""},
		"a node":                     {named + class(zone("c, b")), ""},
		"no claim":                   {class(zone("c")), ""},
		"a label that a driver sets": {named + class(strings.Replace(zone("c"), "topology.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone", 1)), ""},
		"a label that a node has":    {named + class(strings.Replace(zone("c"), "topology.kubernetes.io/zone", "example.com/rack", 1)), "example.com/rack in [c]"},
		"one of two terms":           {named + class(strings.Replace(zone("c"), "allowedTopologies: [", "allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [a]}]}, ", 1)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{}
			for _, doc := range strings.Split(c.objects, "---\n") {
				o := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
					t.Fatal(err)
				}
				e.Objects = append(e.Objects, bundle.Object{Object: o})
			}
			nodes := []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: "a", "example.com/rack": "r1"}}}, {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: "b"}}}}
			var got []string
			for _, p := range Find(e, nodes) {
				got = append(got, p.Text)
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
