package refs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// never finds images that a kubelet may not pull. That is right only where they are part of the node's
// own image.
func never(c *corev1.Container) []KubeletRefusal {
	if c.ImagePullPolicy != corev1.PullNever {
		return nil
	}
	return []KubeletRefusal{{Name: "imagePullPolicy", Text: fmt.Sprintf("container %s has imagePullPolicy: Never", c.Name), Then: "a kubelet starts it only on nodes that have its image already (ErrImageNeverPull)", Harmless: true}}
}

// capabilities are those of Linux 6 (capabilities(7)), without their CAP_.
const capabilities = "AUDIT_CONTROL AUDIT_READ AUDIT_WRITE BLOCK_SUSPEND BPF CHECKPOINT_RESTORE CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID IPC_LOCK IPC_OWNER KILL LEASE LINUX_IMMUTABLE " +
	"MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN NET_BIND_SERVICE NET_BROADCAST NET_RAW PERFMON SETFCAP SETGID SETPCAP SETUID SYSLOG SYS_ADMIN SYS_BOOT SYS_CHROOT SYS_MODULE SYS_NICE SYS_PACCT " +
	"SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM ALL"

// unknown finds capabilities that Linux does not have. Kubernetes takes any text, and what runs the
// container leaves it out or fails, by its version.
func unknown(c *corev1.Container) []KubeletRefusal {
	if c.SecurityContext == nil || c.SecurityContext.Capabilities == nil {
		return nil
	}
	var all []KubeletRefusal
	for _, name := range slices.Concat(c.SecurityContext.Capabilities.Add, c.SecurityContext.Capabilities.Drop) {
		upper := strings.ToUpper(string(name))
		if slices.Contains(strings.Fields(capabilities), upper) {
			continue
		}
		hint := ""
		if bare, prefixed := strings.CutPrefix(upper, "CAP_"); prefixed && slices.Contains(strings.Fields(capabilities), bare) {
			hint = "; in Kubernetes its name is " + bare
		}
		all = append(all, KubeletRefusal{Name: string(name), Text: fmt.Sprintf("container %s names capability %s, which does not exist%s", c.Name, name, hint), Then: "it starts without it, or not at all, by the node's container runtime", Harmless: true})
	}
	return all
}

// inProc are the files below /proc that runc lets a mount hide.
const inProc = "/proc/cpuinfo /proc/diskstats /proc/meminfo /proc/stat /proc/swaps /proc/uptime /proc/loadavg /proc/slabinfo /proc/sys/kernel/ns_last_pid /proc/sys/crypto/fips_enabled"

// proc finds mounts below /proc, which runc refuses.
func proc(c *corev1.Container) []KubeletRefusal {
	var all []KubeletRefusal
	for _, m := range c.VolumeMounts {
		at := path.Clean("/" + m.MountPath)
		if !strings.HasPrefix(at, "/proc/") || slices.Contains(strings.Fields(inProc), at) {
			continue
		}
		all = append(all, KubeletRefusal{Name: m.MountPath, Text: fmt.Sprintf("container %s mounts volume %s at %s, and a mount inside of /proc is refused", c.Name, m.Name, m.MountPath), Then: "a kubelet never starts it (RunContainerError)"})
	}
	return all
}
