package podrun

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
)

// shells are commands that start another program: which one, and with what, only the image knows.
var shells = []string{"sh", "bash", "ash", "dash", "busybox", "env", "tini", "dumb-init"}

// Unsupported says why a pod cannot be run as a process; empty if it can. program is that of a container,
// if there is one.
func Unsupported(p *corev1.Pod, program func(*corev1.Container) (infra.Program, bool)) string {
	return unsupported(p, program)
}

// unsupported says why a pod cannot be run here; empty if it can. What a kubelet would do and this
// cannot is refused, and not left out in silence, if the pod's status depends on it.
// docs/how-it-works.md lists both.
func unsupported(p *corev1.Pod, program func(*corev1.Container) (infra.Program, bool)) string {
	if n := len(p.Spec.Containers); n != 1 {
		var known []string
		for _, c := range p.Spec.Containers {
			if _, ok := program(&c); ok {
				known = append(known, c.Name)
			}
		}
		if len(known) == n {
			return fmt.Sprintf("it has %d containers, and a pod that runs has one", n)
		}
		return fmt.Sprintf("it has %d containers, of which only %s has a program, and a pod that runs has one", n, strings.Join(known, ", "))
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		of, ok := program(c)
		why := unsupportedContainer(p, c, of.Unpacked)
		switch {
		case c.RestartPolicy != nil:
			why = "it is to run beside the others"
		case !ok:
			why = "its image " + c.Image + " has no program"
		}
		if why != "" {
			return fmt.Sprintf("its init container %s: %s", c.Name, why)
		}
	}
	c := &p.Spec.Containers[0]
	of, _ := program(c)
	if why := unsupportedContainer(p, c, of.Unpacked); why != "" {
		return why
	}
	if why := unsupportedProbe(c, of.Unpacked != nil); why != "" {
		return why
	}
	return disagreement(p)
}

// unsupportedContainer: a container whose image is unpacked may run any of the image's programs.
func unsupportedContainer(p *corev1.Pod, c *corev1.Container, image *infra.Unpacked) string {
	if image != nil {
		if why := refused(p, c, image); why != "" {
			return why
		}
	}
	if image == nil && len(c.Command) > 0 && slices.Contains(shells, path.Base(c.Command[0])) {
		return fmt.Sprintf("its command is %s, and the program stands for the command", c.Command[0])
	}
	if len(c.EnvFrom) > 0 && slices.ContainsFunc(c.EnvFrom, func(e corev1.EnvFromSource) bool { return e.ConfigMapRef == nil && e.SecretRef == nil }) {
		return "envFrom has a source that is neither a ConfigMap nor a Secret"
	}
	for _, e := range c.Env {
		if image == nil && loader(e.Name) {
			return fmt.Sprintf("it sets %s, by which the dynamic linker would load other code into the program", e.Name)
		}
		if f := e.ValueFrom; f != nil && f.FileKeyRef != nil {
			return fmt.Sprintf("the variable %s is read from a file", e.Name)
		}
	}
	return unsupportedMounts(p, c)
}

// disagreement: the containers of a pod have one directory here, so that each path must mean the
// same to all of them, and an emptyDir must have one.
func disagreement(p *corev1.Pod) string {
	at, of := map[string]string{}, map[string]string{}
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			where, what := path.Clean("/"+m.MountPath), m.Name+"/"+m.SubPath
			if strings.HasPrefix(m.Name, "kube-api-access-") {
				continue // every container has the same one
			}
			if have, ok := at[where]; ok && have != what {
				return fmt.Sprintf("two of its containers have different volumes at %s", where)
			}
			if have, ok := of[m.Name]; ok && have != where && volume(p, m.Name).EmptyDir != nil {
				return fmt.Sprintf("two of its containers have the emptyDir %s at different paths", m.Name)
			}
			at[where], of[m.Name] = what, where
		}
	}
	return ""
}

// loader reports whether a variable is the dynamic linker's.
func loader(name string) bool {
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_")
}

func unsupportedMounts(p *corev1.Pod, c *corev1.Container) string {
	if len(c.VolumeDevices) > 0 {
		return "it has a block device"
	}
	times := map[string]int{}
	for _, m := range c.VolumeMounts {
		v := volume(p, m.Name)
		switch {
		case path.Clean("/"+m.MountPath) == "/":
			return "the volume " + m.Name + " is mounted in place of the whole file system"
		case m.SubPathExpr != "":
			return "the mount of volume " + m.Name + " has subPathExpr"
		case v == nil:
			return "the volume " + m.Name + " does not exist"
		case v.EmptyDir != nil:
			if times[m.Name]++; times[m.Name] > 1 || m.SubPath != "" {
				return "the emptyDir " + m.Name + " is mounted twice, or with a subPath"
			}
		case v.ConfigMap != nil, v.Secret != nil, v.DownwardAPI != nil:
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.ClusterTrustBundle != nil || s.PodCertificate != nil {
					return "the volume " + m.Name + " projects certificates"
				}
			}
		default:
			return "the volume " + m.Name + " is not a configMap, secret, projected, downwardAPI or emptyDir"
		}
	}
	return ""
}

func volume(p *corev1.Pod, name string) *corev1.Volume {
	for i := range p.Spec.Volumes {
		if p.Spec.Volumes[i].Name == name {
			return &p.Spec.Volumes[i]
		}
	}
	return nil
}
