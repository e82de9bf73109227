package refs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// kubeletData is what a ConfigMap or a Secret has, as far as that is known.
type kubeletData struct {
	// Values are those that are known, by key, and Keys are the others.
	Values map[string]string
	Keys   []string
	// Open: it may have, or get, keys that are not known.
	Open bool
}

// kubeletAround is what the variables of a pod's containers come from, besides its template.
type kubeletAround struct {
	// Data is a ConfigMap's or a Secret's of the pod's namespace. Without one it is open: whether it must exist
	// is not asked here.
	Data func(kind, name string) kubeletData
	// Labels and Annotations are the template's. Open: something else may add some.
	Labels, Annotations map[string]string
	Open                bool
	// Service reports whether the namespace has, or may have, a Service with a variable of this name.
	Service func(name string) bool
}

// kubeletPaths finds mounts whose subPathExpr a kubelet cannot expand, or expands to a path that it does not mount. It
// does as the kubelet does (ExpandContainerVolumeMounts, makeMounts in k8s.io/kubernetes/pkg/kubelet): a variable that
// is empty counts as missing, and the path is relative and has no "..". A value that only the cluster knows could
// be any.
func kubeletPaths(spec *corev1.PodSpec, in kubeletAround) []KubeletRefusal {
	var all []KubeletRefusal
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			c := &list[i]
			for _, m := range c.VolumeMounts {
				if m.SubPathExpr != "" {
					all = append(all, mounted(c, &m, environmentOf(spec, c, in))...)
				}
			}
		}
	}
	return all
}

// kubeletExpanded is a template with each subPathExpr whose value is known as the subPath that it stands for.
func kubeletExpanded(spec *corev1.PodSpec, in kubeletAround) *corev1.PodSpec {
	var out *corev1.PodSpec
	for which, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			for j, m := range list[i].VolumeMounts {
				if m.SubPathExpr == "" {
					continue
				}
				to, missing, known := expand(m.SubPathExpr, environmentOf(spec, &list[i], in).lookup)
				if len(missing) > 0 || !known {
					continue
				}
				if out == nil {
					out = spec.DeepCopy()
				}
				copied := [][]corev1.Container{out.InitContainers, out.Containers}[which]
				copied[i].VolumeMounts[j].SubPath, copied[i].VolumeMounts[j].SubPathExpr = to, ""
			}
		}
	}
	if out == nil {
		return spec
	}
	return out
}

func mounted(c *corev1.Container, m *corev1.VolumeMount, env *environment) []KubeletRefusal {
	const then = "a kubelet never starts it (CreateContainerConfigError)"
	at := fmt.Sprintf("container %s mounts %s at %s of volume %s (subPathExpr)", c.Name, m.MountPath, m.SubPathExpr, m.Name)
	to, missing, _ := expand(m.SubPathExpr, env.lookup)
	var all []KubeletRefusal
	for _, name := range missing {
		text := fmt.Sprintf("%s, and has no variable %s", at, name)
		if _, ok := env.values[name]; ok {
			text = fmt.Sprintf("%s, and its variable %s is empty", at, name)
		}
		all = append(all, KubeletRefusal{Name: "$(" + name + ")", Text: text, Then: then})
	}
	switch {
	case len(missing) > 0:
	case path.IsAbs(to):
		all = append(all, KubeletRefusal{Name: m.SubPathExpr, Text: fmt.Sprintf("%s, which is the absolute path %s", at, to), Then: then})
	case slices.Contains(strings.Split(to, "/"), ".."):
		all = append(all, KubeletRefusal{Name: m.SubPathExpr, Text: fmt.Sprintf("%s, which is %s, and a path of a volume may not contain '..'", at, to), Then: then})
	}
	return all
}

// environment are the variables of a container.
type environment struct {
	values map[string]string
	// unknown are variables whose value is not known. Open: there may be others.
	unknown map[string]bool
	open    bool
	service func(name string) bool
}

// environmentOf makes the variables as makeEnvironmentVariables of the kubelet does.
func environmentOf(spec *corev1.PodSpec, c *corev1.Container, in kubeletAround) *environment {
	e := &environment{values: map[string]string{}, unknown: map[string]bool{}, service: func(name string) bool {
		return ofService("kubernetes", name) || (spec.EnableServiceLinks == nil || *spec.EnableServiceLinks) && in.Service(name)
	}}
	for _, from := range c.EnvFrom {
		var d kubeletData
		switch {
		case from.ConfigMapRef != nil:
			d = in.Data("ConfigMap", from.ConfigMapRef.Name)
		case from.SecretRef != nil:
			d = in.Data("Secret", from.SecretRef.Name)
		}
		e.open = e.open || d.Open
		for k, v := range d.Values {
			e.set(from.Prefix+k, v, true)
		}
		for _, k := range d.Keys {
			e.set(from.Prefix+k, "", false)
		}
	}
	for _, v := range c.Env {
		if v.Value != "" || v.ValueFrom == nil {
			value, known := e.expanded(v.Value)
			e.set(v.Name, value, known)
			continue
		}
		if value, known, set := valueFrom(v.ValueFrom, in); set {
			e.set(v.Name, value, known)
		}
	}
	return e
}

func (e *environment) set(name, value string, known bool) {
	delete(e.values, name)
	delete(e.unknown, name)
	if known {
		e.values[name] = value
		return
	}
	e.unknown[name] = true
}

// expanded is the value of a variable, in which a name that is none stays as it is.
func (e *environment) expanded(text string) (string, bool) {
	value, _, known := expand(text, func(name string) (string, bool, bool) {
		value, known, ok := e.lookup(name)
		if !ok {
			return "$(" + name + ")", true, true
		}
		return value, known, true
	})
	return value, known
}

// lookup returns a variable's value, whether that is known, and whether the container has the variable.
func (e *environment) lookup(name string) (value string, known, ok bool) {
	if value, ok = e.values[name]; ok {
		return value, true, true
	}
	if e.unknown[name] || e.open || e.service(name) {
		return "", false, true
	}
	return "", false, false
}

// valueFrom is the value of one variable; set is false if the kubelet leaves the variable out.
func valueFrom(from *corev1.EnvVarSource, in kubeletAround) (value string, known, set bool) {
	key := func(kind, name, key string) (string, bool, bool) {
		d := in.Data(kind, name)
		if v, ok := d.Values[key]; ok {
			return v, true, true
		}
		return "", false, d.Open || slices.Contains(d.Keys, key)
	}
	switch {
	case from.ConfigMapKeyRef != nil:
		return key("ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
	case from.SecretKeyRef != nil:
		return key("Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key)
	case from.FieldRef != nil:
		return field(from.FieldRef.FieldPath, in)
	}
	return "", false, true
}

// field is a label or an annotation of the pod, which is empty if it has none of that name; other fields have a
// value that is not known.
func field(at string, in kubeletAround) (value string, known, set bool) {
	of, rest, ok := strings.Cut(at, "['")
	name := strings.TrimSuffix(rest, "']")
	have := map[string]map[string]string{"metadata.labels": in.Labels, "metadata.annotations": in.Annotations}[of]
	if value, there := have[name]; ok && there {
		return value, true, true
	}
	return "", !in.Open && ok && !ownLabel(name), true
}

// ownLabel reports whether Kubernetes' controllers may give a pod a label or an annotation of that name.
func ownLabel(name string) bool {
	prefix, _, ok := strings.Cut(name, "/")
	if !ok {
		return slices.Contains([]string{"pod-template-hash", "controller-revision-hash", "pod-template-generation", "job-name", "controller-uid"}, name)
	}
	return prefix == "kubernetes.io" || strings.HasSuffix(prefix, ".kubernetes.io") || prefix == "k8s.io" || strings.HasSuffix(prefix, ".k8s.io")
}

// expand replaces $(NAME) as k8s.io/kubernetes/third_party/forked/golang/expansion does: $$ is a dollar, a name ends at
// the first bracket, and what has no end stays. In place of a value that is not known it puts an x. missing are the
// names that have no value, sorted.
func expand(text string, lookup func(name string) (value string, known, ok bool)) (to string, missing []string, known bool) {
	var out strings.Builder
	known = true
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		if text[i+1] == '$' {
			out.WriteByte('$')
			i++
			continue
		}
		name, _, ends := strings.Cut(text[i+1:], ")")
		if !ends || name == "" || name[0] != '(' {
			out.WriteByte('$')
			continue
		}
		i += len(name) + 1
		value, sure, ok := lookup(name[1:])
		switch {
		case !ok || sure && value == "":
			if !slices.Contains(missing, name[1:]) {
				missing = append(missing, name[1:])
			}
		case !sure:
			known = false
			out.WriteByte('x')
		default:
			out.WriteString(value)
		}
	}
	slices.Sort(missing)
	return out.String(), missing, known
}

// ofService reports whether a name is that of a variable which a kubelet makes for a Service.
func ofService(service, name string) bool {
	rest, ok := strings.CutPrefix(name, strings.ToUpper(strings.ReplaceAll(service, "-", "_"))+"_")
	return ok && (slices.Contains([]string{"SERVICE_HOST", "SERVICE_PORT", "PORT"}, rest) || strings.HasPrefix(rest, "SERVICE_PORT_") || strings.HasPrefix(rest, "PORT_"))
}
