package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var resourceField = judge.Check{
	ID: "MX137", Name: "resources-of-no-container", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "A pod reads the requests and limits of containers that it has",
	Why: "The API server takes any containerName in a resourceFieldRef, and a kubelet starts no container with a variable or a file that it cannot fill " +
		"(https://kubernetes.io/docs/concepts/workloads/pods/downward-api/#downwardapi-resourceFieldRef).",
	Fix:  "Correct containerName.",
	Says: "takes %s from %s of container %s (resourceFieldRef), and it has no such container", Then: "a kubelet starts none of its containers without it",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			for _, of := range resourceFields(p) {
				if name := of.field.ContainerName; name != "" && !slices.ContainsFunc(p.Containers(), func(c facts.Container) bool { return c.Name == name }) {
					s.Report(p.Object, of.path+".resourceFieldRef.containerName", of.what, of.field.Resource, name).OneOfTemplate()
				}
			}
		}
	},
}

type resourceOf struct {
	what, path string
	field      *corev1.ResourceFieldSelector
}

// resourceFields are those of variables and of volumes.
func resourceFields(p facts.PodTemplate) (all []resourceOf) {
	for _, c := range p.Containers() {
		for i, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil {
				all = append(all, resourceOf{e.Name, fmt.Sprintf("%s.env[%d].valueFrom", c.Path, i), e.ValueFrom.ResourceFieldRef})
			}
		}
	}
	files := func(path, volume string, items []corev1.DownwardAPIVolumeFile) {
		for i, f := range items {
			if f.ResourceFieldRef != nil {
				all = append(all, resourceOf{"volume " + volume + "/" + f.Path, fmt.Sprintf("%s.items[%d]", path, i), f.ResourceFieldRef})
			}
		}
	}
	for i, v := range facts.MountedVolumes(&p.Template.Spec) {
		if v.DownwardAPI != nil {
			files(volumePath(p, i)+".downwardAPI", v.Name, v.DownwardAPI.Items)
		}
		if v.Projected == nil {
			continue
		}
		for j, source := range v.Projected.Sources {
			if source.DownwardAPI != nil {
				files(fmt.Sprintf("%s.projected.sources[%d].downwardAPI", volumePath(p, i), j), v.Name, source.DownwardAPI.Items)
			}
		}
	}
	return all
}

// volumePath is the field of a volume.
func volumePath(p facts.PodTemplate, i int) string { return fmt.Sprintf("%s.volumes[%d]", p.Path(), i) }
