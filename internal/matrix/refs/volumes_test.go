package refs

import (
	"testing"

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
