package facts

// needs.go lists the Secrets, ConfigMaps and keys that a kubelet needs for a pod. It must not
// know clusters.

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
}

// NeedsOf returns what a pod cannot start without, or not as it is meant to. Optional references are left
// out.
func NeedsOf(spec *corev1.PodSpec) []Need {
	l := &list{}
	for i := range spec.Volumes {
		l.volume(&spec.Volumes[i])
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			l.environment(&containers[i])
			l.parts(spec, &containers[i])
		}
	}
	return l.all
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
	for _, m := range c.VolumeMounts {
		kind, name, items, optional, ok := source(spec, m)
		if key := path.Clean(m.SubPath); ok && len(items) == 0 && !strings.Contains(key, "/") {
			before := len(l.all)
			l.add(kind, name, "mounts", optional, key)
			for i := before; i < len(l.all); i++ {
				l.all[i].Then = emptyDirectory(c.Name, m.MountPath)
			}
		}
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

// NeedPart is a subPath that none of the items of its volume has as its path.
type NeedPart struct{ Container, SubPath, Volume, Then string }

// NeedUnnamed returns the mounts of a path that the items of their volume do not make, so that no key of
// the Secret or ConfigMap gets there.
func NeedUnnamed(spec *corev1.PodSpec) []NeedPart {
	var found []NeedPart
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, m := range c.VolumeMounts {
			_, _, items, optional, ok := source(spec, m)
			at := path.Clean(m.SubPath)
			if !ok || len(items) == 0 || optional != nil && *optional || slices.ContainsFunc(items, func(k corev1.KeyToPath) bool {
				made := path.Clean(k.Path)
				return made == at || strings.HasPrefix(made, at+"/")
			}) {
				continue
			}
			found = append(found, NeedPart{c.Name, m.SubPath, m.Name, emptyDirectory(c.Name, m.MountPath)})
		}
	}
	return found
}
