package everyday

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/refs/claims"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// secondDefault finds a second default of a kind of which a cluster has one.
func (f *finder) secondDefault(o *bundle.Object) {
	first := f.firstDefault(o)
	if first == nil {
		return
	}
	p := problem.Of(o)
	p.Text = fmt.Sprintf("is the default of the cluster, and so is %s (%s)", first.Ref(), first.Component)
	if o.Object.GetKind() == "StorageClass" {
		p.Name, p.Then = simulate.DefaultClass, "a claim without a class gets the one that was created last, which differs between deployers"
	} else {
		p.Name, p.Cause, p.Reason = "globalDefault", "second default "+o.Ref().String(), reason.DeployFailed
		p.Then = "the API server refuses the second one, unless both come in the same moment: then it refuses the next change of either"
	}
	f.found = append(f.found, p)
}

// firstDefault is the default of the bundle that comes before an object which is one of the same kind.
func (f *finder) firstDefault(o *bundle.Object) *bundle.Object {
	if !defaultOf(o) {
		return nil
	}
	for i := range f.e.Objects {
		other := &f.e.Objects[i]
		if other == o {
			return nil
		}
		if other.Object.GetKind() == o.Object.GetKind() && other.Ref() != o.Ref() && defaultOf(other) {
			return other
		}
	}
	return nil
}

func defaultOf(o *bundle.Object) bool {
	switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "scheduling.k8s.io/PriorityClass":
		var c schedulingv1.PriorityClass
		return problem.Read(o, &c) && c.GlobalDefault
	case "storage.k8s.io/StorageClass":
		return o.Object.GetAnnotations()[simulate.DefaultClass] == "true"
	}
	return false
}

// classless warns of an Ingress without a class in a bundle without a default one.
func (f *finder) classless(o *bundle.Object, in *networkingv1.Ingress) {
	if in.Spec.IngressClassName != nil || in.Annotations["kubernetes.io/ingress.class"] != "" {
		return
	}
	for i := range f.e.Objects {
		c := f.e.Objects[i].Object
		if c.GetKind() == "IngressClass" && c.GetAnnotations()[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			return
		}
	}
	p := problem.Of(o)
	p.Text, p.Then = "names no IngressClass (spec.ingressClassName), and the recipe installs no default one", "unless the cluster has a default, no controller serves it"
	f.found = append(f.found, p)
}

// provisioned fails a claim of a class of the bundle for whose provisioner the bundle has nothing: no
// CSIDriver, no workload that names it, and no role that may create volumes. A stand-in makes a volume for
// every class.
func (f *finder) provisioned(c *claims.Claim) {
	if c.Spec.StorageClassName == nil || c.Spec.VolumeName != "" || c.Spec.Selector != nil {
		return
	}
	for i := range f.e.Objects {
		var class storagev1.StorageClass
		o := &f.e.Objects[i]
		if o.Object.GetKind() != "StorageClass" || o.Object.GetName() != *c.Spec.StorageClassName || !problem.Read(o, &class) {
			continue
		}
		by := class.Provisioner
		if strings.HasPrefix(by, "kubernetes.io/") || ProviderOfDriver(by) != "" || f.provides(by) {
			return
		}
		p := c.Problem
		p.Name, p.Cause, p.Reason = class.Name, "provisioner "+by, reason.SchedulingFailed
		p.Text = fmt.Sprintf("claim %s is of StorageClass %s, and nothing in the recipe is its provisioner, %s", c.Name, class.Name, by)
		p.Then = "no volume is made for it, so that it and its pods wait for ever"
		f.found = append(f.found, p)
		return
	}
}

// provides reports whether the cluster has a provisioner by itself, or the bundle has something that may
// be it.
func (f *finder) provides(provisioner string) bool {
	if provisioner == simulate.Provisioner {
		return true
	}
	for class, by := range f.have.Provisioners {
		if by == provisioner && !observe.Makes(f.e, "StorageClass", "", class) {
			return true
		}
	}
	return slices.ContainsFunc(f.e.Objects, func(o bundle.Object) bool {
		switch o.Object.GetKind() {
		case "CSIDriver":
			return o.Object.GetName() == provisioner
		case "ClusterRole":
			return makesVolumes(&o)
		}
		template := problem.Template(&o)
		return template != nil && mentions(&template.Spec, provisioner)
	})
}

// mentions reports whether a container's command or variables have a text in them.
func mentions(pod *corev1.PodSpec, text string) bool {
	return slices.ContainsFunc(slices.Concat(pod.InitContainers, pod.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(slices.Concat(c.Command, c.Args), func(arg string) bool { return strings.Contains(arg, text) }) ||
			slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return strings.Contains(e.Value, text) })
	})
}

// makesVolumes reports whether a role may create PersistentVolumes, as a provisioner must.
func makesVolumes(o *bundle.Object) bool {
	var role rbacv1.ClusterRole
	if !problem.Read(o, &role) {
		return false
	}
	return slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return problem.Covers(r.APIGroups, "") && problem.Covers(r.Resources, "persistentvolumes") && problem.Covers(r.Verbs, "create")
	})
}

// ProviderOfDriver returns the managed Kubernetes that may have a CSI driver without a recipe; empty
// for any other driver.
func ProviderOfDriver(driver string) string {
	for suffix, provider := range map[string]string{".csi.azure.com": "AKS", ".csi.storage.gke.io": "GKE", ".csi.aws.com": "EKS", ".csi.oraclecloud.com": "OKE", ".linodebs.com": "LKE"} {
		if strings.HasSuffix(driver, suffix) {
			return provider
		}
	}
	return ""
}
