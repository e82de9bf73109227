package refs

// kubelet_kubelet.go says which pods a kubelet never starts, or never reports as ready, by their
// template alone. The API server takes them, and a simulated kubelet runs everything.

import (
	"fmt"
	"slices"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// KubeletRefusal is what a kubelet does not do.
type KubeletRefusal struct {
	// Name is what a file of the recipe may have in it.
	Name string
	// Text says what the template has, and Then what follows.
	Text, Then string
	// Harmless if the pod becomes ready all the same.
	Harmless bool
}

// KubeletRefusals looks at every container of a template. What a path of it expands to is a matter of Paths.
func KubeletRefusals(spec *corev1.PodSpec) []KubeletRefusal {
	all := slices.Concat(node(spec), fields(spec), volumes(spec))
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			c := &list[i]
			all = append(all, slices.Concat(image(c), root(spec, c), ports(c), never(c), unknown(c), proc(c))...)
		}
	}
	return all
}

// image finds names that are none: an empty tag, a space, capitals. A kubelet parses an image's name
// before it pulls it (https://github.com/distribution/reference).
func image(c *corev1.Container) []KubeletRefusal {
	if c.Image == "" {
		return nil // the API server rejects it
	}
	if _, err := reference.ParseNormalizedNamed(c.Image); err != nil {
		return []KubeletRefusal{{Name: c.Image, Text: fmt.Sprintf("container %s has the image %q, which is no name of an image (%v)", c.Name, c.Image, err), Then: "a kubelet never starts it (InvalidImageName)"}}
	}
	return nil
}

// root finds containers that may not run as root, and are told to.
func root(spec *corev1.PodSpec, c *corev1.Container) []KubeletRefusal {
	var not *bool
	var user *int64
	if s := spec.SecurityContext; s != nil {
		not, user = s.RunAsNonRoot, s.RunAsUser
	}
	if s := c.SecurityContext; s != nil {
		if s.RunAsNonRoot != nil {
			not = s.RunAsNonRoot
		}
		if s.RunAsUser != nil {
			user = s.RunAsUser
		}
	}
	if not == nil || !*not || user == nil || *user != 0 {
		return nil
	}
	return []KubeletRefusal{{Name: "runAsUser", Text: fmt.Sprintf("container %s has runAsNonRoot: true and runAsUser: 0", c.Name), Then: "a kubelet never starts it (CreateContainerConfigError)"}}
}

// ports finds probes and hooks of a port by a name that the container does not give to any. A kubelet
// discards what a probe without a port answers: the container stays as it was at the start, which is
// not ready, and alive.
func ports(c *corev1.Container) []KubeletRefusal {
	var all []KubeletRefusal
	check := func(what string, h *corev1.ProbeHandler, then string, harmless bool) {
		name := portOf(h.HTTPGet, h.TCPSocket)
		if name == "" || slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == name }) {
			return
		}
		all = append(all, KubeletRefusal{Name: name, Text: fmt.Sprintf("the %s of container %s asks port %s, and the container has no port of that name", what, c.Name, name), Then: then, Harmless: harmless})
	}
	for _, p := range []struct {
		what, then string
		probe      *corev1.Probe
		harmless   bool
	}{
		{"readinessProbe", "its pods never become ready", c.ReadinessProbe, false},
		{"startupProbe", "its pods never become ready", c.StartupProbe, false},
		{"livenessProbe", "it is never probed", c.LivenessProbe, true},
	} {
		if p.probe != nil {
			check(p.what, &p.probe.ProbeHandler, p.then, p.harmless)
		}
	}
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		h := corev1.ProbeHandler{HTTPGet: c.Lifecycle.PostStart.HTTPGet, TCPSocket: c.Lifecycle.PostStart.TCPSocket}
		check("postStart hook", &h, "a kubelet kills it each time (FailedPostStartHook)", false)
	}
	return all
}

// portOf is the name of the port that is asked; empty if it is a number.
func portOf(get *corev1.HTTPGetAction, socket *corev1.TCPSocketAction) string {
	switch {
	case get != nil && get.Port.Type == intstr.String:
		return get.Port.StrVal
	case socket != nil && socket.Port.Type == intstr.String:
		return socket.Port.StrVal
	}
	return ""
}
