package collect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/verify/snapshot"
)

// policies are the kinds that configure the operators for accelerated nodes.
var policies = []struct {
	schema.GroupVersionResource
	kind string
}{
	{schema.GroupVersionResource{Group: "nvidia.com", Version: "v1", Resource: "clusterpolicies"}, "ClusterPolicy"},
	{schema.GroupVersionResource{Group: "nvidia.com", Version: "v1alpha1", Resource: "nvidiadrivers"}, "NVIDIADriver"},
	{schema.GroupVersionResource{Group: "mellanox.com", Version: "v1alpha1", Resource: "nicclusterpolicies"}, "NicClusterPolicy"},
	{schema.GroupVersionResource{Group: "skyhook.nvidia.com", Version: "v1alpha1", Resource: "deploymentpolicies"}, "DeploymentPolicy"},
}

const clusterPolicy = "ClusterPolicy"

// page is how many objects are read at a time.
const page = 500

// kubernetesOf asks the cluster for its version, the images that its pods run, and the policies of
// its operators.
func kubernetesOf(ctx context.Context, o Options) ([]snapshot.Subtype, error) {
	if o.Kube == nil {
		return nil, noCluster(o)
	}
	version, err := o.Kube.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its version: %w", err)
	}
	server := data{}
	server.set("version", version.GitVersion)
	server.set("platform", version.Platform)
	server.set("goVersion", version.GoVersion)
	all := []snapshot.Subtype{{Name: "server", Data: server}}
	var problems []error
	if found, err := images(ctx, o); err != nil {
		problems = append(problems, fmt.Errorf("images: %w", err))
	} else {
		all = append(all, snapshot.Subtype{Name: "image", Data: found, Context: map[string]string{"values": "tags or digests of the images of all pods, by repository"}})
	}
	if found, err := policiesOf(ctx, o); err != nil {
		problems = append(problems, fmt.Errorf("policies: %w", err))
	} else if len(found) > 0 {
		all = append(all, snapshot.Subtype{Name: "policy", Data: found, Context: map[string]string{"keys": "paths in the spec of the ClusterPolicy; those of other policies begin with KIND.NAME"}})
	}
	return all, errors.Join(problems...)
}

func noCluster(o Options) error {
	if o.NoCluster != nil {
		return o.NoCluster
	}
	return errors.New("no cluster is configured")
}

// images are the images that pods are made of, by repository.
func images(ctx context.Context, o Options) (data, error) {
	tags := map[string][]string{}
	next := ""
	for {
		pods, err := o.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if err != nil {
			return nil, err
		}
		for i := range pods.Items {
			for _, list := range [][]corev1.Container{pods.Items[i].Spec.InitContainers, pods.Items[i].Spec.Containers} {
				for j := range list {
					name, tag := splitImage(list[j].Image)
					tags[name] = appendNew(tags[name], tag)
				}
			}
		}
		if next = pods.Continue; next == "" {
			break
		}
	}
	found := data{}
	for name, list := range tags {
		slices.Sort(list)
		found.set(name, strings.Join(list, ","))
	}
	return found, nil
}

// splitImage gives the repository, and the tag, or else the digest.
func splitImage(image string) (name, tag string) {
	name, digest, _ := strings.Cut(image, "@")
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		return name[:i], name[i+1:]
	}
	if digest != "" {
		return name, digest
	}
	return name, "latest"
}

// policiesOf are the specs of all policies, a reading for each leaf. A kind that the cluster does
// not have is passed over.
func policiesOf(ctx context.Context, o Options) (data, error) {
	found := data{}
	if o.Dynamic == nil {
		return found, nil
	}
	for _, p := range policies {
		list, err := o.Dynamic.Resource(p.GroupVersionResource).List(ctx, metav1.ListOptions{Limit: page})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", p.Resource, err)
		}
		for i := range list.Items {
			prefix := p.kind + "." + list.Items[i].GetName() + "."
			if p.kind == clusterPolicy { // there is one in a cluster
				prefix = ""
			}
			spec, _, _ := unstructured.NestedMap(list.Items[i].Object, "spec")
			found.flatten(prefix, spec)
		}
	}
	return found, nil
}

// flatten puts each leaf of a tree at its path. The values of environment variables are left out:
// some are passwords.
func (d data) flatten(prefix string, tree map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		path := prefix + key
		switch v := tree[key].(type) {
		case map[string]any:
			d.flatten(path+".", v)
		case []any:
			if key == "env" || isSecret(key) {
				continue
			}
			d.set(path, fmt.Sprint(v))
		case nil:
		default:
			if !isSecret(key) {
				d.set(path, v)
			}
		}
	}
}

// topologyOf says which labels and taints the cluster's nodes have: of each the values, and on how
// many nodes it is.
func topologyOf(ctx context.Context, o Options) ([]snapshot.Subtype, error) {
	if o.Kube == nil {
		return nil, noCluster(o)
	}
	labels, taints := map[string][]string{}, map[string][]string{}
	count := map[string]int{}
	nodes, ready, next := 0, 0, ""
	for {
		list, err := o.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: page, Continue: next})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			n := &list.Items[i]
			nodes++
			if slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}) {
				ready++
			}
			for key, value := range n.Labels {
				labels[key] = appendNew(labels[key], value)
				count["label "+key]++
			}
			for _, t := range n.Spec.Taints {
				taints[t.Key] = appendNew(taints[t.Key], t.Value+":"+string(t.Effect))
				count["taint "+t.Key]++
			}
		}
		if next = list.Continue; next == "" {
			break
		}
	}
	summary := data{}
	summary.set("node-count", int64(nodes))
	summary.set("ready-count", int64(ready))
	summary.set("label-count", int64(len(labels)))
	summary.set("taint-count", int64(len(taints)))
	return []snapshot.Subtype{
		{Name: "summary", Data: summary},
		topology("label", labels, count, nodes),
		topology("taint", taints, count, nodes),
	}, nil
}

// mostValues is how many values of a label are named.
const mostValues = 20

func topology(name string, found map[string][]string, count map[string]int, nodes int) snapshot.Subtype {
	s := snapshot.Subtype{Name: name, Data: data{}, Context: map[string]string{}}
	for key, values := range found {
		slices.Sort(values)
		text := strings.Join(values, ",")
		if len(values) > mostValues {
			text = fmt.Sprintf("%s,… (%d values)", strings.Join(values[:mostValues], ","), len(values))
		}
		data(s.Data).set(key, text)
		if n := count[name+" "+key]; n < nodes {
			s.Context[key] = fmt.Sprintf("on %d of %d nodes", n, nodes)
		}
	}
	return s
}
