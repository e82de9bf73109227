package refs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// ofAgents finds objects that only a program on a node may publish, since they say what that node has: the
// scheduler believes them, whoever wrote them, and a simulated kubelet runs what it places. A kubelet asks the
// driver's plugin on its node to prepare each claim and to mount each volume, and waits for it for ever. allocated are
// the cluster's claims; none before there is one.
func ofAgents(e *bundle.Expectation, allocated []resourcev1.ResourceClaim) []problem.Problem {
	a := agents{e: e}
	for i := range e.Objects {
		if gvk := e.Objects[i].Object.GroupVersionKind(); gvk.Kind == "CSIDriver" && gvk.Group == storagev1.GroupName {
			a.drivers = append(a.drivers, e.Objects[i].Object.GetName())
		} else if driver := sliceDriver(&e.Objects[i]); driver != "" {
			a.drivers = append(a.drivers, driver)
		}
	}
	var found []problem.Problem
	for i := range e.Objects {
		o := &e.Objects[i]
		switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
		case "resource.k8s.io/ResourceSlice":
			found = append(found, a.slice(o, allocated))
		case "storage.k8s.io/CSIDriver":
			found = append(found, a.csi(o)...)
		case "node.k8s.io/RuntimeClass":
			found = append(found, a.handler(o)...)
		default:
			if by := publisher(o); by != "" {
				p := problem.Of(o)
				p.Text, p.Then = "says what a node has, and only "+by+" publishes that", "on a real cluster it is replaced, or believed where it is not true"
				found = append(found, p)
			}
		}
	}
	return found
}

type agents struct {
	e *bundle.Expectation
	// drivers are those of the bundle's CSIDrivers and ResourceSlices.
	drivers []string
}

// publisher is the program that alone may write an object of a node; empty for other objects.
func publisher(o *bundle.Object) string {
	switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
	case "storage.k8s.io/CSINode":
		return "the node's kubelet"
	case "coordination.k8s.io/Lease":
		if o.Object.GetNamespace() == corev1.NamespaceNodeLease {
			return "the node's kubelet"
		}
	case "storage.k8s.io/CSIStorageCapacity":
		return "the driver's external-provisioner"
	case "storage.k8s.io/VolumeAttachment":
		return "the controller manager"
	case "nfd.k8s-sigs.io/NodeFeature":
		return "the nfd-worker on the node"
	case "topology.node.k8s.io/NodeResourceTopology":
		return "the topology updater on the node"
	}
	return ""
}

func sliceDriver(o *bundle.Object) string {
	if gvk := o.Object.GroupVersionKind(); gvk.Group != resourcev1.GroupName || gvk.Kind != "ResourceSlice" {
		return ""
	}
	driver, _, _ := unstructured.NestedString(o.Object.Object, "spec", "driver")
	return driver
}

// slice is about a ResourceSlice of the bundle.
func (a agents) slice(o *bundle.Object, allocated []resourcev1.ResourceClaim) problem.Problem {
	p, driver := problem.Of(o), sliceDriver(o)
	p.Name, p.Cause = driver, "ResourceSlice of "+driver
	p.Text = fmt.Sprintf("lists devices of driver %s, which only the driver's plugin on each node may publish", driver)
	p.Then = "a kubelet asks that plugin to prepare a claim, so that pods with one never start"
	who, sure := a.plugin(driver, o.Release)
	switch user := a.claims(driver, allocated); {
	case sure:
		p.Then = "the plugin of " + who.String() + " removes what it did not publish itself: leave it out"
	case who != (result.Ref{}):
		p.Note = true
		p.Text += fmt.Sprintf(", and %s may be", who)
	case user != "":
		p.Reason = reason.SchedulingFailed
		p.Text += fmt.Sprintf("; nothing in the recipe runs one, and %s has its devices by it", user)
	default:
		p.Text += "; nothing in the recipe runs one"
	}
	return p
}

// claims names what of the bundle wants devices of a driver; empty if nothing does, as far as its classes and
// requests say it. A claim of the cluster that has such devices is proof.
func (a agents) claims(driver string, allocated []resourcev1.ResourceClaim) string {
	for i := range allocated {
		if at := allocated[i].Status.Allocation; at != nil && slices.ContainsFunc(at.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool { return r.Driver == driver }) {
			return fmt.Sprintf("ResourceClaim %s/%s", allocated[i].Namespace, allocated[i].Name)
		}
	}
	classes := map[string]bool{}
	for i := range a.e.Objects {
		o := &a.e.Objects[i]
		if o.Object.GetKind() == "DeviceClass" && slices.ContainsFunc(facts.Leaves(o.Object.Object["spec"]), func(s string) bool { return strings.Contains(s, driver) }) {
			classes[o.Object.GetName()] = true
		}
	}
	for i := range a.e.Objects {
		o := &a.e.Objects[i]
		if kind := o.Object.GetKind(); (kind == "ResourceClaim" || kind == "ResourceClaimTemplate") && slices.ContainsFunc(facts.Leaves(o.Object.Object["spec"]), func(s string) bool { return classes[s] || strings.Contains(s, driver) }) {
			for j := range a.e.Workloads {
				if w := &a.e.Workloads[j]; w.Namespace == o.Object.GetNamespace() && slices.ContainsFunc(w.PodSpec.ResourceClaims, func(c corev1.PodResourceClaim) bool {
					return deref(c.ResourceClaimName) == o.Object.GetName() || deref(c.ResourceClaimTemplateName) == o.Object.GetName()
				}) {
					return observe.WorkloadRef(w.Kind, w.Namespace, w.Name).String()
				}
			}
		}
	}
	return ""
}

// csi is about a CSIDriver without a plugin on the nodes.
func (a agents) csi(o *bundle.Object) []problem.Problem {
	driver := o.Object.GetName()
	who, sure := a.plugin(driver, o.Release)
	if sure || facts.ProviderOfDriver(driver) != "" {
		return nil
	}
	p := problem.Of(o)
	p.Name, p.Cause = driver, "plugin of CSI driver "+driver
	p.Text, p.Then = "has no plugin: no pod of the recipe registers the driver with the nodes' kubelets (plugins_registry)", "a kubelet mounts none of its volumes"
	user := a.mounts(driver)
	switch {
	case who != (result.Ref{}):
		p.Note = true
		p.Text = fmt.Sprintf("needs a plugin on each node, and whether %s is or makes it is not known", who)
	case user != "":
		p.Reason = reason.WorkloadFailed
		p.Text += fmt.Sprintf(", and %s has a volume of it", user)
	}
	return []problem.Problem{p}
}

// mounts names what has a volume of a CSI driver; empty if nothing does.
func (a agents) mounts(driver string) string {
	classes := map[string]bool{}
	for i := range a.e.Objects {
		o := &a.e.Objects[i].Object.Object
		if by, _, _ := unstructured.NestedString(*o, "provisioner"); by == driver && a.e.Objects[i].Object.GetKind() == "StorageClass" {
			classes[a.e.Objects[i].Object.GetName()] = true
		}
		if of, _, _ := unstructured.NestedString(*o, "spec", "csi", "driver"); of == driver && a.e.Objects[i].Object.GetKind() == "PersistentVolume" {
			return a.e.Objects[i].Ref().String()
		}
	}
	for _, c := range facts.ClaimsOf(a.e) {
		if class := c.Spec.StorageClassName; class != nil && classes[*class] {
			return c.From.String()
		}
	}
	for i := range a.e.Workloads {
		w := &a.e.Workloads[i]
		for j := range w.PodSpec.Volumes {
			v := &w.PodSpec.Volumes[j]
			if _, migrated := kubeletMigrated(&v.VolumeSource); migrated == driver || v.CSI != nil && v.CSI.Driver == driver {
				return observe.WorkloadRef(w.Kind, w.Namespace, w.Name).String()
			}
		}
	}
	return ""
}

// plugin is the workload that registers a driver with kubelets. It is sure if the workload has the driver's name in
// it, or is of the driver's own release and has no other driver's. Otherwise it may be, or may make one when it
// runs; zero if nothing of the bundle may.
func (a agents) plugin(driver, release string) (who result.Ref, sure bool) {
	for i := range a.e.Workloads {
		w := &a.e.Workloads[i]
		ref := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
		if !registers(&w.PodSpec) {
			if who == (result.Ref{}) && facts.TextMay(a.e, w.Namespace, w.PodSpec.ServiceAccountName, "apps", "daemonsets", "create") {
				who = ref
			}
			continue
		}
		others := slices.ContainsFunc(a.drivers, func(d string) bool { return d != driver && names(w, d) })
		if names(w, driver) || w.Release == release && !others {
			return ref, true
		}
		if !others {
			who = ref
		}
	}
	return who, false
}

// registers reports whether a pod has the directory of its node in which a kubelet looks for plugins.
func registers(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		if v.HostPath == nil {
			return false
		}
		at := path.Clean(strings.ReplaceAll(v.HostPath.Path, `\`, "/"))
		return strings.Contains(at, "/plugins_registry") || strings.Contains(at, "/kubelet/plugins") || strings.HasSuffix(at, "/kubelet") || at == "/var/lib" || at == "/var" || at == "/"
	})
}

// names reports whether a workload has a driver's name in a path of the node or in what its containers run. NVIDIA's
// DRA plugins have theirs compiled in.
func names(w *bundle.Workload, driver string) bool {
	if slices.Contains(simulate.DevicesDrivers(&w.PodSpec), driver) {
		return true
	}
	if slices.ContainsFunc(w.PodSpec.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil && strings.Contains(v.HostPath.Path, driver) }) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(w.PodSpec.InitContainers, w.PodSpec.Containers), func(c corev1.Container) bool {
		return slices.ContainsFunc(slices.Concat(c.Command, c.Args), func(s string) bool { return strings.Contains(s, driver) }) ||
			slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return strings.Contains(v.Value, driver) })
	})
}

// handler notes a RuntimeClass that a workload uses and whose handler is not known to be on its nodes: no profile
// says which container runtimes a machine has. NVIDIA's are those of the nodes with GPUs.
func (a agents) handler(o *bundle.Object) []problem.Problem {
	var class nodev1.RuntimeClass
	if !problem.Read(o, &class) || class.Handler == "runc" || strings.HasPrefix(class.Handler, "nvidia") {
		return nil
	}
	i := slices.IndexFunc(a.e.Workloads, func(w bundle.Workload) bool { return deref(w.PodSpec.RuntimeClassName) == class.Name })
	if i < 0 || slices.ContainsFunc(a.e.Workloads, func(w bundle.Workload) bool { return configures(&w.PodSpec) }) {
		return nil
	}
	w := &a.e.Workloads[i]
	p := problem.Of(o)
	p.Note, p.Name, p.Cause = true, class.Handler, "handler "+class.Handler
	p.Text = fmt.Sprintf("needs the handler %s in the configuration of the nodes' container runtime, which no node profile says anything of, and nothing in the recipe changes it", class.Handler)
	p.Then = fmt.Sprintf("without it a kubelet starts no pod of %s", observe.WorkloadRef(w.Kind, w.Namespace, w.Name))
	return []problem.Problem{p}
}

// configures reports whether a pod has the directory of its node with a container runtime's configuration.
func configures(spec *corev1.PodSpec) bool {
	return slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		if v.HostPath == nil {
			return false
		}
		at := path.Clean(v.HostPath.Path)
		return at == "/" || at == "/etc" || strings.Contains(at, "containerd") || strings.Contains(at, "crio")
	})
}
