package refs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// The kinds whose data a kubelet hands to containers.
const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
)

// need is an object whose data a kubelet needs before it starts a container.
type need struct {
	kind, name string
	// keys are required in it; none: only the object.
	keys []string
	// how the pod uses it: "mounts", "takes its environment from".
	how string
}

// needs returns what a pod cannot start without. Optional references are left out.
func needs(spec *corev1.PodSpec) []need {
	var all []need
	add := func(kind, name, how string, optional *bool, keys ...string) {
		if name != "" && (optional == nil || !*optional) {
			all = append(all, need{kind, name, keys, how})
		}
	}
	items := func(list []corev1.KeyToPath) []string {
		var keys []string
		for _, k := range list {
			keys = append(keys, k.Key)
		}
		return keys
	}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if s := v.Secret; s != nil {
			add(kindSecret, s.SecretName, "mounts", s.Optional, items(s.Items)...)
		}
		if m := v.ConfigMap; m != nil {
			add(kindConfigMap, m.Name, "mounts", m.Optional, items(m.Items)...)
		}
		if p := v.Projected; p != nil {
			for _, s := range p.Sources {
				if s.Secret != nil {
					add(kindSecret, s.Secret.Name, "mounts", s.Secret.Optional, items(s.Secret.Items)...)
				}
				if s.ConfigMap != nil {
					add(kindConfigMap, s.ConfigMap.Name, "mounts", s.ConfigMap.Optional, items(s.ConfigMap.Items)...)
				}
			}
		}
		if v.CSI != nil && v.CSI.NodePublishSecretRef != nil {
			add(kindSecret, v.CSI.NodePublishSecretRef.Name, "mounts a volume with", nil)
		}
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			for _, e := range list[i].EnvFrom {
				if e.SecretRef != nil {
					add(kindSecret, e.SecretRef.Name, "takes its environment from", e.SecretRef.Optional)
				}
				if e.ConfigMapRef != nil {
					add(kindConfigMap, e.ConfigMapRef.Name, "takes its environment from", e.ConfigMapRef.Optional)
				}
			}
			for _, e := range list[i].Env {
				if e.ValueFrom == nil {
					continue
				}
				if r := e.ValueFrom.SecretKeyRef; r != nil {
					add(kindSecret, r.Name, "takes "+e.Name+" from", r.Optional, r.Key)
				}
				if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
					add(kindConfigMap, r.Name, "takes "+e.Name+" from", r.Optional, r.Key)
				}
			}
		}
	}
	return all
}

// addTransient counts what a hook policy deletes as existing: it did when the pods of hooks that need
// it started. Those of other workloads come later, or are created again later.
func (c *checker) addTransient() {
	c.transient = map[string]bool{}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if !o.Ephemeral {
			continue
		}
		name := infra.NamespacedName(o.Object.GetNamespace(), o.Object.GetName())
		switch o.Object.GetKind() {
		case kindSecret:
			c.transient[kindSecret+name] = c.have.Secrets[name] == nil
			c.have.Secrets[name] = renderedKeys(o)
		case kindConfigMap:
			c.transient[kindConfigMap+name] = c.have.ConfigMaps[name] == nil
			c.have.ConfigMaps[name] = renderedKeys(o)
		case "ServiceAccount":
			c.have.ServiceAccounts[name] = true
		}
	}
}

func renderedKeys(o *bundle.Object) map[string]bool {
	keys := map[string]bool{}
	for _, field := range []string{"data", "stringData", "binaryData"} {
		m, _ := o.Object.Object[field].(map[string]any)
		for k := range m {
			keys[k] = true
		}
	}
	return keys
}

// takenAway fails a workload whose need is a hook's that is deleted.
func (c *checker) takenAway(r reference, n need, full string) {
	r.name, r.cause, r.then = n.name, n.kind+full, "a kubelet starts none of its containers without it"
	if n.kind == "ServiceAccount" {
		r.then = "the API server rejects its pods"
	}
	r.text = fmt.Sprintf("%s %s %s, a hook that is deleted once it has succeeded (helm.sh/hook-delete-policy)", n.how, n.kind, full)
	c.fail(reason.WorkloadFailed, r)
}

// podNeeds checks the ConfigMaps, Secrets and keys that a pod needs. Without one of them, a kubelet
// starts no container of the pod and waits for ever.
func (c *checker) podNeeds(w *bundle.Workload) {
	from := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
	for _, n := range needs(&w.PodSpec) {
		r := reference{from: from, component: w.Component, template: w.Template, name: n.name, then: "a kubelet starts none of its containers without it"}
		full := infra.NamespacedName(w.Namespace, n.name)
		have := c.have.Secrets
		if n.kind == kindConfigMap {
			have = c.have.ConfigMaps
		}
		keys, exists := have[full]
		missing := slices.DeleteFunc(slices.Clone(n.keys), func(k string) bool { return keys[k] })
		if exists && !w.Hook && c.transient[n.kind+full] && c.maker(n.kind, w.Namespace, n.name, from) == nil {
			c.takenAway(r, n, full)
			continue
		}
		if exists && len(missing) == 0 {
			continue
		}
		if m := c.maker(n.kind, w.Namespace, n.name, from); m != nil {
			if unknown := m.without(missing); len(unknown) > 0 {
				r.text = fmt.Sprintf("%s key %s of %s %s, which %s makes without that key", n.how, strings.Join(unknown, ", "), n.kind, full, m.by)
				r.cause = n.kind + full + strings.Join(unknown, ",")
				c.fail(reason.WorkloadFailed, r)
				continue
			}
			c.unverified(n.kind+" "+full, "is made at run time by "+m.by, from, "does not start", "do not start")
			continue
		}
		switch {
		case !exists:
			r.text = fmt.Sprintf("%s %s %s, which does not exist, and nothing in the recipe makes it", n.how, n.kind, full)
			r.cause = n.kind + full
		case len(keys) == 0:
			c.unverified(n.kind+" "+full, "is rendered empty, to be filled at run time with "+strings.Join(missing, ", "), from, "does not start", "do not start")
			continue
		default:
			r.text = fmt.Sprintf("%s key %s of %s %s, which has no such key (it has %s)", n.how, strings.Join(missing, ", "), n.kind, full,
				strings.Join(lists.AtMost(slices.Sorted(maps.Keys(keys)), 5), ", "))
			r.cause = n.kind + full + strings.Join(missing, ",")
			if p, _ := PlaceOf(c.components, w.Component, w.Template, missing[0]); p.Path != "" {
				r.name = missing[0]
			}
		}
		c.fail(reason.WorkloadFailed, r)
	}
	for _, s := range w.PodSpec.ImagePullSecrets {
		full := infra.NamespacedName(w.Namespace, s.Name)
		if s.Name == "" || c.have.Secrets[full] != nil {
			continue
		}
		if m := c.maker(kindSecret, w.Namespace, s.Name, from); m != nil {
			c.unverified("Secret "+full, "is made at run time by "+m.by, from, "may not pull its images", "may not pull their images")
			continue
		}
		c.warn(reference{from: from, component: w.Component, template: w.Template, name: s.Name,
			text: "imagePullSecrets names Secret " + full + ", which does not exist", then: "a kubelet pulls without it, and fails if the registry wants a login"})
	}
}
