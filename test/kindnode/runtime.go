package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// runtimeName is the OCI runtime that the private engine starts containers with: this program under
// another name. It takes out of each container's configuration the capabilities that the machine
// itself does not have, and then becomes runc. `docker run --privileged` asks for all of them, and
// runc refuses to start a container with one that it cannot give.
const runtimeName = "kindnode-runtime"

// capabilityNames are in the order of their bits in /proc/self/status.
var capabilityNames = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
	NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
	SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
	WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// runtimeMain does not return when all is well.
func runtimeMain(args []string) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	missing, err := missingCapabilities(string(status))
	if err != nil {
		return err
	}
	for _, target := range rewriteTargets(args[1:]) {
		if err := rewriteFile(target, missing); err != nil {
			return err
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	return syscall.Exec(runc, append([]string{"runc"}, args[1:]...), os.Environ())
}

// missingCapabilities reads which capabilities the bounding set lacks.
func missingCapabilities(status string) ([]string, error) {
	for line := range strings.Lines(status) {
		value, found := strings.CutPrefix(line, "CapBnd:")
		if !found {
			continue
		}
		set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			return nil, fmt.Errorf("read CapBnd of /proc/self/status: %w", err)
		}
		var missing []string
		for bit, name := range capabilityNames {
			if set&(1<<bit) == 0 {
				missing = append(missing, "CAP_"+name)
			}
		}
		return missing, nil
	}
	return nil, errors.New("/proc/self/status has no CapBnd")
}

// rewriteTarget is a file that has a process, at its top or under "process".
type rewriteTarget struct {
	file   string
	within bool // the process is the value of "process", as in a bundle's config.json
}

// rewriteTargets finds the files in a command line of runc.
func rewriteTargets(args []string) []rewriteTarget {
	verb := slices.IndexFunc(args, func(a string) bool { return a == "create" || a == "run" || a == "exec" })
	if verb < 0 {
		return nil
	}
	if args[verb] == "exec" {
		if file := flagValue(args[verb:], "--process", "-p"); file != "" {
			return []rewriteTarget{{file: file}}
		}
		return nil
	}
	bundle := flagValue(args[verb:], "--bundle", "-b")
	return []rewriteTarget{{file: filepath.Join(bundle, "config.json"), within: true}}
}

func flagValue(args []string, names ...string) string {
	for i, a := range args {
		name, value, joined := strings.Cut(a, "=")
		if !slices.Contains(names, name) {
			continue
		}
		if joined {
			return value
		}
		if i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

func rewriteFile(t rewriteTarget, missing []string) error {
	content, err := os.ReadFile(t.file)
	if err != nil {
		return err
	}
	changed, err := rewriteProcess(content, t.within, missing)
	if err != nil {
		return fmt.Errorf("%s: %w", t.file, err)
	}
	return os.WriteFile(t.file, changed, 0o600)
}

// rewriteProcess takes capabilities out of every set of a process and leaves everything else as it
// is.
func rewriteProcess(content []byte, within bool, missing []string) ([]byte, error) {
	document := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber() // a 64-bit number must not pass through a float
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON document")
	}
	process := document
	if within {
		process, _ = document["process"].(map[string]any)
	}
	sets, _ := process["capabilities"].(map[string]any)
	for name, value := range sets {
		list, _ := value.([]any)
		sets[name] = slices.DeleteFunc(list, func(v any) bool {
			s, _ := v.(string)
			return slices.Contains(missing, s)
		})
	}
	return json.Marshal(document)
}
