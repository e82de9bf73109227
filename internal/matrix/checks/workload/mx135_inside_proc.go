package workload

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var insideProc = judge.Check{
	ID: "MX135", Name: "mount-inside-proc", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "No volume is mounted inside of /proc",
	Why:   "runc refuses a mount inside of /proc, except over the files that report a machine's sizes (checkProcMount, https://github.com/opencontainers/runc/blob/main/libcontainer/rootfs_linux.go).",
	Fix:   "Mount it elsewhere, e.g. at /host/proc.",
	Says:  "container %s mounts volume %s at %s, and a mount inside of /proc is refused", Then: "a kubelet never starts it (RunContainerError)",
	Run: func(s *judge.Scope) {
		may := strings.Fields("cpuinfo diskstats meminfo stat swaps uptime loadavg slabinfo sys/kernel/ns_last_pid sys/crypto/fips_enabled")
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				for i, m := range c.VolumeMounts {
					if file, inside := strings.CutPrefix(path.Clean("/"+m.MountPath), "/proc/"); inside && !slices.Contains(may, file) {
						s.Report(p.Object, fmt.Sprintf("%s.volumeMounts[%d].mountPath", c.Path, i), c.Name, m.Name, m.MountPath).OneOfTemplate()
					}
				}
			}
		}
	},
}
