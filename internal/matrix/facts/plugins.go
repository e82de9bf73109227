package facts

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
)

// PluginOf is the object whose pods register a driver, of volumes or devices, with kubelets. It is sure if they have the
// driver's name in them, or are of the driver's own release and have no other driver's. Otherwise they may be, or may make
// one when they run; nil if nothing of the bundle may.
func (x *Index) PluginOf(driver, release string) (who *bundle.Object, sure bool) {
	var drivers []string
	for _, o := range x.OfKind(schema.GroupKind{Group: "storage.k8s.io", Kind: "CSIDriver"}) {
		drivers = append(drivers, o.Object.GetName())
	}
	for _, o := range x.OfKind(schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceSlice"}) {
		drivers = append(drivers, Text(o.Object, "spec.driver"))
	}
	for _, p := range x.pods {
		if !registers(&p.Template.Spec) {
			if who == nil && TextMay(x.Expectation, p.Object.Object.GetNamespace(), p.Template.Spec.ServiceAccountName, "apps", "daemonsets", "create") {
				who = p.Object
			}
			continue
		}
		others := slices.ContainsFunc(drivers, func(d string) bool { return d != driver && namesDriver(p, d) })
		if namesDriver(p, driver) || p.Object.Release == release && !others {
			return p.Object, true
		}
		if !others {
			who = p.Object
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
		return strings.Contains(at, "/plugins_registry") || strings.Contains(at, "/kubelet/plugins") || strings.HasSuffix(at, "/kubelet") ||
			at == "/var/lib" || at == "/var" || at == "/"
	})
}

// namesDriver reports whether pods have a driver's name in a path of the node or in what their containers run. NVIDIA's
// DRA plugins have theirs compiled in.
func namesDriver(p PodTemplate, driver string) bool {
	spec := &p.Template.Spec
	if slices.Contains(simulate.DevicesDrivers(spec), driver) || slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.HostPath != nil && strings.Contains(v.HostPath.Path, driver)
	}) {
		return true
	}
	return slices.ContainsFunc(p.Containers(), func(c Container) bool {
		return slices.ContainsFunc(slices.Concat(c.Command, c.Args), func(s string) bool { return strings.Contains(s, driver) }) ||
			slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return strings.Contains(v.Value, driver) })
	})
}
