package network

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
)

var attachmentKind = schema.GroupKind{Group: "k8s.cni.cncf.io", Kind: "NetworkAttachmentDefinition"}

var networkAttachment = judge.Check{
	ID: "MX240", Name: "network-attachment-missing", Needs: judge.Rendered,
	Title: "The secondary networks of pods exist, and have a configuration",
	Why: "Multus attaches a pod to the networks that its annotation k8s.v1.cni.cncf.io/networks names, and each is a NetworkAttachmentDefinition, of the pod's namespace if none is given " +
		"(https://github.com/k8snetworkplumbingwg/multi-net-spec). Without one the pod stays in ContainerCreating. Simulated pods have no network. " +
		"Only namespaces to which the recipe delivers count.",
	Fix:  "Deliver the NetworkAttachmentDefinition, or the network of the operator that makes it, or correct the name.",
	Says: "names the network %s, and nothing in the recipe makes NetworkAttachmentDefinition %s", Then: "its pods stay in ContainerCreating",
	Others: map[string]judge.Message{
		"list":   {Says: "names its networks as a list in JSON, which is none: %s", Then: "its pods stay in ContainerCreating"},
		"config": {Says: "has a spec.config that is no JSON: %s", Then: "pods with this network stay in ContainerCreating"},
	},
	Run: func(s *judge.Scope) {
		own := ownNamespaces(s)
		for _, p := range s.Pods() {
			namespace := p.Object.Object.GetNamespace()
			for _, key := range []string{"k8s.v1.cni.cncf.io/networks", "v1.multus-cni.io/default-network"} {
				path := strings.TrimSuffix(p.Path(), "spec") + `metadata.annotations["` + key + `"]`
				names, err := networksOf(p.Template.Annotations[key], namespace)
				if err != nil {
					s.ReportAs("list", p.Object, path, err.Error())
				}
				for _, n := range names {
					if in, name, _ := strings.Cut(n, "/"); own[in] && !hasNetwork(s.Index, in, name, p.Object.Ref()) {
						s.Report(p.Object, path, name, n).SetBy(name).Missing(result.Ref{Group: attachmentKind.Group, Kind: attachmentKind.Kind, Namespace: in, Name: name})
					}
				}
			}
		}
		for _, o := range s.Rendered(attachmentKind) {
			text, _, _ := unstructured.NestedString(o.Object.Object, "spec", "config") // without one, a file of the node has it
			if err := json.Unmarshal([]byte(text), &map[string]any{}); text != "" && err != nil {
				s.ReportAs("config", o, "spec.config", err.Error())
			}
		}
	},
}

// networksOf are the networks of an annotation, as NAMESPACE/NAME: a list with commas of [NAMESPACE/]NAME[@INTERFACE], or
// one in JSON.
func networksOf(text, namespace string) (all []string, err error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		var list []struct{ Name, Namespace string }
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return nil, err
		}
		for _, n := range list {
			if n.Namespace == "" {
				n.Namespace = namespace
			}
			all = append(all, n.Namespace+"/"+n.Name)
		}
		return all, nil
	}
	for item := range strings.SplitSeq(text, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(item), "@")
		switch {
		case name == "":
		case strings.Contains(name, "/"):
			all = append(all, name)
		default:
			all = append(all, infra.NamespacedName(namespace, name))
		}
	}
	return all, nil
}

// attachmentMakers are groups whose operators make a NetworkAttachmentDefinition of the name of their resource, in
// spec.networkNamespace, which is the resource's own namespace, or default, without it.
var attachmentMakers = []string{"sriovnetwork.openshift.io", "mellanox.com", "k8s.ovn.org", "operator.openshift.io"}

// hasNetwork reports whether a NetworkAttachmentDefinition exists, or may: something of the bundle makes it.
func hasNetwork(x *facts.Index, namespace, name string, from result.Ref) bool {
	if x.More() || x.Find(attachmentKind, namespace, name) != nil || x.MadeAtRunTime(attachmentKind.Kind, namespace, name, from) != nil {
		return true
	}
	return slices.ContainsFunc(x.Expectation.Objects, func(o bundle.Object) bool {
		return slices.Contains(attachmentMakers, o.Ref().Group) && o.Ref().Name == name
	})
}
