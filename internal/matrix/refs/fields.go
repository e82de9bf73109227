package refs

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// fields finds containers whose requests and limits a pod reads, and that it does not have. The API server
// takes any name, and a kubelet starts no container with a variable or a file that it cannot fill.
func fields(spec *corev1.PodSpec) []KubeletRefusal {
	var all []KubeletRefusal
	has := map[string]bool{"": true} // the container's own
	containers := slices.Concat(spec.InitContainers, spec.Containers)
	for i := range containers {
		has[containers[i].Name] = true
	}
	check := func(of string, field *corev1.ResourceFieldSelector) {
		if field != nil && !has[field.ContainerName] {
			all = append(all, KubeletRefusal{Name: field.ContainerName, Then: "a kubelet starts none of its containers without it",
				Text: fmt.Sprintf("takes %s from %s of container %s (resourceFieldRef), and it has no such container", of, field.Resource, field.ContainerName)})
		}
	}
	files := func(of string, items []corev1.DownwardAPIVolumeFile) {
		for _, f := range items {
			check(of+"/"+f.Path, f.ResourceFieldRef)
		}
	}
	for i := range containers {
		for _, e := range containers[i].Env {
			if e.ValueFrom != nil {
				check(e.Name, e.ValueFrom.ResourceFieldRef)
			}
		}
	}
	for _, v := range spec.Volumes {
		if v.DownwardAPI != nil {
			files("volume "+v.Name, v.DownwardAPI.Items)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.DownwardAPI != nil {
				files("volume "+v.Name, s.DownwardAPI.Items)
			}
		}
	}
	return all
}
