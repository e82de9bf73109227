package everyday

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/documents"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// A kubelet mounts file systems and hands over block devices, and never the other way round.
func TestFind_VolumeModes(t *testing.T) {
	mounts := corev1.Container{Name: "main", VolumeMounts: []corev1.VolumeMount{{Name: "d"}}}
	raw := corev1.Container{Name: "main", VolumeDevices: []corev1.VolumeDevice{{Name: "d"}}}
	for name, c := range map[string]struct {
		mode, want string
		container  corev1.Container
	}{
		"a device that is mounted":        {"volumeMode: Block, ", "container main has volume d in volumeMounts, and the volumeMode of claim d is Block", mounts},
		"a device":                        {"volumeMode: Block, ", "", raw},
		"a file system as a device":       {"volumeMode: Filesystem, ", "container main has volume d in volumeDevices, and the volumeMode of claim d is Filesystem", raw},
		"a file system, without the mode": {"", "container main has volume d in volumeDevices", raw},
		"a file system":                   {"", "", mounts},
		"neither":                         {"volumeMode: Block, ", "", corev1.Container{Name: "main"}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := "spec: {" + c.mode + "accessModes: [ReadWriteOnce]}"
			for kind, text := range map[string]string{
				"Deployment":  "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: d, namespace: x}\n" + spec + "\n",
				"StatefulSet": "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: w, namespace: x}\nspec: {volumeClaimTemplates: [{metadata: {name: d}, " + spec + "}]}\n",
			} {
				objects, err := documents.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				w := bundle.Workload{Kind: kind, Namespace: "x", Name: "w", PodSpec: corev1.PodSpec{Containers: []corev1.Container{c.container}}}
				if kind == "Deployment" {
					w.PodSpec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"}}}}
				}
				check(t, Find(&bundle.Expectation{Objects: []bundle.Object{{Object: objects[0]}}, Workloads: []bundle.Workload{w}}, cluster()), c.want)
			}
		})
	}
}

// No provisioner makes a volume for a claim with a selector; the simulated one does.
func TestFind_Selectors(t *testing.T) {
	volume := func(claim, by string) map[string]*corev1.PersistentVolume {
		return map[string]*corev1.PersistentVolume{"v": {
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": by}},
			Spec:       corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "x", Name: claim}},
		}}
	}
	const want = "for a volume with tier=gold (spec.selector), and no PersistentVolume of the recipe fits it"
	claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: d, namespace: x}\nspec: {selector: {matchLabels: {tier: gold}}}\n"
	set := "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s, namespace: x}\nspec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {selector: {matchLabels: {tier: gold}}}}]}\n"
	for name, c := range map[string]struct {
		object, want string
		volumes      map[string]*corev1.PersistentVolume
	}{
		"provisioned":                {claim, want, volume("d", simulate.Provisioner)},
		"bound to one of the recipe": {claim, "", volume("d", "")},
		"of another claim":           {claim, "", volume("other", simulate.Provisioner)},
		"a StatefulSet's":            {set, want, volume("d-s-2", simulate.Provisioner)},
		"without a selector":         {"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: d, namespace: x}\nspec: {}\n", "", volume("d", simulate.Provisioner)},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := documents.Parse(c.object)
			if err != nil {
				t.Fatal(err)
			}
			have := cluster()
			have.Volumes = c.volumes
			check(t, Find(&bundle.Expectation{Objects: []bundle.Object{{Object: objects[0]}}}, have), c.want)
		})
	}
}
