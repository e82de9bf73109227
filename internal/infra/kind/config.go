package kind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	kindexec "sigs.k8s.io/kind/pkg/exec"
	kindlog "sigs.k8s.io/kind/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/kwok"
)

// readConfig reads kwok/kind-config.yaml.
func readConfig() (*v1alpha4.Cluster, error) {
	raw, err := kwok.Files.ReadFile("kind-config.yaml")
	if err != nil {
		return nil, err
	}
	conf := &v1alpha4.Cluster{}
	if err := yaml.UnmarshalStrict(raw, conf); err != nil {
		return nil, fmt.Errorf("read kwok/kind-config.yaml: %w", err)
	}
	if len(conf.Nodes) != 1 || len(conf.Nodes[0].ExtraPortMappings) != 1 || len(conf.Nodes[0].ExtraMounts) != 1 || conf.Nodes[0].Labels[infra.HostNodeLabel] == "" {
		return nil, errors.New("kwok/kind-config.yaml: want one node with one extraPortMapping, one extraMount and the label " + infra.HostNodeLabel)
	}
	return conf, nil
}

// enableAdmission adds admission plug-ins to those of the API server.
func enableAdmission(conf *v1alpha4.Cluster, plugins []string) {
	if len(plugins) == 0 {
		return
	}
	// NodeRestriction is kubeadm's own list, whose place this takes.
	list := strings.Join(append([]string{"NodeRestriction"}, plugins...), ",")
	conf.KubeadmConfigPatchesJSON6902[0].Patch += fmt.Sprintf("- {op: add, path: /apiServer/extraArgs/-, value: {name: enable-admission-plugins, value: %q}}\n", list)
}

// nodeDir is where the node has state.mount.
const nodeDir = "/aicr-action"

// socketName is the socket on which the harness stands in for aggregated APIs.
const socketName = "egress.sock"

// writeNodeFiles writes what the control plane reads: the egress configuration, and the scheduler's
// with these further schedulers.
func (s *state) writeNodeFiles(schedulers []string) error {
	egress, err := simulate.EgressConfig(nodeDir + "/" + socketName)
	if err != nil {
		return err
	}
	scheduler, err := simulate.SchedulerConfig("/etc/kubernetes/scheduler.conf", append([]string{corev1.DefaultSchedulerName}, schedulers...))
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"egress.yaml": egress, "scheduler.yaml": scheduler} {
		if err := os.WriteFile(filepath.Join(s.mount(), name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// createError is what kind says of a cluster that it could not make.
func createError(err error, name string, port int) error {
	if err = kindError(err); reason.Of(err) == reason.ComponentDied {
		return fmt.Errorf("make Kind cluster %s: %w", name, err)
	}
	text := err.Error()
	contains := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case contains("port is already allocated", "address already in use"):
		return reason.New(reason.PortTaken, "make Kind cluster %s: port %d of this machine, or the API server's, was taken meanwhile; run again, and if it is the registry's see who has it with docker ps --filter publish=%d: %w", name, port, port, err)
	case contains("no space left on device"):
		return reason.New(reason.NoSpace, "make Kind cluster %s: %w", name, err)
	case contains("failed to pull image", "pull access denied", "manifest unknown", "No such image"):
		return reason.New(reason.ImageMissing, "make Kind cluster %s: %w", name, err)
	case contains("node(s) already exist for a cluster with the name"):
		return reason.New(reason.ClusterFailed, "make Kind cluster %s: there is one of that name, and it is not this run's: delete it (kind delete cluster --name %s), or set KWOK_CLUSTER", name, name)
	}
	return reason.New(reason.ClusterFailed, "make Kind cluster %s: %w", name, err)
}

// kindError is an error of kind with the last lines of what its command printed, which its own text
// leaves out.
func kindError(err error) error {
	run := kindexec.RunErrorForError(err)
	if run == nil {
		return engineError(err)
	}
	lines := withoutStack(strings.Split(strings.TrimSpace(string(run.Output)), "\n"))
	if len(lines) > maxOutput {
		lines = lines[len(lines)-maxOutput:]
	}
	return engineError(fmt.Errorf("%w\n%s", err, strings.Join(lines, "\n")))
}

// withoutStack leaves out the stack traces that kubeadm prints behind its error, which are longer
// than it: a function, and below it its place.
func withoutStack(lines []string) []string {
	var kept []string
	for i, line := range lines {
		place := strings.HasPrefix(line, "\t") && strings.Contains(line, ":")
		function := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t") && !strings.Contains(line, " ")
		if !place && !function {
			kept = append(kept, line)
		}
	}
	return kept
}

// maxOutput is how many lines of a command's output an error has.
const maxOutput = 20

// kindLogger writes kind's progress to the cell's log, without the commands that it runs; the zero
// value drops it.
type kindLogger struct{ log *slog.Logger }

func (l kindLogger) write(level slog.Level, message string) {
	if l.log != nil {
		for line := range strings.Lines(message) {
			l.log.Log(context.Background(), level, "kind: "+strings.TrimSpace(line))
		}
	}
}

func (l kindLogger) Warn(message string)       { l.write(slog.LevelWarn, message) }
func (l kindLogger) Warnf(f string, a ...any)  { l.Warn(fmt.Sprintf(f, a...)) }
func (l kindLogger) Error(message string)      { l.write(slog.LevelError, message) }
func (l kindLogger) Errorf(f string, a ...any) { l.Error(fmt.Sprintf(f, a...)) }
func (l kindLogger) V(level kindlog.Level) kindlog.InfoLogger {
	if level > 0 {
		return kindLogger{}
	}
	return l
}
func (l kindLogger) Info(message string)      { l.write(slog.LevelInfo, message) }
func (l kindLogger) Infof(f string, a ...any) { l.Info(fmt.Sprintf(f, a...)) }
func (l kindLogger) Enabled() bool            { return l.log != nil }
