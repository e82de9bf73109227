package refs

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Volumes that a driver mounts.
func TestVolumes(t *testing.T) {
	const why = reason.WorkloadFailed
	csi := func(driver string) string { return pod(`{volumes: [{name: a, csi: {driver: ` + driver + `}}]}`) }
	claim := func(spec string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: copy, namespace: x}\nspec: {storageClassName: have, " + spec + "}\n"
	}
	snapshot := "\n---\napiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: before, namespace: x}\nspec: {source: {persistentVolumeClaimName: have}}\n"
	runAll(t, map[string]refCase{
		"inline CSI":               {objects: csi("nope.example.com"), reason: why, fault: "mounts an inline volume of CSI driver nope.example.com, which nothing in the recipe installs"},
		"inline CSI there":         {objects: csi("inline.example.com")},
		"inline CSI not allowed":   {objects: csi("disks.example.com"), reason: why, fault: "does not allow them (spec.volumeLifecycleModes without Ephemeral)"},
		"inline CSI of a provider": {objects: csi("file.csi.azure.com"), note: "CSI driver file.csi.azure.com is a part of AKS; without it Deployment x/web does not start"},
		"migrated":                 {objects: pod(`{volumes: [{name: a, cinder: {volumeID: v}}]}`), reason: why, fault: "mounts a volume of type cinder, which needs CSI driver cinder.csi.openstack.org, which nothing in the recipe installs"},
		"migrated, a provider's":   {objects: pod(`{volumes: [{name: a, awsElasticBlockStore: {volumeID: v}}]}`), note: "CSI driver ebs.csi.aws.com is a part of EKS; without it Deployment x/web does not start"},
		"flexVolume":               {objects: pod(`{volumes: [{name: a, flexVolume: {driver: example.com/old}}]}`), reason: why, fault: "mounts a flexVolume of driver example.com/old"},
		"trust bundle":             {objects: pod(`{volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {name: nope, path: ca}}]}}]}`), reason: why, fault: "mounts ClusterTrustBundle nope, which does not exist"},
		"trust bundle of a signer": {objects: pod(`{volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {signerName: example.com/s, path: ca}}]}}]}`), reason: why, fault: "mounts a ClusterTrustBundle of signer example.com/s"},
		"trust bundle, optional":   {objects: pod(`{volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {name: nope, path: ca, optional: true}}]}}]}`)},
		"clone":                    {objects: claim("dataSource: {kind: PersistentVolumeClaim, name: nope}"), reason: reason.SchedulingFailed, fault: "is filled from PersistentVolumeClaim x/nope, which does not exist"},
		"clone elsewhere":          {objects: claim("dataSourceRef: {kind: PersistentVolumeClaim, name: have, namespace: z}"), reason: reason.SchedulingFailed, fault: "is filled from PersistentVolumeClaim z/have"},
		"clone there":              {objects: claim("dataSource: {kind: PersistentVolumeClaim, name: have}")},
		"snapshot":                 {objects: claim("dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: nope}"), reason: reason.SchedulingFailed, fault: "is filled from VolumeSnapshot x/nope"},
		"snapshot there":           {objects: claim("dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: before}") + snapshot},
	})
}

// Paths that a kubelet expands are expanded with what the bundle and the cluster have.
func TestSubPathExpr(t *testing.T) {
	const why = reason.WorkloadFailed
	at := func(expr, env string) string {
		return pod("{containers: [{name: m, " + env + ", volumeMounts: [{name: v, mountPath: /v, subPathExpr: " + expr + "}]}], volumes: [{name: v, emptyDir: {}}]}")
	}
	configMap := func(data string) string {
		return "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x}\ndata: {" + data + "}\n"
	}
	const from = "envFrom: [{configMapRef: {name: c}}]"
	const job = "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: x}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: i, args: [--fill=c]}]}}}\n"
	key := strings.Replace(at("$(F)", "env: [{name: F, value: %}]"), "emptyDir: {}", "configMap: {name: c}", 1)
	for _, c := range []struct{ objects, want string }{ // before anything is deployed
		{at("$(A)", from) + configMap("A: a"), ""},
		{at("$(NOPE)", from) + configMap("A: a"), "Deployment x/web (x): container m mounts /v at $(NOPE) of volume v (subPathExpr), and has no variable NOPE"},
		{at("$(NOPE)", from), ""},
		{at("$(NOPE)", from) + configMap("A: a") + job, ""},
		{at("$(A)", from) + configMap("A: /a"), "which is the absolute path /a"},
		{at("$(A)/x", from) + configMap("A: ../a"), "which is ../a/x, and a path of a volume may not contain '..'"},
		{at("$(A)", "envFrom: [{secretRef: {name: s}}]") + "\n" + secret("s", "A", "Li4="), "which is .., and"},
		{at("$(A)", "env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['app']\"}}}]"), ""},
		{at("$(A)", "env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['nope']\"}}}]"), "its variable A is empty"},
		{at("$(WEB_SERVICE_HOST)", "env: []"), ""}, // a cluster may have it
		{strings.Replace(key, "%", "A", 1) + configMap("A: a"), ""},
		{strings.Replace(key, "%", "B", 1) + configMap("A: a"), "Deployment x/web (x): mounts key B of ConfigMap x/c, which has no such key (it has A)"},
	} {
		var got []string
		for _, f := range Deadlocks(expected(t, c.objects), nil, lane.Order{InOrder: true}).Faults {
			got = append(got, f.Finding.Cause)
		}
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: got %q, want %q", c.objects, got, c.want)
		}
	}
	runAll(t, map[string]refCase{
		"of the cluster's Secret": {objects: at("$(user)", "envFrom: [{secretRef: {name: have}}]")},
		"not in the cluster's":    {objects: at("$(pass)", "envFrom: [{secretRef: {name: have}}]"), reason: why, fault: "and has no variable pass"},
		"a Service's":             {objects: at("$(HAVE_SERVICE_HOST)", "env: []")},
		"no Service's":            {objects: at("$(NOPE_SERVICE_HOST)", "env: []"), reason: why, fault: "and has no variable NOPE_SERVICE_HOST"},
	})
}
