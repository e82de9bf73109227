package probe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// Kubeflow Trainer's pods are simulated, so no controller acts on a TrainJob. This file simulates
// Trainer and JobSet as far as scheduling needs: for each job of the runtime that the TrainJob
// names, it creates a pod for each replica; for the one that trains, a pod for each node, with the
// TrainJob's own resources. https://www.kubeflow.org/docs/components/trainer/

const (
	trainerGroup = "trainer.kubeflow.org"
	// ancestorLabel marks the job of a runtime that trains.
	ancestorLabel = "trainer.kubeflow.org/trainjob-ancestor-step"
)

// play makes what an operator that is simulated would make of an object. The note says so; it is
// empty for every other object.
func (r *Run) play(ctx context.Context, p *Probe, o rendered) (note string, failure *result.Failure) {
	if !o.trains() {
		return "", nil
	}
	kind, name, blueprint, err := r.runtimeOf(ctx, o.object)
	switch {
	case apierrors.IsNotFound(err):
		return "", p.fails(o.line, fmt.Sprintf("%s: its %s %s does not exist", o, kind, name), nil, "No component of the recipe installs it.")
	case err != nil:
		return "", p.fails(o.line, fmt.Sprintf("%s: read its %s: %v", o, kind, err), nil)
	}
	pods, err := podsOf(o.object, blueprint)
	if err != nil {
		return "", p.fails(o.line, fmt.Sprintf("%s: %v", o, err), nil)
	}
	for i := range pods {
		made, err := r.Clients.Kube.CoreV1().Pods(Namespace).Create(ctx, &pods[i], metav1.CreateOptions{FieldManager: infra.FieldManager})
		if err != nil {
			return "", p.fails(o.line, fmt.Sprintf("%s: the API server rejects pod %s that %s %s would make: %v", o, pods[i].Name, kind, name, err), nil)
		}
		r.remember(made.Name)
	}
	return fmt.Sprintf("Kubeflow Trainer is simulated: %s of %s %s", lists.Count(len(pods), "pod"), kind, name), nil
}

// trains reports whether an object is a TrainJob.
func (o rendered) trains() bool {
	gk := o.object.GroupVersionKind().GroupKind()
	return gk.Group == trainerGroup && gk.Kind == "TrainJob"
}

// runtimeOf is the runtime that a TrainJob names.
func (r *Run) runtimeOf(ctx context.Context, job *unstructured.Unstructured) (kind, name string, blueprint *unstructured.Unstructured, err error) {
	ref, _, _ := unstructured.NestedStringMap(job.Object, "spec", "runtimeRef")
	kind, name = ref["kind"], ref["name"]
	if kind == "" {
		kind = "ClusterTrainingRuntime" // Trainer's default
	}
	runtimes := schema.GroupVersionResource{Group: trainerGroup, Version: job.GroupVersionKind().Version, Resource: "clustertrainingruntimes"}
	get := r.Clients.Dynamic.Resource(runtimes).Get
	if kind == "TrainingRuntime" {
		runtimes.Resource = "trainingruntimes"
		get = r.Clients.Dynamic.Resource(runtimes).Namespace(Namespace).Get
	}
	blueprint, err = get(ctx, name, metav1.GetOptions{})
	return kind, name, blueprint, err
}

func (r *Run) remember(pod string) {
	pods := r.Clients.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(Namespace)
	r.objects = append(r.objects, object{pods, "Pod " + Namespace + "/" + pod, pod})
}

// podsOf are the pods of a TrainJob by its runtime.
func podsOf(job, blueprint *unstructured.Unstructured) ([]corev1.Pod, error) {
	spec := blueprint.Object
	jobs, _, err := unstructured.NestedSlice(spec, "spec", "template", "spec", "replicatedJobs")
	if err != nil || len(jobs) == 0 {
		return nil, fmt.Errorf("its runtime %s has no replicatedJobs", blueprint.GetName())
	}
	nodes, ok, _ := unstructured.NestedInt64(job.Object, "spec", "trainer", "numNodes")
	if !ok {
		if nodes, ok, _ = unstructured.NestedInt64(spec, "spec", "mlPolicy", "numNodes"); !ok {
			nodes = 1
		}
	}
	var all []corev1.Pod
	for _, j := range jobs {
		j, _ := j.(map[string]any)
		name, _, _ := unstructured.NestedString(j, "name")
		step, _, _ := unstructured.NestedString(j, "template", "metadata", "labels", ancestorLabel)
		replicas, ok, _ := unstructured.NestedInt64(j, "replicas")
		if !ok {
			replicas = 1
		}
		content, _, _ := unstructured.NestedMap(j, "template", "spec", "template")
		var template corev1.PodTemplateSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &template); err != nil || len(template.Spec.Containers) == 0 {
			return nil, fmt.Errorf("job %s of its runtime %s has no pod template", name, blueprint.GetName())
		}
		each := int64(1)
		if step == "trainer" {
			each = nodes
			if err := setTrainer(job, &template); err != nil {
				return nil, err
			}
		}
		if each*replicas > mostPods {
			return nil, fmt.Errorf("it wants %d pods, and a probe may have %d", each*replicas, mostPods)
		}
		// The taint is on every simulated node. Trainer would not add a toleration, so the
		// simulated pods get one here.
		template.Spec.Tolerations = append(template.Spec.Tolerations, corev1.Toleration{Key: simulate.KwokTaint, Operator: corev1.TolerationOpExists})
		for i := range each * replicas {
			pod := corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
			pod.Name = fmt.Sprintf("%s-%s-%d", job.GetName(), name, i)
			all = append(all, pod)
		}
	}
	return all, nil
}

// setTrainer has the TrainJob's image and resources in the container that trains.
func setTrainer(job *unstructured.Unstructured, template *corev1.PodTemplateSpec) error {
	c := &template.Spec.Containers[0]
	for i := range template.Spec.Containers {
		if template.Spec.Containers[i].Name == "node" { // Trainer's name for it
			c = &template.Spec.Containers[i]
		}
	}
	if image, ok, _ := unstructured.NestedString(job.Object, "spec", "trainer", "image"); ok {
		c.Image = image
	}
	resources, ok, _ := unstructured.NestedMap(job.Object, "spec", "trainer", "resourcesPerNode")
	if !ok {
		return nil
	}
	c.Resources = corev1.ResourceRequirements{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(resources, &c.Resources); err != nil {
		return fmt.Errorf("its trainer.resourcesPerNode: %w", err)
	}
	return nil
}
