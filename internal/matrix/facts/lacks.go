package facts

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// lacks.go is what does not exist. With a cluster that is what the cluster does not have. Before there is one, it is only
// what nothing can make: no chart, no program of the bundle, and nothing that a cluster has by itself.

// WithoutCluster is the index as it was before there was a cluster.
func (x *Index) WithoutCluster() *Index {
	early := *x
	early.Live = nil
	return &early
}

// More reports whether a cluster is going to have more than what is rendered here.
func (x *Index) More() bool { return x.Again || x.Furnished }

// Lacks reports whether an object that another names does not exist. Before there is a cluster, false may mean that it is
// not known.
func (x *Index) Lacks(ref, from result.Ref) bool {
	if x.Live != nil {
		return !x.Live.has(ref)
	}
	kind := schema.GroupKind{Group: ref.Group, Kind: ref.Kind}
	return !x.More() && x.Find(kind, ref.Namespace, ref.Name) == nil && !x.applied(ref) && !x.ofTheCluster(ref) &&
		x.MadeAtRunTime(ref.Kind, ref.Namespace, ref.Name, from) == nil && !x.MayMake(kind, ref.Namespace)
}

// has reports whether the cluster has an object of a kind that was read.
func (c *Live) has(ref result.Ref) bool {
	full := infra.NamespacedName(ref.Namespace, ref.Name)
	switch ref.Kind {
	case NeedSecret:
		return c.Secrets[full] != nil
	case ConfigMap:
		return c.ConfigMaps[full] != nil
	case "Service":
		return slices.ContainsFunc(c.Services, func(s corev1.Service) bool { return s.Namespace == ref.Namespace && s.Name == ref.Name })
	case "CSIDriver":
		_, ok := c.CSIDrivers[ref.Name]
		return ok
	case "ClusterTrustBundle":
		return c.TrustBundles[ref.Name] != nil
	case "ResourceClaim":
		return c.Devices.Claim(ref.Namespace, ref.Name) != nil
	case "ResourceClaimTemplate":
		return c.Devices.Template(ref.Namespace, ref.Name) != nil
	case "DeviceClass":
		return c.Devices.Class(ref.Name) != nil
	}
	if _, ok := c.View.Live[observe.WorkloadKey(ref.Kind, ref.Namespace, ref.Name)]; ok {
		return true
	}
	return map[string]map[string]bool{
		rbacv1.ServiceAccountKind: c.ServiceAccounts, "PersistentVolumeClaim": c.Claims, "Role": c.Roles, "ClusterRole": c.ClusterRoles,
		"StorageClass": c.StorageClasses, "PriorityClass": c.PriorityClasses, "RuntimeClass": c.RuntimeClasses,
	}[ref.Kind][full]
}

// SecretKeys are the keys of a Secret, as far as they are known; none if it does not exist or something may fill it in.
func (x *Index) SecretKeys(ref, from result.Ref) map[string]bool {
	if x.Live != nil {
		return x.Live.Secrets[infra.NamespacedName(ref.Namespace, ref.Name)]
	}
	if x.More() || x.MadeAtRunTime(ref.Kind, ref.Namespace, ref.Name, from) != nil {
		return nil
	}
	keys := map[string]bool{}
	for _, o := range x.Rendered(schema.GroupKind{Kind: ref.Kind}) { // several releases may have one
		if o.Ref() == ref {
			maps.Copy(keys, Keys(o))
		}
	}
	return keys
}

// SecretText is a value of a rendered Secret, empty if it has none or that is no base64.
func SecretText(o *bundle.Object, key string) string {
	if text := Text(o.Object, `stringData["`+key+`"]`); text != "" {
		return text
	}
	raw, err := base64.StdEncoding.DecodeString(Text(o.Object, `data["`+key+`"]`))
	if err != nil {
		return ""
	}
	return string(raw)
}

// applied reports whether Flux applies an object besides the releases.
func (x *Index) applied(ref result.Ref) bool {
	return slices.ContainsFunc(x.Expectation.Applied, func(o *unstructured.Unstructured) bool { return (&bundle.Object{Object: o}).Ref() == ref })
}

// ownNamespaces have objects that are not of the bundle: Kubernetes' own, and those of Argo CD and Flux.
var ownNamespaces = []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease, infra.ArgoCDNamespace, infra.FluxNamespace}

// ofTheCluster reports whether a cluster may have an object by itself.
func (x *Index) ofTheCluster(ref result.Ref) bool {
	if slices.Contains(ownNamespaces, ref.Namespace) || strings.HasPrefix(ref.Name, "system:") || strings.HasPrefix(ref.Name, "system-") {
		return true
	}
	switch ref.Kind {
	case "Service":
		return ref.Namespace == metav1.NamespaceDefault && ref.Name == "kubernetes"
	case rbacv1.ServiceAccountKind:
		return ref.Name == "default"
	case ConfigMap:
		return ref.Name == "kube-root-ca.crt"
	case "ClusterRole":
		return slices.Contains(widest, ref.Name) || ref.Name == "view" || strings.HasSuffix(ref.Name, "-"+infra.FluxNamespace) || strings.HasPrefix(ref.Name, "argocd-")
	case "CSIDriver":
		return ProviderOfDriver(ref.Name) != ""
	case "StorageClass":
		var nodes []*corev1.Node
		for i := range x.Nodes {
			nodes = append(nodes, &x.Nodes[i])
		}
		return ref.Name == simulate.DefaultClassName || ref.Name == simulate.DefaultClassOf(nodes) ||
			slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return slices.Contains(simulate.StorageClasses(n), ref.Name) })
	}
	return false
}

// widest are the ClusterRoles of every cluster that may create almost anything.
var widest = []string{"cluster-admin", "admin", "edit"}

// MayMake reports whether a program of the bundle may create objects of a kind in a namespace, or in any: a role lets it, or
// it is a custom resource there whose operator nobody knows.
func (x *Index) MayMake(kind schema.GroupKind, namespace string) bool {
	key := kind.String() + "/" + namespace
	may, known := x.mayMake[key]
	if !known {
		resource, _ := meta.UnsafeGuessKindToResource(kind.WithVersion("v1"))
		may = x.May(resource.GroupResource(), namespace, "create") || slices.ContainsFunc(x.Expectation.Objects, func(o bundle.Object) bool {
			ref := o.Ref()
			switch {
			case strings.HasSuffix(ref.Group, ".toolkit.fluxcd.io"), ref.Group == "argoproj.io": // which deliver anything anywhere
				return true
			case ref.Group == "monitoring.coreos.com", ref.Group == "cert-manager.io": // of which the expectation has what operators make
				return false
			}
			return strings.Contains(ref.Group, ".") && !strings.HasSuffix(ref.Group, ".k8s.io") && (ref.Namespace == "" || namespace == "" || ref.Namespace == namespace)
		})
		x.mayMake[key] = may
	}
	return may
}

// May reports whether a role of the bundle, or one of the cluster that it binds, allows one of these in a namespace, or in any.
func (x *Index) May(what schema.GroupResource, namespace string, verbs ...string) bool {
	for _, o := range x.Rendered(append(bindings, roles...)...) {
		if in := o.Object.GetNamespace(); in != "" && namespace != "" && in != namespace {
			continue
		}
		if slices.Contains(widest, Text(o.Object, "roleRef.name")) {
			return true
		}
		role := As[rbacv1.Role](x, o) // which a ClusterRole looks like
		if role != nil && slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return allows(r, what, verbs...) }) {
			return true
		}
	}
	return false
}

// byControllers are labels that only controllers give to pods.
var byControllers = []string{"pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "job-name", "controller-uid", "batch.kubernetes.io/"}

// PodsWith are the specs of the pods with some labels, of the cluster and of the bundle's templates. Unless all is set,
// there may be more, or with more in them: what programs, controllers and webhooks make is known only in a cluster.
func (x *Index) PodsWith(selector labels.Selector, in func(namespace string) bool) (specs []*corev1.PodSpec, all bool) {
	if x.Live != nil && x.Live.View != nil {
		for i := range x.Live.View.Pods {
			if p := &x.Live.View.Pods[i]; in(p.Namespace) && selector.Matches(labels.Set(p.Labels)) {
				specs = append(specs, &p.Spec)
			}
		}
	}
	for _, p := range x.pods {
		if !(x.Live != nil && x.IsMade(p.Object)) && in(p.Object.Object.GetNamespace()) && selector.Matches(labels.Set(p.Template.Labels)) {
			specs = append(specs, &p.Template.Spec)
		}
	}
	requirements, _ := selector.Requirements()
	return specs, x.Live != nil || !x.More() && !x.changesPods() && !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return slices.ContainsFunc(byControllers, func(own string) bool { return strings.HasPrefix(r.Key(), own) })
	})
}

// NoPod reports whether there is no pod with some labels. Before there is a cluster, false may mean that it is not known.
func (x *Index) NoPod(selector labels.Selector, in func(namespace string) bool) bool {
	specs, all := x.PodsWith(selector, in)
	return all && len(specs) == 0
}

// changesPods reports whether a program of the bundle may make pods, or change those that others make.
func (x *Index) changesPods() bool {
	for _, k := range []schema.GroupKind{{Kind: "Pod"}, {Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"}, {Group: "batch", Kind: "Job"}} {
		if x.MayMake(k, "") {
			return true
		}
	}
	return x.Mutates()
}

// Mutates reports whether something of the bundle may change objects that are created.
func (x *Index) Mutates() bool {
	return slices.ContainsFunc(x.Expectation.Objects, func(o bundle.Object) bool {
		return strings.HasPrefix(o.Object.GetKind(), "Mutating") && o.Object.GroupVersionKind().Group == "admissionregistration.k8s.io"
	})
}
