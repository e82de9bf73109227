package storage

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

const waitsSays = "gets a volume only once a pod uses it (volumeBindingMode: WaitForFirstConsumer), "

var claimWaitsForPod = judge.Check{
	ID: "MX329", Name: "claim-waits-for-later-pod", Needs: judge.Rendered, First: true, Kinds: judge.KindsOf("", "PersistentVolumeClaim"), Gives: reason.DeployFailed,
	Lanes: func(o judge.Order) bool { return !o.AtOnce },
	Title: "A pod uses a claim before the deployer stops waiting for the claim",
	Why: "A claim of a class with WaitForFirstConsumer has no volume before the first pod that uses it (https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode). " +
		"Flux waits until a release's claims are bound, and Argo CD before the next sync wave. A custom resource with the claim's name may stand for such a pod.",
	Fix:  "Let a pod of the same release and wave use it, leave it out, or give it a class with volumeBindingMode: Immediate.",
	Says: waitsSays + "no pod does until its release is ready, and its release fails after %s",
	Then: "Flux waits for the claim to be bound (spec.timeout of the HelmRelease): let a pod of its release use it, leave it out, or give it a class with volumeBindingMode: Immediate",
	Others: map[string]judge.Message{"wave": {
		Says: waitsSays + "and Argo CD creates %s, whose pods do, in a later sync wave or phase (%s)",
		Then: "Argo CD waits for the claim to be bound before that, and each waits for the other: give both the same argocd.argoproj.io/sync-wave, and make neither a hook"}},
	Run: func(s *judge.Scope) {
		q := lane.Sequence{Order: s.Order, Expectation: s.Expectation}
		for _, o := range s.Rendered(judge.KindsOf("", "PersistentVolumeClaim")...) {
			c := facts.As[corev1.PersistentVolumeClaim](s.Index, o)
			if c == nil || c.Spec.VolumeName != "" || !waitsForPod(s, c.Spec.StorageClassName) || standsForPod(s, c.Name) {
				continue
			}
			within := q.Within(o.Release)
			switch {
			case s.Order.ArgoCD:
				if later := usedLater(s, o); later != nil {
					s.ReportAs("wave", o, "", later.Ref(), later.Template)
				}
			case within != 0 && !o.Hook && !usedBefore(s, q, o):
				s.Report(o, "", within)
			}
		}
	},
}

// usedBefore reports whether a pod uses a claim before its release is ready.
func usedBefore(s *judge.Scope, q lane.Sequence, o *bundle.Object) bool {
	return slices.ContainsFunc(s.Expectation.Workloads, func(w bundle.Workload) bool {
		return w.Namespace == o.Object.GetNamespace() && hasPods(&w) && (w.Release == o.Release || !q.DependsOn(w.Release, o.Release)) && uses(&w, o.Object.GetName())
	})
}

// usedLater is the workload whose pods use a claim, if all that do come after Argo CD has waited for it.
func usedLater(s *judge.Scope, o *bundle.Object) (later *bundle.Object) {
	at := lane.MomentOf(o.Object, true)
	for i := range s.Expectation.Workloads {
		w := &s.Expectation.Workloads[i]
		if w.Namespace != o.Object.GetNamespace() || !hasPods(w) || !uses(w, o.Object.GetName()) {
			continue
		}
		user := s.RenderedOf(w)
		if user == nil || w.Release != o.Release || lane.MomentOf(user.Object, true).Compare(at) <= 0 {
			return nil
		}
		later = user
	}
	return later
}

// hasPods reports whether a workload has pods without a further action.
func hasPods(w *bundle.Workload) bool { return w.Kind != "CronJob" && w.Replicas != 0 }

// standsForPod reports whether a custom resource names a claim: its operator may make pods that use it.
func standsForPod(s *judge.Scope, claim string) bool {
	return slices.ContainsFunc(s.Expectation.Objects, func(o bundle.Object) bool {
		return strings.Contains(o.Object.GroupVersionKind().Group, ".") && slices.Contains(facts.Leaves(o.Object.Object), claim)
	})
}

// waitsForPod reports whether claims of a class are bound only once a pod uses them. The classes of a cluster do, as those
// of the providers; one of the recipe says it. Nil stands for the default.
func waitsForPod(s *judge.Scope, class *string) bool {
	name := ""
	if class != nil {
		if name = *class; name == "" {
			return false
		}
	}
	var all []*unstructured.Unstructured
	for _, o := range s.Rendered(storageClasses...) {
		all = append(all, o.Object)
	}
	for _, made := range facts.FindManifests(s.Expectation, "StorageClass", name) {
		all = append(all, made.Object)
	}
	for _, o := range all {
		if class != nil && o.GetName() == name || class == nil && o.GetAnnotations()[simulate.DefaultClass] == "true" {
			return facts.Text(o, "volumeBindingMode") == string(storagev1.VolumeBindingWaitForFirstConsumer)
		}
	}
	return true
}

// uses reports whether the pods of a workload mount a claim, by its name or as one of a StatefulSet's.
func uses(w *bundle.Workload, claim string) bool {
	return slices.ContainsFunc(w.PodSpec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	}) || w.Kind == "StatefulSet" && strings.Contains(claim, "-"+w.Name+"-")
}
