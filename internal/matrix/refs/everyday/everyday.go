// Package everyday finds ordinary mistakes in what objects refer to, which the API server accepts and
// nothing in a simulated cluster notices: disks for many nodes, autoscalers without requests, ports
// that a Service does not name, Secrets of another kind, policies that close everything. It must not read a Secret's values.
package everyday

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/refs/claims"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
)

// Cluster is what the cluster has: the keys of its Secrets and its claims by namespace/name, its
// Services, the provisioners of its StorageClasses, its volumes by name, and its nodes.
type Cluster struct {
	Secrets      map[string]map[string]bool
	Services     []corev1.Service
	Provisioners map[string]string
	ClaimSpecs   map[string]corev1.PersistentVolumeClaimSpec
	Volumes      map[string]*corev1.PersistentVolume
	Nodes        []corev1.Node
	// Pods lists those of a workload, to which the API server has added what it does; nil without a cluster.
	Pods func(*bundle.Workload) []*corev1.Pod
}

// Find returns the mistakes, in the order of the bundle.
func Find(e *bundle.Expectation, have Cluster) []problem.Problem {
	f := &finder{e: e, have: have, routes: map[string]string{}}
	made := claims.OfObjects(e)
	for i := range made {
		if c := &made[i]; c.From.Kind != "PersistentVolumeClaim" || c.Spec.VolumeName == "" {
			f.disk(c)
		}
		f.claimed(&made[i])
		f.provisioned(&made[i])
	}
	for i := range e.Objects {
		o := &e.Objects[i]
		f.overlaps(o)
		f.adopted(o)
		f.phased(o)
		f.weight(o)
		f.exported(o)
		f.deadlines(o)
		f.finalizers(o)
		f.tokenless(o)
		f.secondDefault(o)
		f.shutOut(o)
		switch gvk := o.Object.GroupVersionKind(); gvk.Group + "/" + gvk.Kind {
		case "autoscaling/HorizontalPodAutoscaler":
			f.autoscaler(o)
		case "monitoring.coreos.com/ServiceMonitor":
			f.monitor(o)
			f.selected(o)
		case "monitoring.coreos.com/PodMonitor", "monitoring.coreos.com/Probe", "monitoring.coreos.com/ScrapeConfig", "monitoring.coreos.com/PrometheusRule":
			f.selected(o)
		case "admissionregistration.k8s.io/ValidatingWebhookConfiguration", "admissionregistration.k8s.io/MutatingWebhookConfiguration":
			f.outside(o)
		case "networking.k8s.io/Ingress":
			f.ingress(o)
		case "networking.k8s.io/NetworkPolicy":
			f.isolated(o)
		case "/ServiceAccount":
			f.account(o)
			f.defaultAccount(o)
		case "/Service":
			f.external(o)
		case "apps/StatefulSet":
			f.governing(o)
		case "snapshot.storage.k8s.io/VolumeSnapshot":
			f.snapshot(o)
		case "rbac.authorization.k8s.io/ClusterRole":
			f.aggregates(o)
			f.versioned(o)
		case "rbac.authorization.k8s.io/Role":
			f.versioned(o)
		case "batch/CronJob":
			f.schedule(o)
		}
	}
	for i := range e.Workloads {
		f.pullSecrets(&e.Workloads[i])
		f.modes(&e.Workloads[i], made)
		f.apart(&e.Workloads[i])
		f.spread(&e.Workloads[i])
		f.subdomain(&e.Workloads[i])
		f.variables(&e.Workloads[i])
		f.requested(&e.Workloads[i])
	}
	return f.found
}

type finder struct {
	e      *bundle.Expectation
	have   Cluster
	routes map[string]string // the Ingresses so far, by class, host and path
	found  []problem.Problem
}

// monitor warns of a port that none of the Services has by that name.
func (f *finder) monitor(o *bundle.Object) {
	selector := problem.Selector(o, "spec", "selector")
	if selector == nil {
		return
	}
	spaces, _, _ := unstructured.NestedStringSlice(o.Object.Object, "spec", "namespaceSelector", "matchNames")
	anywhere, _, _ := unstructured.NestedBool(o.Object.Object, "spec", "namespaceSelector", "any")
	if len(spaces) == 0 {
		spaces = []string{o.Object.GetNamespace()}
	}
	services := slices.DeleteFunc(slices.Clone(f.have.Services), func(s corev1.Service) bool {
		return !anywhere && !slices.Contains(spaces, s.Namespace) || !selector.Matches(labels.Set(s.Labels))
	})
	endpoints, _, _ := unstructured.NestedSlice(o.Object.Object, "spec", "endpoints")
	for _, item := range endpoints {
		endpoint, _ := item.(map[string]any)
		port, _ := endpoint["port"].(string)
		if port == "" || len(services) == 0 || slices.ContainsFunc(services, func(s corev1.Service) bool {
			return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == port })
		}) {
			continue
		}
		p := problem.Of(o)
		p.Name, p.Text, p.Then = port, fmt.Sprintf("scrapes port %s of Service %s, which has no port of that name", port, infra.NamespacedName(services[0].Namespace, services[0].Name)), "nothing is scraped there"
		f.found = append(f.found, p)
	}
}

// pullSecrets warns of a Secret for pulling images that is none.
func (f *finder) pullSecrets(w *bundle.Workload) {
	for i, s := range w.PodSpec.ImagePullSecrets {
		if slices.Contains(w.PodSpec.ImagePullSecrets[:i], s) {
			continue
		}
		full := infra.NamespacedName(w.Namespace, s.Name)
		keys := f.have.Secrets[full]
		if len(keys) == 0 || keys[corev1.DockerConfigJsonKey] || keys[corev1.DockerConfigKey] {
			continue
		}
		f.found = append(f.found, problem.Problem{
			From: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), Component: w.Component, Template: w.Template, Name: s.Name,
			Text: "imagePullSecrets names Secret " + full + ", which has no " + corev1.DockerConfigJsonKey, Then: "a kubelet pulls without it, and fails if the registry wants a login",
		})
	}
}

// account warns of a Secret for pulling images that a ServiceAccount names and that does not exist. Its pods
// get it from there, so that no template has it.
func (f *finder) account(o *bundle.Object) {
	var a corev1.ServiceAccount
	if !problem.Read(o, &a) {
		return
	}
	for _, s := range a.ImagePullSecrets {
		if full := infra.NamespacedName(a.Namespace, s.Name); s.Name != "" && f.have.Secrets[full] == nil {
			p := problem.Of(o)
			p.Name, p.Missing = s.Name, result.Ref{Kind: "Secret", Namespace: a.Namespace, Name: s.Name}
			p.Text, p.Then = "imagePullSecrets names Secret "+full+", which does not exist", "a kubelet pulls without it for the pods of the account, and fails if the registry wants a login"
			f.found = append(f.found, p)
		}
	}
}

// apart warns of pods that are to be kept apart by a label which no node has: such a rule is always kept.
func (f *finder) apart(w *bundle.Workload) {
	if w.PodSpec.Affinity == nil || w.PodSpec.Affinity.PodAntiAffinity == nil || len(f.have.Nodes) == 0 {
		return
	}
	for _, term := range w.PodSpec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if slices.ContainsFunc(f.have.Nodes, func(n corev1.Node) bool { _, ok := n.Labels[term.TopologyKey]; return ok }) {
			continue
		}
		f.found = append(f.found, problem.Problem{
			From: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), Component: w.Component, Template: w.Template, Name: term.TopologyKey,
			Text: "keeps pods apart by " + term.TopologyKey + " (podAntiAffinity), a label that no node has", Then: "the scheduler places them as if the rule were not there, even on one node",
		})
	}
}

// spread warns of pods that are to be spread and that the rule does not count: its selector is not theirs.
func (f *finder) spread(w *bundle.Workload) {
	if len(w.PodSpec.TopologySpreadConstraints) == 0 || f.have.Pods == nil {
		return
	}
	pods := f.have.Pods(w)
	if len(pods) == 0 {
		return
	}
	for _, c := range w.PodSpec.TopologySpreadConstraints {
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if c.LabelSelector == nil || err != nil || selector.Matches(labels.Set(pods[0].Labels)) {
			continue
		}
		f.found = append(f.found, problem.Problem{
			From: observe.WorkloadRef(w.Kind, w.Namespace, w.Name), Component: w.Component, Template: w.Template, Name: c.TopologyKey,
			Text: fmt.Sprintf("spreads pods with %s over %s (topologySpreadConstraints), and its own are none of them", selector, c.TopologyKey), Then: "the scheduler does not count them, so that they may all be in one place",
		})
	}
}
