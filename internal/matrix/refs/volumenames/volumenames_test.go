package volumenames

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
)

const (
	disk  = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], storageClassName: fast, SPEC}\n"
	claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {namespace: b, name: NAME}\nspec: {volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, SPEC}\n"
	set   = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {namespace: b, name: set}\nspec: {replicas: 2, volumeClaimTemplates: [{metadata: {name: data}, spec: {volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}\n"
)

// TestFind: a claim gets the volume that it names, and only one claim does.
func TestFind(t *testing.T) {
	with := func(text, spec string) string { return strings.Replace(text, "SPEC", spec, 1) }
	own := func(name, spec string) string { return strings.Replace(with(claim, spec), "NAME", name, 1) }
	for name, c := range map[string]struct {
		objects []string
		want    string
	}{
		"bound":            {[]string{with(disk, ""), own("data", "storageClassName: fast")}, ""},
		"the default":      {[]string{with(disk, ""), own("data", "")}, ""},
		"no volume":        {[]string{own("data", "")}, "PersistentVolumeClaim b/data disk which does not exist"},
		"two claims":       {[]string{with(disk, ""), own("data", ""), own("other", "")}, "PersistentVolumeClaim b/other disk and so does PersistentVolumeClaim b/data"},
		"a set of two":     {[]string{with(disk, ""), set}, "StatefulSet b/set disk and so does each of its 2 claims"},
		"a set of one":     {[]string{with(disk, ""), strings.Replace(set, "replicas: 2", "replicas: 1", 1)}, ""},
		"for another":      {[]string{with(disk, "claimRef: {namespace: x, name: other}"), own("data", "")}, "PersistentVolumeClaim b/data disk which is for PersistentVolumeClaim x/other"},
		"for this one":     {[]string{with(disk, "claimRef: {namespace: b, name: data}"), own("data", "storageClassName: other")}, ""},
		"for one of old":   {[]string{with(disk, "claimRef: {namespace: b, name: data, uid: ab-12}"), own("data", "")}, "which is for a claim with UID ab-12"},
		"another class":    {[]string{with(disk, ""), own("data", "storageClassName: slow")}, `whose storageClassName is "fast", and the claim's is "slow"`},
		"no class":         {[]string{with(disk, ""), own("data", `storageClassName: ""`)}, `whose storageClassName is "fast", and the claim's is ""`},
		"a block device":   {[]string{with(disk, "volumeMode: Block"), own("data", "")}, "another volumeMode"},
		"other modes":      {[]string{with(disk, ""), strings.Replace(own("data", ""), "[ReadWriteOnce]", "[ReadWriteMany]", 1)}, "whose accessModes are [ReadWriteOnce], and the claim's [ReadWriteMany]"},
		"too small":        {[]string{with(disk, ""), strings.Replace(own("data", ""), "1Gi", "3Gi", 1)}, "which has 2Gi of the 3Gi"},
		"a name of no one": {[]string{strings.Replace(own("data", ""), "volumeName: disk, ", "", 1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{}
			for _, text := range c.objects {
				o := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
					t.Fatal(err)
				}
				e.Objects = append(e.Objects, bundle.Object{Component: "b", Object: o})
			}
			got := ""
			for _, p := range Find(e, nil) {
				got += p.From.String() + " " + p.Volume + " " + p.Text
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestFind_Kept: a volume that the cluster has from before is none that is missing.
func TestFind_Kept(t *testing.T) {
	e := &bundle.Expectation{}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer("NAME", "data", "SPEC", "storageClassName: fast").Replace(claim)), &o.Object); err != nil {
		t.Fatal(err)
	}
	e.Objects = []bundle.Object{{Component: "b", Object: o}}
	for name, c := range map[string]struct{ spec, status, want string }{
		"free":             {"", "Available", ""},
		"bound to it":      {"claimRef: {namespace: b, name: data, uid: ab-12}", "Bound", ""},
		"bound to another": {"claimRef: {namespace: b, name: other, uid: ab-12}", "Bound", "which is for PersistentVolumeClaim b/other"},
		"released":         {"claimRef: {namespace: b, name: data, uid: ab-12}", "Released", "was for a claim that has been deleted (its status is Released)"},
		"too small":        {"capacity: {storage: 1Mi}", "Available", "which has 1Mi of the 1Gi"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(disk, "SPEC", c.spec, 1)
			if strings.HasPrefix(c.spec, "capacity") {
				text = strings.NewReplacer("SPEC", "", "2Gi", "1Mi").Replace(disk)
			}
			v := &corev1.PersistentVolume{}
			if err := yaml.Unmarshal([]byte(text+"status: {phase: "+c.status+"}\n"), v); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range Find(e, map[string]*corev1.PersistentVolume{"disk": v}) {
				got += p.Text
				if p.Missing {
					t.Error("it is said to be missing")
				}
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := Find(e, map[string]*corev1.PersistentVolume{"other": {}}); len(got) != 1 || !got[0].Missing {
		t.Errorf("a cluster without it: got %+v", got)
	}
}
