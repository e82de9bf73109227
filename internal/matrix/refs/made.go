package refs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/matrix/refs/needs"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// maker is what creates an object at run time, on a cluster whose operators and Jobs do their work.
type maker struct {
	by string
	// keys are those that it is known to create; nil if that is not known.
	keys []string
}

// without returns the keys that the maker is known not to create.
func (m *maker) without(keys []string) []string {
	if m.keys == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(m.keys, k) })
}

// product is a kind of custom resource, and the field that names the object which its operator
// creates.
type product struct {
	group, kind string
	makes       string
	path        []string
	// elseOwn means that without a value at the path it is the resource's own name.
	elseOwn bool
	keys    func(spec map[string]any) []string
}

func products() []product {
	return []product{
		{group: "cert-manager.io", kind: "Certificate", makes: needs.Secret, path: []string{"spec", "secretName"}, keys: certificateKeys},
		{group: "cert-manager.io", kind: "Issuer", makes: needs.Secret, path: []string{"spec", "acme", "privateKeySecretRef", "name"}},
		{group: "external-secrets.io", kind: "ExternalSecret", makes: needs.Secret, path: []string{"spec", "target", "name"}, elseOwn: true},
		{group: "bitnami.com", kind: "SealedSecret", makes: needs.Secret, path: []string{"spec", "template", "metadata", "name"}, elseOwn: true},
		{group: "secrets.hashicorp.com", kind: "VaultStaticSecret", makes: needs.Secret, path: []string{"spec", "destination", "name"}},
	}
}

// certificateKeys returns the keys of a Certificate's Secret: cert-manager writes three, and more
// only if the Certificate requests other formats.
func certificateKeys(spec map[string]any) []string {
	if spec["keystores"] != nil || spec["additionalOutputFormats"] != nil {
		return nil
	}
	return []string{"tls.crt", "tls.key", "ca.crt"}
}

// maker returns what will create an object at run time; nil if nothing in the bundle seems to. A
// custom resource in products is known to. Others only seem to: a Job or an operator whose
// arguments name the object, a custom resource that names it, or a Job that may create such
// objects. Reports call these "not verified", never existing.
func (c *checker) maker(kind, namespace, name string, from result.Ref) *maker {
	var guess *maker
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		if ns := o.Object.GetNamespace(); ns != "" && ns != namespace && namespace != "" {
			continue
		}
		if m := known(o, kind, name); m != nil {
			return m
		}
		if guess == nil && o.Ref() != from && c.seemsToMake(o, kind, name) {
			guess = &maker{by: fmt.Sprintf("%s (%s)", o.Ref(), o.Component)}
		}
	}
	return guess
}

func known(o *bundle.Object, kind, name string) *maker {
	gvk := o.Object.GroupVersionKind()
	for _, p := range products() {
		if p.group != gvk.Group || p.kind != gvk.Kind || p.makes != kind {
			continue
		}
		made, _, _ := unstructured.NestedString(o.Object.Object, p.path...)
		if made == "" && p.elseOwn {
			made = o.Object.GetName()
		}
		if made != name {
			continue
		}
		m := &maker{by: fmt.Sprintf("%s (%s)", o.Ref(), o.Component)}
		if p.keys != nil {
			spec, _ := o.Object.Object["spec"].(map[string]any)
			m.keys = p.keys(spec)
		}
		return m
	}
	return nil
}

func (c *checker) seemsToMake(o *bundle.Object, kind, name string) bool {
	group := o.Object.GroupVersionKind().Group
	if spec := podSpecOf(o); spec != nil {
		return argumentsName(spec, name) || o.Object.GetKind() == "Job" && c.mayCreate(o, spec, kind)
	}
	// A monitor names Secrets that it reads.
	if !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || group == "monitoring.coreos.com" {
		return false
	}
	return slices.Contains(leaves(o.Object.Object["spec"]), name)
}

// podSpecOf returns the pod spec of a workload; nil for another object.
func podSpecOf(o *bundle.Object) *corev1.PodSpec {
	template := problem.Template(o)
	if template == nil {
		return nil
	}
	return &template.Spec
}

func argumentsName(spec *corev1.PodSpec, name string) bool {
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			texts := slices.Concat(list[i].Command, list[i].Args)
			for _, e := range list[i].Env {
				texts = append(texts, e.Value)
			}
			if slices.ContainsFunc(texts, func(t string) bool { return manifestline.Mentions(t, name) }) {
				return true
			}
		}
	}
	return false
}

// mayCreate reports whether the bundle lets a Job's service account create objects of the kind.
func (c *checker) mayCreate(job *bundle.Object, spec *corev1.PodSpec, kind string) bool {
	if spec.ServiceAccountName == "" {
		return false
	}
	resource := strings.ToLower(kind) + "s"
	roles := map[string]bool{}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		var b rbacv1.RoleBinding // the fields of a ClusterRoleBinding too
		if k := o.Object.GetKind(); k != "RoleBinding" && k != "ClusterRoleBinding" || !problem.Read(o, &b) {
			continue
		}
		if slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
			return s.Kind == "ServiceAccount" && s.Name == spec.ServiceAccountName && (s.Namespace == job.Object.GetNamespace() || s.Namespace == "")
		}) {
			roles[b.RoleRef.Kind+"/"+b.RoleRef.Name] = true
		}
	}
	for i := range c.expectation.Objects {
		o := &c.expectation.Objects[i]
		var r rbacv1.Role
		if !roles[o.Object.GetKind()+"/"+o.Object.GetName()] || !problem.Read(o, &r) {
			continue
		}
		for _, rule := range r.Rules {
			if problem.Covers(rule.APIGroups, "") && problem.Covers(rule.Resources, resource) && (problem.Covers(rule.Verbs, "create") || problem.Covers(rule.Verbs, "update")) {
				return true
			}
		}
	}
	return false
}

// Schedulers returns the names of the schedulers besides Kubernetes' own that pods of the recipe
// are for and that the recipe itself runs, sorted. A platform whose pods are simulated has to
// simulate them, except those whose images run, according to runs.
func Schedulers(e *bundle.Expectation, runs func(image string) bool) []string {
	names := map[string]bool{}
	for i := range e.Workloads {
		if name := observe.OtherScheduler(&e.Workloads[i].PodSpec); name != "" && runsScheduler(e, name) != "" && !RunsForReal(e, name, runs) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// RunsScheduler reports whether something of the bundle seems to run a scheduler of that name.
func RunsScheduler(e *bundle.Expectation, name string) bool { return runsScheduler(e, name) != "" }

// runsScheduler returns what seems to run a scheduler of that name; "" if nothing does. A mere
// reference does not count: a resource or a pod with it as schedulerName, or an operator with a
// flag for its jobs' scheduler.
func runsScheduler(e *bundle.Expectation, name string) string {
	for i := range e.Objects {
		o := &e.Objects[i]
		spec := podSpecOf(o)
		switch {
		case spec == nil:
			if !configuresScheduler(o.Object.GroupVersionKind().GroupKind()) || !slices.Contains(leaves(o.Object.Object["spec"]), name) {
				continue
			}
		case !workloadRunsScheduler(o.Object.GetName(), spec, name):
			continue
		}
		return fmt.Sprintf("%s (%s)", o.Ref(), o.Component)
	}
	for i := range e.Workloads {
		if w := &e.Workloads[i]; w.PodSpec.SchedulerName != name && (w.Name == name || w.Release == name) {
			return fmt.Sprintf("%s (%s)", observe.WorkloadRef(w.Kind, w.Namespace, w.Name), w.Component)
		}
	}
	return ""
}

// RunsForReal reports whether a workload that seems to run the scheduler of that name has an image
// that runs.
func RunsForReal(e *bundle.Expectation, name string, runs func(image string) bool) bool {
	for i := range e.Workloads {
		w := &e.Workloads[i]
		if spec := &w.PodSpec; workloadRunsScheduler(w.Name, spec, name) || spec.SchedulerName != name && w.Release == name {
			if slices.ContainsFunc(spec.Containers, func(c corev1.Container) bool { return runs(c.Image) }) {
				return true
			}
		}
	}
	return false
}

// workloadRunsScheduler reports whether a workload seems to run the scheduler of that name.
func workloadRunsScheduler(workload string, spec *corev1.PodSpec, name string) bool {
	return spec.SchedulerName != name && (workload == name || isScheduler(workload, spec) && argumentsName(spec, name))
}

// configuresScheduler reports whether an operator runs a scheduler for each resource of the kind.
// The list is closed: in other kinds the name is that of the scheduler for their pods.
func configuresScheduler(kind schema.GroupKind) bool {
	return kind.Group == "kai.scheduler" && (kind.Kind == "Config" || kind.Kind == "SchedulingShard")
}

// isScheduler reports whether a workload calls itself a scheduler, in its name or in that of a
// container or an image.
func isScheduler(workload string, spec *corev1.PodSpec) bool {
	texts := []string{workload}
	for i := range spec.Containers {
		texts = append(texts, spec.Containers[i].Name, spec.Containers[i].Image)
	}
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, "scheduler") })
}
