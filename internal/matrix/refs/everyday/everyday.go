// Package everyday finds ordinary mistakes in what objects refer to, which the API server accepts and
// nothing in a simulated cluster notices: disks for many nodes, autoscalers without requests, ports
// that a Service does not name, Secrets of another kind. It must not read a Secret's values.
package everyday

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/refs/claims"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Cluster is what the cluster has: the keys of its Secrets by namespace/name, its Services, and the
// provisioners of its StorageClasses.
type Cluster struct {
	Secrets      map[string]map[string]bool
	Services     []corev1.Service
	Provisioners map[string]string
}

// Find returns the mistakes, in the order of the bundle.
func Find(e *bundle.Expectation, have Cluster) []problem.Problem {
	f := &finder{e: e, have: have}
	made := claims.OfObjects(e)
	for i := range made {
		if c := &made[i]; c.From.Kind != "PersistentVolumeClaim" || c.Spec.VolumeName == "" {
			f.disk(c)
		}
	}
	for i := range e.Objects {
		o := &e.Objects[i]
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
		}
	}
	for i := range e.Workloads {
		f.pullSecrets(&e.Workloads[i])
	}
	return f.found
}

type finder struct {
	e     *bundle.Expectation
	have  Cluster
	found []problem.Problem
}

// disks are the drivers whose volumes one node alone can mount with a file system. Others, such as
// longhorn, can share theirs.
var disks = []string{"ebs.csi.aws.com", "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io", "kubernetes.io/gce-pd", "disk.csi.azure.com", "kubernetes.io/azure-disk", "blockvolume.csi.oraclecloud.com", "linodebs.csi.linode.com"}

// disk fails a claim for many nodes of a driver that makes disks: it provisions none.
func (f *finder) disk(c *claims.Claim) {
	spec := c.Spec
	if spec.StorageClassName == nil || spec.VolumeMode != nil && *spec.VolumeMode == corev1.PersistentVolumeBlock || !slices.Contains(spec.AccessModes, corev1.ReadWriteMany) {
		return
	}
	class := *spec.StorageClassName
	if driver := f.have.Provisioners[class]; slices.Contains(disks, driver) {
		p := c.Problem
		p.Name, p.Cause, p.Reason = class, "shared disk "+c.From.String()+c.Name, reason.SchedulingFailed
		p.Text = fmt.Sprintf("claim %s is ReadWriteMany, and StorageClass %s makes disks (%s)", c.Name, class, driver)
		p.Then = "the driver refuses it, so that the claim and its pods wait for ever"
		f.found = append(f.found, p)
	}
}

// autoscaler warns of a target in percent of requests that a container does not have.
func (f *finder) autoscaler(o *bundle.Object) {
	var h autoscalingv2.HorizontalPodAutoscaler
	if !problem.Read(o, &h) {
		return
	}
	i := slices.IndexFunc(f.e.Workloads, func(w bundle.Workload) bool {
		return w.Kind == h.Spec.ScaleTargetRef.Kind && w.Name == h.Spec.ScaleTargetRef.Name && w.Namespace == h.Namespace
	})
	if i < 0 {
		return
	}
	for _, m := range h.Spec.Metrics {
		var resource corev1.ResourceName
		only := ""
		switch {
		case m.Resource != nil && m.Resource.Target.Type == autoscalingv2.UtilizationMetricType:
			resource = m.Resource.Name
		case m.ContainerResource != nil && m.ContainerResource.Target.Type == autoscalingv2.UtilizationMetricType:
			resource, only = m.ContainerResource.Name, m.ContainerResource.Container
		default:
			continue
		}
		for _, c := range f.e.Workloads[i].PodSpec.Containers {
			_, requested := c.Resources.Requests[resource]
			if _, limited := c.Resources.Limits[resource]; !requested && !limited && (only == "" || only == c.Name) {
				p := problem.Of(o)
				p.Text = fmt.Sprintf("scales %s by the utilization of %s, and container %s requests none", observe.WorkloadKey(h.Spec.ScaleTargetRef.Kind, h.Namespace, h.Spec.ScaleTargetRef.Name), resource, c.Name)
				p.Then = "it scales nothing: FailedGetResourceMetric, missing request for " + string(resource)
				f.found = append(f.found, p)
				break
			}
		}
	}
}

// monitor warns of a port that none of the Services has by that name.
func (f *finder) monitor(o *bundle.Object) {
	raw, ok, _ := unstructured.NestedMap(o.Object.Object, "spec", "selector")
	var labelled metav1.LabelSelector
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &labelled) != nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(&labelled)
	if err != nil || selector.Empty() {
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

// ingress warns of a certificate's Secret that does not exist, unless a controller makes it.
func (f *finder) ingress(o *bundle.Object) {
	var in networkingv1.Ingress
	if !problem.Read(o, &in) {
		return
	}
	for key := range in.Annotations {
		if strings.Contains(key, "cert-manager.io/") || strings.Contains(key, "acme") {
			return
		}
	}
	for _, t := range in.Spec.TLS {
		if full := infra.NamespacedName(in.Namespace, t.SecretName); t.SecretName != "" && f.have.Secrets[full] == nil {
			p := problem.Of(o)
			p.Name, p.Missing = t.SecretName, result.Ref{Kind: "Secret", Namespace: in.Namespace, Name: t.SecretName}
			p.Text, p.Then = "takes its certificate from Secret "+full+", which does not exist", "its controller answers with a certificate of its own, or not at all"
			f.found = append(f.found, p)
		}
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
