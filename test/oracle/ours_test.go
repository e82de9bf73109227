package oracle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/checks"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/why"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// said is what the rules say of an input's subject.
type said struct {
	// Level is silent, note, warning or fault: the worst.
	Level string
	Lines []string
}

func (s *said) add(level, line string) {
	order := map[string]int{"silent": 0, "note": 1, "warning": 2, "fault": 3}
	if order[level] > order[s.Level] {
		s.Level = level
	}
	s.Lines = append(s.Lines, level+": "+line)
}

// String is for the table of differences.
func (s *said) String() string {
	if len(s.Lines) == 0 {
		return "silent"
	}
	return strings.Join(s.Lines, "\n")
}

// scheme has the kinds that a fake cluster may have.
func scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	return s, fake.AddToScheme(s)
}

// cluster is a fake one with the objects, the subject on a node if it is placed, their namespaces' default accounts, and four nodes unless the input has some.
func cluster(in *input, placed bool) (kubernetes.Interface, error) {
	s, err := scheme()
	if err != nil {
		return nil, err
	}
	var live []runtime.Object
	there, nodes := map[string]bool{}, false
	for _, o := range in.all() {
		u := &unstructured.Unstructured{Object: o}
		key := fmt.Sprint(u.GroupVersionKind().GroupKind(), u.GetNamespace(), "/", u.GetName())
		typed, err := s.New(u.GroupVersionKind())
		if err != nil || there[key] || runtime.DefaultUnstructuredConverter.FromUnstructured(o, typed) != nil {
			continue
		}
		if c, ok := typed.(*resourcev1.ResourceClaim); ok { // as the API server does it
			for i := range c.Spec.Devices.Requests {
				count := func(mode *resourcev1.DeviceAllocationMode, count *int64) {
					if *mode = cmp.Or(*mode, resourcev1.DeviceAllocationModeExactCount); *mode == resourcev1.DeviceAllocationModeExactCount {
						*count = cmp.Or(*count, 1)
					}
				}
				r := &c.Spec.Devices.Requests[i]
				if e := r.Exactly; e != nil {
					count(&e.AllocationMode, &e.Count)
				}
				for j := range r.FirstAvailable {
					count(&r.FirstAvailable[j].AllocationMode, &r.FirstAvailable[j].Count)
				}
			}
		}
		if p, ok := typed.(*corev1.Pod); ok {
			filled(&p.Spec)
		}
		if p, ok := typed.(*corev1.Pod); ok && len(live) == 0 {
			if p.UID = "subject"; placed {
				p.Spec.NodeName, p.Status.Phase = nodeOf(in), corev1.PodRunning
			}
		}
		there[key], nodes = true, nodes || u.GetKind() == "Node"
		live = append(live, typed)
		account := fmt.Sprint(corev1.SchemeGroupVersion.WithKind("ServiceAccount").GroupKind(), u.GetNamespace(), "/default")
		if n := u.GetNamespace(); n != "" && !there[account] {
			there[account] = true
			live = append(live, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: n, Name: "default"}})
		}
	}
	if !nodes {
		live = append(live, testkit.TestNodes()...)
	}
	for _, name := range []string{"system-cluster-critical", "system-node-critical"} {
		if there[fmt.Sprint(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass").GroupKind(), "/", name)] {
			continue
		}
		live = append(live, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	kube := fake.NewClientset(live...)
	kube.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.36.1"}
	return kube, nil
}

// filled fills in what the API server does in the place of the filters: requests by limits, and the ports of a pod that has its
// node's network.
func filled(s *corev1.PodSpec) {
	requests := func(r *corev1.ResourceRequirements) {
		for name, limit := range r.Limits {
			if _, set := r.Requests[name]; !set {
				if r.Requests == nil {
					r.Requests = corev1.ResourceList{}
				}
				r.Requests[name] = limit
			}
		}
	}
	if s.Resources != nil {
		requests(s.Resources)
	}
	for _, list := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range list {
			requests(&list[i].Resources)
			for j := range list[i].Ports {
				p := &list[i].Ports[j]
				if p.Protocol = cmp.Or(p.Protocol, corev1.ProtocolTCP); s.HostNetwork {
					p.HostPort = cmp.Or(p.HostPort, p.ContainerPort)
				}
			}
		}
	}
}

// pinned is the node that each term of a pod's node affinity names, as the DaemonSet's controller does it; package why explains such a
// pod by that node alone.
func pinned(in *input) string {
	terms, _, _ := unstructured.NestedSlice(in.Subject, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	node := ""
	for _, t := range terms {
		name := ""
		fields, _, _ := unstructured.NestedSlice(t.(map[string]any), "matchFields")
		for _, f := range fields {
			f := f.(map[string]any)
			if values, _ := f["values"].([]any); f["operator"] == "In" && len(values) == 1 {
				name = fmt.Sprint(values[0])
			}
		}
		if name == "" || node != "" && name != node {
			return ""
		}
		node = name
	}
	return node
}

// nodeOf is the node that a pod of an input is on.
func nodeOf(in *input) string {
	for _, o := range in.Objects {
		if u := (&unstructured.Unstructured{Object: o}); u.GetKind() == "Node" {
			return u.GetName()
		}
	}
	return "s0"
}

func (in *input) name() string { return (&unstructured.Unstructured{Object: in.Subject}).GetName() }

func (in *input) ref() result.Ref {
	return (&bundle.Object{Object: &unstructured.Unstructured{Object: in.Subject}}).Ref()
}

// expectation is that of a component whose objects are the input's.
func expectation(in *input) *bundle.Expectation {
	e := &bundle.Expectation{Releases: []bundle.Release{{Component: "x", Name: "x", Namespace: "x", Chart: "x", ChartVersion: "1.0.0"}}}
	for _, raw := range in.all() {
		o := &unstructured.Unstructured{Object: raw}
		if o.GetKind() == "Node" {
			continue // of the cluster
		}
		_, hook := o.GetAnnotations()["helm.sh/hook"]
		e.Objects = append(e.Objects, bundle.Object{Component: "x", Release: "x", Template: "x/templates/x.yaml", Object: o, Hook: hook})
		if template, ok := podspec.Template(o); ok {
			if t, err := podspec.Read(template); err == nil {
				e.Workloads = append(e.Workloads, bundle.Workload{Component: "x", Release: "x", Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), PodSpec: t.Spec, Replicas: podspec.Count(o), Template: "x/templates/x.yaml", Hook: hook})
			}
		}
	}
	return e
}

// ours is what all rules say of the subject, before a cluster and with one in which all is delivered.
func ours(ctx context.Context, in *input, placed bool) (*said, error) {
	kube, err := cluster(in, placed)
	if err != nil {
		return nil, err
	}
	view, err := observe.Poll(ctx, kube)
	if err != nil {
		return nil, err
	}
	have, err := facts.ReadLive(ctx, kube, view)
	if err != nil {
		return nil, err
	}
	e := expectation(in)
	bench := &judge.Bench{Checks: checks.All()}
	s, of := &said{Level: "silent"}, in.ref()
	for stage, x := range map[judge.Stage]*facts.Index{judge.Rendered: facts.New(e, nil, view.Nodes, nil), judge.Settled: facts.New(e, nil, view.Nodes, have)} {
		r, err := bench.Report(x, "x", judge.Order{}, stage)
		if err != nil {
			return nil, err
		}
		for _, f := range r.Faults {
			if f.Finding.Object != nil && (*f.Finding.Object == of || slices.Contains(f.Finding.Others, of)) {
				s.add("fault", f.Finding.Cause)
			}
		}
		for _, line := range r.Warnings {
			if strings.HasPrefix(line, of.String()) {
				s.add("warning", line)
			}
		}
		for _, line := range r.Notes {
			if strings.Contains(line, of.String()) {
				s.add("note", line)
			}
		}
	}
	return s, nil
}

// refusals are what package why says of each node that does not fit: the kinds of refusals, and their texts.
func refusals(ctx context.Context, in *input) (map[string]map[string]string, error) {
	kube, err := cluster(in, false)
	if err != nil {
		return nil, err
	}
	all, err := why.Why(ctx, &infra.Clients{Kube: kube}, &why.Provenance{}, infra.NamespacedName(in.ref().Namespace, in.name()))
	if err != nil {
		return nil, err
	}
	nodes := map[string]map[string]string{}
	for _, e := range all {
		for i := range e.Groups {
			for _, r := range e.Groups[i].Refusals {
				for _, n := range e.Groups[i].Nodes {
					if nodes[n] == nil {
						nodes[n] = map[string]string{}
					}
					nodes[n][string(r.Kind)] = r.Text
				}
			}
		}
	}
	return nodes, nil
}
