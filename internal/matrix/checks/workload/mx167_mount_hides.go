package workload

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

var mountHides = judge.Check{
	ID: "MX167", Name: "mount-over-programs", Needs: judge.Rendered,
	Title: "No volume hides the programs of an image",
	Why: "A volume takes the place of the directory of the image that it is mounted at (https://kubernetes.io/docs/concepts/storage/volumes/). At one of these that is the container's program, or the libraries that it needs. " +
		"A subPath mounts one file into a directory. Simulated pods have no files. A directory of the node may be meant.",
	Fix:  "Mount it at a directory of its own, or its files by subPath.",
	Says: "container %s mounts volume %s at %s, in the place of the image's own files", Then: "programs and libraries that the image has there are gone; mount files by subPath",
	Run: func(s *judge.Scope) {
		system := strings.Fields("/ /etc /bin /sbin /lib /lib64 /usr /usr/bin /usr/sbin /usr/lib /usr/lib64")
		for _, p := range s.Pods() {
			node := map[string]bool{}
			for _, v := range p.Template.Spec.Volumes {
				node[v.Name] = v.VolumeSource.HostPath != nil
			}
			for _, c := range p.Containers() {
				for i, m := range c.VolumeMounts {
					if m.SubPath == "" && m.SubPathExpr == "" && !node[m.Name] && slices.Contains(system, path.Clean("/"+m.MountPath)) {
						s.Report(p.Object, fmt.Sprintf("%s.volumeMounts[%d].mountPath", c.Path, i), c.Name, m.Name, m.MountPath).OneOfTemplate()
					}
				}
			}
		}
	},
}
