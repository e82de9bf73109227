package workload

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/matrix/judge"
)

// capabilities are those of Linux 6 (capabilities(7)), without their CAP_.
const capabilities = "AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE " +
	"DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN " +
	"NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT SYS_CHROOT " +
	"SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM ALL"

var capability = judge.Check{
	ID: "MX134", Name: "capability-unknown", Needs: judge.Rendered,
	Title: "The capabilities of a container are those of Linux, in Kubernetes' spelling",
	Why:   "Kubernetes takes any text, and names capabilities without CAP_ (https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#set-capabilities-for-a-container). What runs the container leaves an unknown one out or fails, by its version.",
	Fix:   "Write the name as capabilities(7) has it, without CAP_.",
	Says:  "container %s names capability %s, which does not exist%s", Then: "it starts without it, or not at all, by the node's container runtime",
	Run: func(s *judge.Scope) {
		known := strings.Fields(capabilities)
		for _, p := range s.Pods() {
			for _, c := range p.Containers() {
				if c.SecurityContext == nil || c.SecurityContext.Capabilities == nil {
					continue
				}
				look := func(field string, names []corev1.Capability) {
					for i, name := range names {
						upper := strings.ToUpper(string(name))
						if slices.Contains(known, upper) {
							continue
						}
						hint := ""
						if bare, prefixed := strings.CutPrefix(upper, "CAP_"); prefixed && slices.Contains(known, bare) {
							hint = "; in Kubernetes its name is " + bare
						}
						s.Report(p.Object, fmt.Sprintf("%s.securityContext.capabilities.%s[%d]", c.Path, field, i), c.Name, name, hint)
					}
				}
				look("add", c.SecurityContext.Capabilities.Add)
				look("drop", c.SecurityContext.Capabilities.Drop)
			}
		}
	},
}
