package storage

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var classMissing = judge.Check{
	ID: "MX322", Name: "storage-class-missing", Needs: judge.Rendered, Until: judge.Settled, Gives: reason.SchedulingFailed,
	Title: "The StorageClass of a claim exists",
	Why: "A provisioner makes volumes of existing classes only (https://kubernetes.io/docs/concepts/storage/persistent-volumes/#class-1). The scheduler reports it of pods that exist; this is for the other claims, too. " +
		"Which class is the default is the provider's: standard-rwo on GKE, default on AKS, oci-bv on OKE, and none on a new EKS cluster since 1.30; the cells of recipes, which leave that to the cluster, have one on EKS, too. A class of which there are volumes need not exist: it then only says which claims are for them. The class that the harness makes as the default of a cell is a note.",
	Fix:  "Add the class to the recipe, name one that the cluster has, or leave the name out for the default.",
	Says: "claim %s wants StorageClass %s, which does not exist, and nothing in the recipe makes it", Then: "no provisioner makes its volume; deliver the class, or run with --with PATH if the cluster has it",
	Others: map[string]judge.Message{
		"default": {Says: "claim %s names no StorageClass, and the cluster has no default one", Then: "no provisioner makes its volume"},
		"assumed": {Says: "claim %s names no StorageClass: this cell has a default one", Then: "a new cluster of this provider has none, and the claim would stay pending: make one the default there, or name one"},
		"harness": {Says: "claim %s names StorageClass %s: the harness made it, as the default class of this cell", Then: "whether your cluster has one of that name was not compared"},
		"text":    {Says: "claim %s wants StorageClass %s, which is made at run time by the text of %s (%s)", Then: "no provisioner makes its volume before"},
	},
	Run: func(s *judge.Scope) {
		all := facts.ClaimsOf(s.Expectation)
		for i := range all {
			c := &all[i]
			if c.From.Kind == "PersistentVolumeClaim" && c.Spec.VolumeName != "" {
				continue
			}
			classOf(s, c)
		}
	},
}

func classOf(s *judge.Scope, c *facts.ClaimTemplate) {
	name, named := c.Meta.Annotations[corev1.BetaStorageClassAnnotation]
	if c.Spec.StorageClassName != nil {
		name, named = *c.Spec.StorageClassName, true
	}
	o, path := maker(s, c), claimPath(c, "storageClassName")
	if s.Live == nil {
		volumes := schema.GroupKind{Kind: "PersistentVolume"}
		if class := (result.Ref{Group: storagev1.GroupName, Kind: "StorageClass", Name: name}); name != "" && s.Lacks(class, o.Ref()) && !s.Has(volumes) && !s.MayMake(volumes, "") {
			s.Report(o, path, c.Meta.Name, name).SetBy(name).OneCause(name)
		}
		return
	}
	if named && simulate.Made(nodesOf(s), name) && !anyVolumeOf(s, name) {
		s.ReportAs("harness", o, path, c.Meta.Name, name).Note()
	}
	if !named && s.Live.DefaultClass && simulate.AssumesClass(nodesOf(s)) && !ownDefault(s) {
		s.ReportAs("assumed", o, path, c.Meta.Name).OneCause("assumed").Note()
	}
	if named && (name == "" || s.Live.StorageClasses[name] || anyVolumeOf(s, name)) || !named && s.Live.DefaultClass {
		return
	}
	if !named {
		s.ReportAs("default", o, path, c.Meta.Name).OneCause("default")
		return
	}
	if made := facts.FindManifests(s.Expectation, "StorageClass", name); len(made) > 0 {
		s.ReportAs("text", o, path, c.Meta.Name, name, made[0].By.Ref(), made[0].By.Component).Note()
		return
	}
	s.Report(o, path, c.Meta.Name, name).SetBy(name).OneCause(name)
}

// ownDefault reports whether a recipe has a StorageClass that is the default.
func ownDefault(s *judge.Scope) bool {
	return slices.ContainsFunc(s.OfKind(judge.KindsOf(storagev1.GroupName, "StorageClass")...), func(o *bundle.Object) bool {
		class := facts.As[storagev1.StorageClass](s.Index, o)
		return class != nil && class.Annotations[simulate.DefaultClass] == "true"
	})
}

// nodesOf are the nodes of the cell.
func nodesOf(s *judge.Scope) (all []*corev1.Node) {
	for i := range s.Nodes {
		all = append(all, &s.Nodes[i])
	}
	return all
}

// anyVolumeOf reports whether the cluster has volumes of a class.
func anyVolumeOf(s *judge.Scope, class string) bool {
	for _, v := range s.Live.Volumes {
		if v.Spec.StorageClassName == class {
			return true
		}
	}
	return false
}
