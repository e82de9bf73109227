package storage

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// disks are the drivers whose volumes one node alone can mount with a file system. Others, such as longhorn, can share
// theirs.
var disks = []string{"ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "kubernetes.io/gce-pd", "disk.csi.azure.com", "kubernetes.io/azure-disk", "blockvolume.csi.oraclecloud.com", "linodebs.csi.linode.com"}

var sharedDisk = judge.Check{
	ID: "MX310", Name: "shared-claim-of-a-disk", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.SchedulingFailed,
	Title: "A claim for many nodes is of a class that makes shared volumes",
	Why: "A disk of a cloud has a file system on one node alone: its driver provisions nothing for ReadWriteMany (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes). " +
		"The class that a cluster has by itself may be another one where the recipe is used, so that a claim of that is a warning.",
	Fix:  "Name a class of shared files, e.g. of EFS, Filestore or Azure Files, or ask for ReadWriteOnce.",
	Says: "claim %s is ReadWriteMany, and StorageClass %s makes disks (%s)", Then: "the driver refuses it, so that the claim and its pods wait for ever",
	Others: map[string]judge.Message{"cluster": {
		Says: "claim %s is ReadWriteMany, of StorageClass %s, %s", Then: "those of managed Kubernetes and of Kind make disks for one node: there it and its pods wait for ever"}},
	Run: func(s *judge.Scope) {
		for _, c := range s.Claims() {
			spec := c.Spec
			if c.Object.Object.GetKind() == "PersistentVolumeClaim" && spec.VolumeName != "" || !slices.Contains(spec.AccessModes, corev1.ReadWriteMany) ||
				spec.VolumeMode != nil && *spec.VolumeMode == corev1.PersistentVolumeBlock {
				continue
			}
			class, driver := provisionerOf(s, &c)
			path := c.Path + ".storageClassName"
			if driver == simulate.Provisioner {
				whose := "which the cluster has by itself"
				if simulate.Made(nodesOf(s), class) {
					whose = "the default class of this cell, which the harness made"
				}
				s.ReportAs("cluster", c.Object, path, c.Name, class, whose).SetBy(class).Warning()
			} else if slices.Contains(disks, driver) {
				s.Report(c.Object, path, c.Name, class, driver).SetBy(class)
			}
		}
	},
}

// provisionerOf is the class of a claim, and its provisioner; empty if it is not known.
func provisionerOf(s *judge.Scope, c *facts.Claim) (class, driver string) {
	if name := c.Spec.StorageClassName; name != nil {
		class = *name
	} else if s.Live != nil {
		if filled := s.Live.ClaimSpecs[infra.NamespacedName(c.Namespace, c.First)].StorageClassName; filled != nil {
			class = *filled // by the API server
		}
	}
	if s.Live != nil {
		return class, s.Live.Provisioners[class]
	}
	if o := s.Find(storageClasses[0], "", class); o != nil {
		driver = facts.Text(o.Object, "provisioner")
	}
	return class, driver
}
