package storage

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var storageClasses = judge.KindsOf(storagev1.GroupName, "StorageClass")

var noProvisioner = judge.Check{
	ID: "MX312", Name: "class-without-provisioner", Needs: judge.Rendered, Until: judge.Settled, Kinds: storageClasses, Gives: reason.SchedulingFailed,
	Title: "Something is the provisioner of a StorageClass that has claims",
	Why: "The program that a StorageClass names makes the volumes of its claims (https://kubernetes.io/docs/concepts/storage/storage-classes/#provisioner). " +
		"This recipe has no CSIDriver of that name, no workload that mentions it, and no role that may create volumes. In a simulated cluster a stand-in makes volumes for every class.",
	Fix:  "Add the driver to the recipe, or correct the provisioner.",
	Says: "claim %s is of StorageClass %s, and nothing in the recipe is its provisioner, %s", Then: "no volume is made for it, so that it and its pods wait for ever",
	Run: func(s *judge.Scope) {
		for _, c := range s.Claims() {
			if c.Spec.StorageClassName == nil || c.Spec.VolumeName != "" || c.Spec.Selector != nil {
				continue
			}
			o := s.Find(storageClasses[0], "", *c.Spec.StorageClassName)
			if o == nil {
				continue
			}
			if class := facts.As[storagev1.StorageClass](s.Index, o); class != nil && !hasProvisioner(s, class.Provisioner) {
				s.Report(c.Object, c.Path+".storageClassName", c.Name, class.Name, class.Provisioner).OneCause(class.Provisioner)
			}
		}
	},
}

// hasProvisioner reports whether the cluster has a provisioner by itself, or the bundle has something that may be it.
func hasProvisioner(s *judge.Scope, provisioner string) bool {
	if provisioner == simulate.Provisioner || strings.HasPrefix(provisioner, "kubernetes.io/") || facts.ProviderOfDriver(provisioner) != "" {
		return true
	}
	if s.Live == nil {
		if s.More() || s.MayMake(schema.GroupKind{Group: storagev1.GroupName, Kind: "CSIDriver"}, "") {
			return true // or is not known yet
		}
	} else {
		for class, by := range s.Live.Provisioners {
			if by == provisioner && s.Find(storageClasses[0], "", class) == nil {
				return true
			}
		}
	}
	return s.Find(judge.KindsOf(storagev1.GroupName, "CSIDriver")[0], "", provisioner) != nil ||
		slices.ContainsFunc(s.Rendered(judge.KindsOf(rbacv1.GroupName, "ClusterRole")...), func(o *bundle.Object) bool { return makesVolumes(s, o) }) ||
		slices.ContainsFunc(s.Pods(), func(p facts.PodTemplate) bool { return !s.IsMade(p.Object) && mentions(p, provisioner) })
}

// mentions reports whether a container's command or variables have a text in them.
func mentions(p facts.PodTemplate, text string) bool {
	return slices.ContainsFunc(p.Containers(), func(c facts.Container) bool {
		return slices.ContainsFunc(slices.Concat(c.Command, c.Args), func(arg string) bool { return strings.Contains(arg, text) }) ||
			slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return strings.Contains(e.Value, text) })
	})
}

// makesVolumes reports whether a role may create PersistentVolumes, as a provisioner must.
func makesVolumes(s *judge.Scope, o *bundle.Object) bool {
	role := facts.As[rbacv1.ClusterRole](s.Index, o)
	return role != nil && slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return problem.Covers(r.APIGroups, "") && problem.Covers(r.Resources, "persistentvolumes") && problem.Covers(r.Verbs, "create")
	})
}
