package daytwo

import (
	"slices"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// A Deployment that rolls over a disk is warned of, in a result that is green: the new pod may wait for
// ever where nodes attach disks. What ends first, does not roll, or mounts files is not.
func TestRolls(t *testing.T) {
	web := func(image, strategy string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web}, spec: {` + strategy + `template: {spec: {containers: [{name: main, image: "` + image + `"}], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}}}}`
	}
	claim := func(spec string) string {
		return `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {namespace: ns, name: data}, spec: {` + spec + `}}`
	}
	const class = `{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: shared}, provisioner: efs.csi.aws.com}`
	once := claim("accessModes: [ReadWriteOnce]")
	for name, tc := range map[string]struct {
		before, now []string
		want        bool
	}{
		"rolls":                {[]string{web("a", ""), once}, []string{web("b", ""), once}, true},
		"does not change":      {[]string{web("a", ""), once}, []string{web("a", ""), once}, false},
		"ends first":           {[]string{web("a", ""), once}, []string{web("b", "strategy: {type: Recreate}, "), once}, false},
		"adds none":            {[]string{web("a", ""), once}, []string{web("b", "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}, "), once}, false},
		"no replica":           {[]string{web("a", ""), once}, []string{web("b", "replicas: 0, "), once}, false},
		"a claim for many":     {[]string{web("a", ""), claim("accessModes: [ReadWriteMany]")}, []string{web("b", ""), claim("accessModes: [ReadWriteMany]")}, false},
		"a class of files":     {[]string{web("a", ""), once}, []string{web("b", ""), claim("accessModes: [ReadWriteOnce], storageClassName: shared"), class}, false},
		"the claim is new":     {[]string{web("a", "")}, []string{web("b", ""), once}, false},
		"another class":        {[]string{web("a", ""), once}, []string{web("b", ""), claim("accessModes: [ReadWriteOnce], storageClassName: gp3")}, true},
		"the scheduler's case": {[]string{web("a", ""), once}, []string{web("b", ""), claim("accessModes: [ReadWriteOncePod]")}, false},
	} {
		var want []string
		if tc.want {
			want = []string{"Deployment ns/web starts its new pod before the old one ends, and both use PersistentVolumeClaim data, which is ReadWriteOnce: on another node the new one waits for the disk for ever (Multi-Attach error); edit: strategy: {type: Recreate} (component b, b/templates/x.yaml)"}
		}
		if got := rollsOverDisks(attachedBundleOf(t, tc.before), attachedBundleOf(t, tc.now)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func attachedBundleOf(t *testing.T, texts []string) *bundle.Bundle {
	t.Helper()
	b := &bundle.Bundle{}
	for _, text := range texts {
		b.Expectation.Objects = append(b.Expectation.Objects, bundle.Object{Component: "b", Template: "b/templates/x.yaml", Object: testkit.Parsed(t, text)})
	}
	return b
}
