package workload

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

// data is what a ConfigMap or a Secret has, as far as that is known.
type data struct {
	// Values are those that are known, by key, and Keys are the others.
	Values map[string]string
	Keys   []string
	// Open: it may have, or get, keys that are not known.
	Open bool
}

// around is what the variables of a pod's containers come from, besides its template.
type around struct {
	// Data is a ConfigMap's or a Secret's of the pod's namespace. Without one it is open: whether it must exist
	// is not asked here.
	Data func(kind, name string) data
	// Labels and Annotations are the template's. Open: something else may add some.
	Labels, Annotations map[string]string
	Open                bool
	// Service reports whether the namespace has, or may have, a Service with a variable of this name.
	Service func(name string) bool
}

// expanded is a template with each subPathExpr whose value is known as the subPath that it stands for.
func expanded(spec *corev1.PodSpec, in around) *corev1.PodSpec {
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

// environment are the variables of a container.
type environment struct {
	values map[string]string
	// unknown are variables whose value is not known. Open: there may be others.
	unknown map[string]bool
	open    bool
	service func(name string) bool
}

// environmentOf makes the variables as makeEnvironmentVariables of the kubelet does.
func environmentOf(spec *corev1.PodSpec, c *corev1.Container, in around) *environment {
	e := &environment{values: map[string]string{}, unknown: map[string]bool{}, service: func(name string) bool {
		return ofService(&apiService, name) || (spec.EnableServiceLinks == nil || *spec.EnableServiceLinks) && in.Service(name)
	}}
	for _, from := range c.EnvFrom {
		var d data
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
			value, known := e.resolved(v.Value)
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

// resolved is the value of a variable, in which a name that is none stays as it is.
func (e *environment) resolved(text string) (string, bool) {
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
func valueFrom(from *corev1.EnvVarSource, in around) (value string, known, set bool) {
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
func field(at string, in around) (value string, known, set bool) {
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

// expand replaces variables as podspec.Expand does. In place of a value that is not known it puts an x. missing are the names
// that have no value, sorted.
func expand(text string, lookup func(name string) (value string, known, ok bool)) (to string, missing []string, known bool) {
	known = true
	to = podspec.Expand(text, func(name string) string {
		value, sure, ok := lookup(name)
		switch {
		case !ok || sure && value == "":
			missing = append(missing, name)
		case !sure:
			known = false
			return "x"
		}
		return value
	})
	slices.Sort(missing)
	return to, slices.Compact(missing), known
}

// apiService is the API server's, which each cluster has.
var apiService = corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}}

// ofService reports whether a name is that of a variable which a kubelet makes for a Service: none for one without an
// address (https://github.com/kubernetes/kubernetes/blob/master/pkg/kubelet/envvars/envvars.go).
func ofService(s *corev1.Service, name string) bool {
	upper := func(text string) string { return strings.ToUpper(strings.ReplaceAll(text, "-", "_")) }
	rest, ok := strings.CutPrefix(name, upper(s.Name)+"_")
	switch {
	case !ok, s.Spec.ClusterIP == corev1.ClusterIPNone, s.Spec.Type == corev1.ServiceTypeExternalName:
		return false
	case rest == "SERVICE_HOST", len(s.Spec.Ports) > 0 && (rest == "SERVICE_PORT" || rest == "PORT"):
		return true
	}
	return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
		link := fmt.Sprintf("PORT_%d_%s", p.Port, strings.ToUpper(string(cmp.Or(p.Protocol, corev1.ProtocolTCP))))
		return p.Name != "" && rest == "SERVICE_PORT_"+upper(p.Name) || slices.Contains([]string{link, link + "_PROTO", link + "_PORT", link + "_ADDR"}, rest)
	})
}

// aroundOf is what the variables of a template's containers come from, as far as the bundle and the cluster show it.
func aroundOf(s *judge.Scope, p facts.PodTemplate) around {
	namespace, from := p.Object.Object.GetNamespace(), p.Object.Ref()
	a := around{Open: true,
		Data:    func(kind, name string) data { return dataOf(s, kind, namespace, name, from) },
		Service: func(name string) bool { return hasVariable(s, namespace, name, from) },
	}
	if !s.IsMade(p.Object) {
		a.Labels, a.Annotations, a.Open = p.Template.Labels, p.Template.Annotations, s.Mutates()
	}
	return a
}

// dataOf is what a ConfigMap or a Secret has. Of one that the bundle does not render, only the keys are known.
func dataOf(s *judge.Scope, kind, namespace, name string, from result.Ref) data {
	d, found := data{Values: map[string]string{}}, false
	for _, o := range named(s, kind, namespace, name) {
		found = true
		maps.Copy(d.Values, renderedValues(o))
	}
	exists := false
	if s.Live != nil {
		all := s.Live.ConfigMaps
		if kind == facts.NeedSecret {
			all = s.Live.Secrets
		}
		var keys map[string]bool
		keys, exists = all[infra.NamespacedName(namespace, name)]
		for k := range keys {
			if _, ok := d.Values[k]; !ok {
				d.Keys = append(d.Keys, k)
			}
		}
	}
	d.Open = !found && !exists || len(d.Values)+len(d.Keys) == 0 || s.MadeAtRunTime(kind, namespace, name, from) != nil
	if d.Open { // whatever is filled in at run time may be filled in for what is rendered, too
		d.Keys, d.Values = append(d.Keys, slices.Collect(maps.Keys(d.Values))...), nil
	}
	return d
}

// named are the rendered objects of that name, which several releases or a hook and an ordinary object may have.
func named(s *judge.Scope, kind, namespace, name string) []*bundle.Object {
	return slices.DeleteFunc(s.Rendered(schema.GroupKind{Kind: kind}), func(o *bundle.Object) bool {
		return o.Object.GetNamespace() != namespace || o.Object.GetName() != name
	})
}

// renderedValues are the texts of a ConfigMap or a Secret. What is no base64 the API server rejects.
func renderedValues(o *bundle.Object) map[string]string {
	values := map[string]string{}
	all, _, _ := unstructured.NestedMap(o.Object.Object, "data")
	for k, v := range all {
		text := fmt.Sprint(v)
		if o.Object.GetKind() == facts.NeedSecret {
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				continue
			}
			text = string(raw)
		}
		values[k] = text
	}
	plain, _, _ := unstructured.NestedMap(o.Object.Object, "stringData")
	for k, v := range plain {
		values[k] = fmt.Sprint(v)
	}
	return values
}

// hasVariable reports whether the namespace has a Service with a variable of that name, or something makes one.
func hasVariable(s *judge.Scope, namespace, name string, from result.Ref) bool {
	for _, service := range s.Services() {
		if service.Namespace == namespace && ofService(&service, name) {
			return true
		}
	}
	for _, end := range []string{"_SERVICE_", "_PORT"} {
		// Before there is a cluster, what it has besides the bundle is not known.
		if service, _, ok := strings.Cut(name, end); ok && (s.Live == nil || s.MadeAtRunTime("Service", namespace, strings.ToLower(strings.ReplaceAll(service, "_", "-")), from) != nil) {
			return true
		}
	}
	return false
}
