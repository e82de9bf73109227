package facts

// needs.go lists the Secrets, ConfigMaps and keys that a kubelet needs for a pod. It must not
// know clusters.

import (
	"iter"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// The kinds whose data a kubelet hands to containers.
const (
	NeedSecret = "Secret"
	ConfigMap  = "ConfigMap"
)

// Need is an object whose data a kubelet needs before it starts a container.
type Need struct {
	Kind, Name string
	// Keys are required in it; none: only the object.
	Keys []string
	// How the pod uses it: "mounts", "takes its environment from".
	How string
	// Then is what a kubelet does without the keys, if it does not wait for them.
	Then string
	// Once: a container has what was there when it started, and never what comes later. Files of a volume change while
	// it runs.
	Once bool
}

// NeedsOf returns what a pod cannot start without, or not as it is meant to. Optional references are left
// out.
func NeedsOf(spec *corev1.PodSpec) []Need {
	return needsOf(spec, slices.Concat(spec.InitContainers, spec.Containers))
}

// needsOf returns what a pod needs before the last of these containers starts: the volumes of all its containers, which
// a kubelet mounts before the first, and what these take of them and as variables.
func needsOf(spec *corev1.PodSpec, containers []corev1.Container) []Need {
	l := &list{}
	for _, v := range MountedVolumes(spec) {
		l.volume(v)
	}
	for i := range containers {
		l.environment(&containers[i])
		l.parts(spec, &containers[i])
	}
	return l.all
}

// MountedVolumes are those of a pod that a container mounts, or has as a device, with their places: a kubelet looks at no
// other (GetPodVolumeNames, https://github.com/kubernetes/kubernetes/blob/master/pkg/volume/util/util.go).
func MountedVolumes(spec *corev1.PodSpec) iter.Seq2[int, *corev1.Volume] {
	used := map[string]bool{}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, m := range c.VolumeMounts {
			used[m.Name] = true
		}
		for _, d := range c.VolumeDevices {
			used[d.Name] = true
		}
	}
	return func(yield func(int, *corev1.Volume) bool) {
		for i := range spec.Volumes {
			if v := &spec.Volumes[i]; used[v.Name] && !yield(i, v) {
				return
			}
		}
	}
}

type list struct{ all []Need }

func (l *list) add(kind, name, how string, optional *bool, keys ...string) {
	if name != "" && (optional == nil || !*optional) {
		l.all = append(l.all, Need{Kind: kind, Name: name, Keys: keys, How: how})
	}
}

func (l *list) volume(v *corev1.Volume) {
	if s := v.Secret; s != nil {
		l.add(NeedSecret, s.SecretName, "mounts", s.Optional, needKeysOf(s.Items)...)
	}
	if m := v.ConfigMap; m != nil {
		l.add(ConfigMap, m.Name, "mounts", m.Optional, needKeysOf(m.Items)...)
	}
	if p := v.Projected; p != nil {
		for _, s := range p.Sources {
			if s.Secret != nil {
				l.add(NeedSecret, s.Secret.Name, "mounts", s.Secret.Optional, needKeysOf(s.Secret.Items)...)
			}
			if s.ConfigMap != nil {
				l.add(ConfigMap, s.ConfigMap.Name, "mounts", s.ConfigMap.Optional, needKeysOf(s.ConfigMap.Items)...)
			}
		}
	}
	if v.CSI != nil && v.CSI.NodePublishSecretRef != nil {
		l.add(NeedSecret, v.CSI.NodePublishSecretRef.Name, "mounts a volume with", nil)
	}
}

func needKeysOf(items []corev1.KeyToPath) []string {
	var keys []string
	for _, k := range items {
		keys = append(keys, k.Key)
	}
	return keys
}

func (l *list) environment(c *corev1.Container) {
	defer l.once(len(l.all))
	for _, e := range c.EnvFrom {
		if e.SecretRef != nil {
			l.add(NeedSecret, e.SecretRef.Name, "takes its environment from", e.SecretRef.Optional)
		}
		if e.ConfigMapRef != nil {
			l.add(ConfigMap, e.ConfigMapRef.Name, "takes its environment from", e.ConfigMapRef.Optional)
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			continue
		}
		if r := e.ValueFrom.SecretKeyRef; r != nil {
			l.add(NeedSecret, r.Name, "takes "+e.Name+" from", r.Optional, r.Key)
		}
		if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
			l.add(ConfigMap, r.Name, "takes "+e.Name+" from", r.Optional, r.Key)
		}
	}
}

// parts adds the keys that a container mounts one by one (subPath). Where a volume has items, they
// name the keys; a subPath that is none of their paths is a matter of the template alone (Unnamed).
func (l *list) parts(spec *corev1.PodSpec, c *corev1.Container) {
	defer l.once(len(l.all))
	for _, m := range c.VolumeMounts {
		kind, name, items, optional, ok := source(spec, m)
		if key := path.Clean(m.SubPath); ok && len(items) == 0 && key != "." && !strings.Contains(key, "/") {
			before := len(l.all)
			l.add(kind, name, "mounts", optional, key)
			for i := before; i < len(l.all); i++ {
				l.all[i].Then = emptyDirectory(c.Name, m.MountPath)
			}
		}
	}
}

// once marks what was added since there were so many.
func (l *list) once(before int) {
	for i := before; i < len(l.all); i++ {
		l.all[i].Once = true
	}
}

// source returns the one Secret or ConfigMap that a subPath is of; false for other volumes.
func source(spec *corev1.PodSpec, m corev1.VolumeMount) (kind, name string, items []corev1.KeyToPath, optional *bool, ok bool) {
	i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
	if m.SubPath == "" || i < 0 {
		return "", "", nil, nil, false
	}
	switch v := &spec.Volumes[i]; {
	case v.Secret != nil:
		return NeedSecret, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional, true
	case v.ConfigMap != nil:
		return ConfigMap, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional, true
	case v.Projected != nil && len(v.Projected.Sources) == 1 && v.Projected.Sources[0].Secret != nil:
		s := v.Projected.Sources[0].Secret
		return NeedSecret, s.Name, s.Items, s.Optional, true
	case v.Projected != nil && len(v.Projected.Sources) == 1 && v.Projected.Sources[0].ConfigMap != nil:
		s := v.Projected.Sources[0].ConfigMap
		return ConfigMap, s.Name, s.Items, s.Optional, true
	}
	return "", "", nil, nil, false
}

func emptyDirectory(container, at string) string {
	return "a kubelet mounts an empty directory in its place (container " + container + ", " + at + ")"
}

// NeedPart is a subPath that nothing in its volume has as its path.
type NeedPart struct{ Container, SubPath, Volume, Then string }

// NeedUnnamed returns the mounts of a path that their volume does not make. keys are those of a Secret or ConfigMap, nil if
// they are not known; a subPath that may be a key of the one object of its volume is a matter of NeedsOf.
func NeedUnnamed(spec *corev1.PodSpec, keys func(kind, name string) []string) []NeedPart {
	var found []NeedPart
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, m := range c.VolumeMounts {
			at := path.Clean(m.SubPath)
			i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
			if at == "." || i < 0 {
				continue
			}
			if _, _, items, _, one := source(spec, m); one && len(items) == 0 && !strings.Contains(at, "/") {
				continue
			}
			made, known := pathsOf(&spec.Volumes[i], keys)
			if known && !slices.ContainsFunc(made, func(p string) bool { p = path.Clean(p); return p == at || strings.HasPrefix(p, at+"/") }) {
				found = append(found, NeedPart{c.Name, m.SubPath, m.Name, emptyDirectory(c.Name, m.MountPath)})
			}
		}
	}
	return found
}

// pathsOf are the files of a volume; known is false for a volume of another kind, for what is optional and for keys that
// are not known.
func pathsOf(v *corev1.Volume, keys func(kind, name string) []string) (paths []string, known bool) {
	known = true
	of := func(kind, name string, items []corev1.KeyToPath, optional *bool) {
		for _, k := range items {
			paths = append(paths, k.Path)
		}
		if len(items) == 0 {
			have := keys(kind, name)
			paths, known = append(paths, have...), known && have != nil
		}
		known = known && (optional == nil || !*optional)
	}
	fields := func(items []corev1.DownwardAPIVolumeFile) {
		for _, f := range items {
			paths = append(paths, f.Path)
		}
	}
	switch {
	case v.Secret != nil:
		of(NeedSecret, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional)
	case v.ConfigMap != nil:
		of(ConfigMap, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional)
	case v.DownwardAPI != nil:
		fields(v.DownwardAPI.Items)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			switch {
			case s.Secret != nil:
				of(NeedSecret, s.Secret.Name, s.Secret.Items, s.Secret.Optional)
			case s.ConfigMap != nil:
				of(ConfigMap, s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional)
			case s.DownwardAPI != nil:
				fields(s.DownwardAPI.Items)
			case s.ServiceAccountToken != nil:
				paths = append(paths, s.ServiceAccountToken.Path)
			case s.ClusterTrustBundle != nil:
				paths = append(paths, s.ClusterTrustBundle.Path)
			case s.PodCertificate != nil:
				known = false
			} // else it is empty, and makes nothing
		}
	default:
		return nil, false
	}
	return paths, known
}

// Keys are those that an object is rendered with.
func Keys(o *bundle.Object) map[string]bool {
	keys := map[string]bool{}
	for _, field := range []string{"data", "stringData", "binaryData"} {
		m, _ := o.Object.Object[field].(map[string]any)
		for k := range m {
			keys[k] = true
		}
	}
	return keys
}
