package kind

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// hostWorkload is a workload whose pods may run on the real node, with one image of its pods.
type hostWorkload struct{ namespace, kind, name, image string }

// controller is the kind that owns the pods.
func (w hostWorkload) controller() string {
	if w.kind == "Deployment" {
		return "ReplicaSet"
	}
	return w.kind
}

// installed is what clusters of a platform get from the harness: it is read once, since the
// manifests are long.
type installed struct {
	once sync.Once
	// workloads are of every kind of controllers: which of them a lane installs is not known when
	// the policies come into force.
	workloads []hostWorkload
	// digest is of all objects and of what the cluster is made of.
	digest string
	err    error
}

// read reads what clusters get.
func (p *Platform) read() (*installed, error) {
	i := &p.installed
	i.once.Do(func() { i.workloads, i.digest, i.err = p.readInstalled() })
	return i, i.err
}

func (p *Platform) readInstalled() ([]hostWorkload, string, error) {
	objs, err := baseObjects(p.RegistryImage, p.Stages)
	if err != nil {
		return nil, "", err
	}
	for _, kind := range controllerKinds() {
		more, err := controllerObjects(kind)
		if err != nil {
			return nil, "", err
		}
		objs = append(objs, more...)
	}
	conf, err := kwok.Files.ReadFile("kind-config.yaml")
	if err != nil {
		return nil, "", err
	}
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s\n%s\n%s\n", p.NodeImage, conf, hostPoliciesText) // a hash does not fail
	var all []hostWorkload
	for _, j := range p.HostJobs {
		all = append(all, hostWorkload{j.Namespace, "Job", j.Name, j.Image})
		_, _ = fmt.Fprintf(sum, "%s\n", all[len(all)-1])
	}
	for _, o := range objs {
		raw, err := json.Marshal(o.Object)
		if err != nil {
			return nil, "", err
		}
		_, _ = sum.Write(raw)
		for _, c := range containers(o) {
			all = append(all, hostWorkload{o.GetNamespace(), o.GetKind(), o.GetName(), fmt.Sprint(c["image"])})
		}
	}
	return all, hex.EncodeToString(sum.Sum(nil)), nil
}

// systemWorkloads are the cluster's own: the DaemonSets of the node image, and the DNS.
func (c *cluster) systemWorkloads(ctx context.Context) ([]hostWorkload, error) {
	sets, err := c.clients.Kube.AppsV1().DaemonSets(systemNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the DaemonSets of %s: %w", systemNamespace, err)
	}
	var all []hostWorkload
	for _, s := range sets.Items {
		for _, container := range slices.Concat(s.Spec.Template.Spec.InitContainers, s.Spec.Template.Spec.Containers) {
			all = append(all, hostWorkload{systemNamespace, "DaemonSet", s.Name, container.Image})
		}
	}
	dns, err := c.clients.Kube.AppsV1().Deployments(systemNamespace).Get(ctx, dnsDeployment, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get Deployment %s/%s: %w", systemNamespace, dnsDeployment, err)
	}
	for _, container := range dns.Spec.Template.Spec.Containers {
		all = append(all, hostWorkload{systemNamespace, "Deployment", dns.Name, container.Image})
	}
	return all, nil
}

// dnsDeployment is kubeadm's.
const dnsDeployment = "coredns"

// hostPolicies keep the recipe's pods on simulated nodes. A DaemonSet that tolerates everything
// would also have a pod on the node that runs the cluster, and that one would be a real process, in
// a privileged container: what a recipe delivers must not run on this machine. So the API server
// adds a node selector to every DaemonSet and pod, except those of these workloads: same namespace,
// same owner, same images. A pod that was let through may not get another image, or a container for
// debugging.
//
// The selector is added by a MutatingAdmissionPolicy and not by a webhook: no server is asked.
func hostPolicies(workloads []hostWorkload) string {
	var pods, sets []string
	quoted := func(parts ...string) string { return "'" + strings.Join(parts, " ") + "'" }
	for _, w := range workloads {
		pods = append(pods, quoted(w.namespace, w.controller(), w.name, w.image))
		if w.kind == "DaemonSet" {
			sets = append(sets, quoted(w.namespace, w.name, w.image))
		}
	}
	if len(sets) == 0 {
		sets = []string{"''"} // an empty list has no type
	}
	return strings.NewReplacer("HOST_PODS", strings.Join(pods, ", "), "HOST_SETS", strings.Join(sets, ", "), "SIMULATED", simulatedLabel, "HOST_POLICY", hostPolicyReason).Replace(hostPoliciesText)
}

// hostPolicyReason is in the message of the policy that rejects.
const hostPolicyReason = "the containers of a pod on the real node of a Kind cluster may not change (docs/kind.md)"

const hostPoliciesText = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: aicr-action-daemonsets}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [daemonsets]}
  matchConditions:
  - name: not-of-the-cluster
    expression: >-
      !(object.spec.template.spec.containers + (has(object.spec.template.spec.initContainers) ? object.spec.template.spec.initContainers : []))
      .all(c, (request.namespace + ' ' + object.metadata.name + ' ' + c.image) in [HOST_SETS])
  mutations:
  - patchType: JSONPatch # a node selector is a whole to the other kind of patch
    jsonPatch:
      expression: >-
        has(object.spec.template.spec.nodeSelector) ?
        [JSONPatch{op: 'add', path: '/spec/template/spec/nodeSelector/aicr.nvidia.com~1simulated', value: 'true'}] :
        [JSONPatch{op: 'add', path: '/spec/template/spec/nodeSelector', value: {'SIMULATED': 'true'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: aicr-action-daemonsets}
spec: {policyName: aicr-action-daemonsets}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: aicr-action-pods}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  matchConditions:
  - name: not-of-the-cluster # a ReplicaSet's name is its Deployment's and a hash, a Job's its own and one more word
    expression: >-
      !(has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller &&
      (object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : [])).all(c, (request.namespace + ' ' + o.kind + ' ' +
      (o.kind in ['ReplicaSet', 'Job'] && o.name.contains('-') ? o.name.substring(0, o.name.lastIndexOf('-')) : o.name) + ' ' + c.image) in [HOST_PODS])))
  - name: not-a-static-pod # which only its kubelet starts, from a file on the node
    expression: >-
      !(has(object.metadata.annotations) && 'kubernetes.io/config.mirror' in object.metadata.annotations && request.userInfo.username.startsWith('system:node:'))
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        has(object.spec.nodeSelector) ?
        [JSONPatch{op: 'add', path: '/spec/nodeSelector/aicr.nvidia.com~1simulated', value: 'true'}] :
        [JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'SIMULATED': 'true'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: aicr-action-pods}
spec: {policyName: aicr-action-pods}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: aicr-action-host}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods, pods/ephemeralcontainers]}
  matchConditions:
  - name: on-the-real-node
    expression: "!(has(object.spec.nodeSelector) && 'SIMULATED' in object.spec.nodeSelector)"
  validations:
  - expression: >-
      object.spec.containers.all(c, oldObject.spec.containers.exists(o, o.name == c.name && o.image == c.image)) &&
      (!has(object.spec.initContainers) || object.spec.initContainers.all(c, oldObject.spec.initContainers.exists(o, o.name == c.name && o.image == c.image))) &&
      !has(object.spec.ephemeralContainers)
    message: HOST_POLICY
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: aicr-action-host}
spec: {policyName: aicr-action-host, validationActions: [Deny]}
`

// guardHost puts hostPolicies in force, and waits until they are: the API server needs a moment to
// see a new one.
func (c *cluster) guardHost(ctx context.Context) error {
	have, err := c.platform.read()
	if err != nil {
		return err
	}
	system, err := c.systemWorkloads(ctx)
	if err != nil {
		return err
	}
	policies, err := decode(hostPolicies(slices.Concat(have.workloads, system)))
	if err != nil {
		return err
	}
	if err := c.applyAll(ctx, policies); err != nil {
		return err
	}
	probes, err := decode(hostProbes)
	if err != nil {
		return err
	}
	for _, probe := range probes {
		if err := c.waitMutated(ctx, probe); err != nil {
			return err
		}
	}
	return c.waitRejected(ctx)
}

// waitMutated waits until the API server adds the node selector to an object.
func (c *cluster) waitMutated(ctx context.Context, probe *unstructured.Unstructured) error {
	return wait.For(ctx, "the admission policy for "+probe.GetKind()+"s", wait.Options{Budget: 30 * time.Second, Interval: 50 * time.Millisecond}, func(ctx context.Context) wait.Result {
		ri := c.clients.Dynamic.Resource(infra.ResourceFor(probe.GroupVersionKind())).Namespace(probe.GetNamespace())
		made, err := ri.Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return wait.Never(err)
		}
		if err != nil {
			return wait.NotYet("%v", err)
		}
		path := []string{"spec", "nodeSelector"}
		if probe.GetKind() == "DaemonSet" {
			path = []string{"spec", "template", "spec", "nodeSelector"}
		}
		if selector, _, _ := unstructured.NestedStringMap(made.Object, path...); selector[simulatedLabel] != "true" {
			return wait.NotYet("the API server does not apply it yet")
		}
		return wait.Done()
	})
}

// waitRejected waits until the API server rejects another image for a pod on the real node: the
// registry's, which runs by now.
func (c *cluster) waitRejected(ctx context.Context) error {
	return wait.For(ctx, "the admission policy for pods on the real node", wait.Options{Budget: 30 * time.Second, Interval: 50 * time.Millisecond}, func(ctx context.Context) wait.Result {
		pods := c.clients.Kube.CoreV1().Pods(registryNamespace)
		list, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) == 0 {
			return wait.NotYet("%d pods of the registry, %v", len(list.Items), err)
		}
		p := list.Items[0]
		patch := []byte(fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"image":"probe"}]}}`, p.Spec.Containers[0].Name))
		_, err = pods.Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && strings.Contains(err.Error(), hostPolicyReason) {
			return wait.Done()
		}
		return wait.NotYet("the API server does not apply it yet: %v", err)
	})
}

// hostProbes are objects that hostPolicies change.
const hostProbes = `
apiVersion: v1
kind: Pod
metadata: {name: aicr-action-probe, namespace: default}
spec: {containers: [{name: probe, image: probe}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: aicr-action-probe, namespace: default}
spec:
  selector: {matchLabels: {app: probe}}
  template: {metadata: {labels: {app: probe}}, spec: {containers: [{name: probe, image: probe}]}}
`
