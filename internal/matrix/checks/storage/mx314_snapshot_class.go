package storage

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var snapshotClass = judge.Check{
	ID: "MX314", Name: "snapshot-of-no-class", Needs: judge.Rendered, Kinds: judge.KindsOf("snapshot.storage.k8s.io", "VolumeSnapshot"),
	Title: "The class of a VolumeSnapshot exists",
	Why: "A snapshot is taken by the driver of its VolumeSnapshotClass (https://kubernetes.io/docs/concepts/storage/volume-snapshots/#volume-snapshots). " +
		"The snapshot controller would write into the status that the class is missing; nothing writes it in a simulated cluster.",
	Fix:  "Add the VolumeSnapshotClass, or leave the name out for the cluster's default.",
	Says: "is of VolumeSnapshotClass %s, which nothing in the recipe makes", Then: "no snapshot is taken, unless the cluster has that class",
	Run: func(s *judge.Scope) {
		const group, kind = "snapshot.storage.k8s.io", "VolumeSnapshotClass"
		for _, o := range s.Rendered(judge.KindsOf(group, "VolumeSnapshot")...) {
			class, _, _ := unstructured.NestedString(o.Object.Object, "spec", "volumeSnapshotClassName")
			if class != "" && s.Find(judge.KindsOf(group, kind)[0], "", class) == nil {
				s.Report(o, "spec.volumeSnapshotClassName", class).Missing(result.Ref{Group: group, Kind: kind, Name: class})
			}
		}
	},
}
