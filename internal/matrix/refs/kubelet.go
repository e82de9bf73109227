package refs

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

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
		case facts.NeedSecret:
			c.transient[facts.NeedSecret+name] = c.have.Secrets[name] == nil
			c.have.Secrets[name] = renderedKeys(o)
		case facts.ConfigMap:
			c.transient[facts.ConfigMap+name] = c.have.ConfigMaps[name] == nil
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
func (c *checker) takenAway(r refsReference, n facts.Need, full string) {
	r.name, r.cause, r.then = n.Name, n.Kind+full, waits
	if n.Kind == "ServiceAccount" {
		r.then = "the API server rejects its pods"
	}
	r.text = fmt.Sprintf("%s %s %s, a hook that is deleted once it has succeeded (helm.sh/hook-delete-policy)", n.How, n.Kind, full)
	c.fail(reason.WorkloadFailed, r)
}

// noKey fails a workload that needs keys which an object does not have.
func (c *checker) noKey(r refsReference, n facts.Need, full string, keys map[string]bool, missing []string) {
	r.text = fmt.Sprintf("%s key %s of %s %s, which has no such key (it has %s)", n.How, strings.Join(missing, ", "), n.Kind, full,
		strings.Join(lists.AtMost(slices.Sorted(maps.Keys(keys)), 5), ", "))
	r.cause, r.then = n.Kind+full+strings.Join(missing, ","), cmp.Or(n.Then, r.then)
	if p, _ := facts.PlaceOf(c.components, r.component, r.template, missing[0]); p.Path != "" {
		r.name = missing[0]
	}
	c.fail(reason.WorkloadFailed, r)
}

// lacks checks the keys that a pod needs of objects that the bundle has, and that nothing fills at
// run time; and the parts of volumes that no item of theirs makes. No cluster is needed for either.
func (c *checker) lacks(w *bundle.Workload) {
	r := refsReference{from: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), component: w.Component, template: w.Template, then: waits}
	for _, n := range facts.NeedsOf(kubeletExpanded(&w.PodSpec, c.around(w))) {
		keys := map[string]bool{}
		for i := range c.expectation.Objects {
			if o := &c.expectation.Objects[i]; o.Object.GetKind() == n.Kind && o.Object.GetNamespace() == w.Namespace && o.Object.GetName() == n.Name {
				maps.Copy(keys, renderedKeys(o))
			}
		}
		missing := slices.DeleteFunc(slices.Clone(n.Keys), func(k string) bool { return keys[k] })
		if r.name = n.Name; len(missing) > 0 && len(keys) > 0 && c.maker(n.Kind, w.Namespace, n.Name, r.from) == nil {
			c.noKey(r, n, infra.NamespacedName(w.Namespace, n.Name), keys, missing)
		}
	}
	for _, p := range facts.NeedUnnamed(kubeletExpanded(&w.PodSpec, c.around(w))) {
		r.name, r.cause, r.then = p.SubPath, "part "+r.from.String()+p.Volume+p.SubPath, p.Then
		r.text = fmt.Sprintf("mounts %s of volume %s (subPath), and no item of the volume has that path", p.SubPath, p.Volume)
		c.fail(reason.WorkloadFailed, r)
	}
}

// waits is what a kubelet does without a Secret, a ConfigMap or a key.
const waits = "a kubelet starts none of its containers without it"

// podNeeds checks the ConfigMaps, Secrets and keys that a pod needs. Without one of them, a kubelet
// starts no container of the pod and waits for ever.
func (c *checker) podNeeds(w *bundle.Workload) {
	from := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
	for _, n := range facts.NeedsOf(kubeletExpanded(&w.PodSpec, c.around(w))) {
		r := refsReference{from: from, component: w.Component, template: w.Template, name: n.Name, then: waits}
		full := infra.NamespacedName(w.Namespace, n.Name)
		have := c.have.Secrets
		if n.Kind == facts.ConfigMap {
			have = c.have.ConfigMaps
		}
		keys, exists := have[full]
		missing := slices.DeleteFunc(slices.Clone(n.Keys), func(k string) bool { return keys[k] })
		if exists && !w.Hook && c.transient[n.Kind+full] && c.maker(n.Kind, w.Namespace, n.Name, from) == nil {
			c.takenAway(r, n, full)
			continue
		}
		if exists && len(missing) == 0 {
			continue
		}
		if m := c.maker(n.Kind, w.Namespace, n.Name, from); m != nil {
			if unknown := m.Without(missing); len(unknown) > 0 {
				r.text = fmt.Sprintf("%s key %s of %s %s, which %s makes without that key", n.How, strings.Join(unknown, ", "), n.Kind, full, m.By)
				r.cause = n.Kind + full + strings.Join(unknown, ",")
				c.fail(reason.WorkloadFailed, r)
				continue
			}
			c.unverified(n.Kind+" "+full, "is made at run time by "+m.By, from, "does not start", "do not start")
			continue
		}
		switch {
		case !exists:
			r.text = fmt.Sprintf("%s %s %s, which does not exist, and nothing in the recipe makes it", n.How, n.Kind, full)
			r.cause = n.Kind + full
		case len(keys) == 0:
			c.unverified(n.Kind+" "+full, "is rendered empty, to be filled at run time with "+strings.Join(missing, ", "), from, "does not start", "do not start")
			continue
		default:
			c.noKey(r, n, full, keys, missing)
			continue
		}
		c.fail(reason.WorkloadFailed, r)
	}
	for _, s := range w.PodSpec.ImagePullSecrets {
		full := infra.NamespacedName(w.Namespace, s.Name)
		if s.Name == "" || c.have.Secrets[full] != nil {
			continue
		}
		if m := c.maker(facts.NeedSecret, w.Namespace, s.Name, from); m != nil {
			c.unverified("Secret "+full, "is made at run time by "+m.By, from, "may not pull its images", "may not pull their images")
			continue
		}
		c.warn(refsReference{from: from, component: w.Component, template: w.Template, name: s.Name,
			text: "imagePullSecrets names Secret " + full + ", which does not exist", then: "a kubelet pulls without it, and fails if the registry wants a login"})
	}
}

// around is what the variables of a workload's containers come from, as far as the bundle and the cluster show it.
func (c *checker) around(w *bundle.Workload) kubeletAround {
	from := observe.WorkloadRef(w.Kind, w.Namespace, w.Name)
	a := kubeletAround{Open: true,
		Data:    func(kind, name string) kubeletData { return c.data(kind, w.Namespace, name, from) },
		Service: func(name string) bool { return c.hasVariable(w.Namespace, name, from) },
	}
	if o := c.find(w.Kind, w.Namespace, w.Name, w.Release); o != nil {
		if t := problem.Template(o); t != nil {
			a.Labels, a.Annotations, a.Open = t.Labels, t.Annotations, c.changesPods()
		}
	}
	return a
}

// changesPods reports whether something of the bundle may change pods that are created.
func (c *checker) changesPods() bool {
	return slices.ContainsFunc(c.expectation.Objects, func(o bundle.Object) bool {
		return strings.HasPrefix(o.Object.GetKind(), "Mutating") && o.Object.GroupVersionKind().Group == "admissionregistration.k8s.io"
	})
}

// data is what a ConfigMap or a Secret has. Of one that the bundle does not render, only the keys are known.
func (c *checker) data(kind, namespace, name string, from result.Ref) kubeletData {
	d, found := kubeletData{Values: map[string]string{}}, false
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if o.Object.GetKind() != kind || o.Object.GroupVersionKind().Group != "" || o.Object.GetNamespace() != namespace || o.Object.GetName() != name {
			continue
		}
		found = true
		maps.Copy(d.Values, renderedValues(o))
	}
	live := c.have.ConfigMaps
	if kind == facts.NeedSecret {
		live = c.have.Secrets
	}
	keys, exists := live[infra.NamespacedName(namespace, name)]
	for k := range keys {
		if _, ok := d.Values[k]; !ok {
			d.Keys = append(d.Keys, k)
		}
	}
	d.Open = !found && !exists || len(d.Values)+len(d.Keys) == 0 || c.maker(kind, namespace, name, from) != nil
	if d.Open { // whatever is filled in at run time may be filled in for what is rendered, too
		d.Keys, d.Values = append(d.Keys, slices.Collect(maps.Keys(d.Values))...), nil
	}
	return d
}

// renderedValues are the texts of a ConfigMap or a Secret. What is no base64 the API server rejects.
func renderedValues(o *bundle.Object) map[string]string {
	values := map[string]string{}
	data, _, _ := unstructured.NestedMap(o.Object.Object, "data")
	for k, v := range data {
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
func (c *checker) hasVariable(namespace, name string, from result.Ref) bool {
	for i := range c.have.Services {
		if s := &c.have.Services[i]; s.Namespace == namespace && s.Spec.ClusterIP != corev1.ClusterIPNone && ofService(s.Name, name) {
			return true
		}
	}
	for _, end := range []string{"_SERVICE_", "_PORT"} {
		// Before there is a cluster, what it has besides the bundle is not known.
		if service, _, ok := strings.Cut(name, end); ok && (c.have.View == nil || c.maker("Service", namespace, strings.ToLower(strings.ReplaceAll(service, "_", "-")), from) != nil) {
			return true
		}
	}
	return false
}
