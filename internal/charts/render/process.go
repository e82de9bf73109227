package render

import (
	"encoding/json"
	"os"

	"github.com/nvidia/aicr-action/internal/util/confined"
	"github.com/nvidia/aicr-action/internal/util/reexec"
)

// command is the hidden command that renders (serve.go). Its argument has the limits.
const command = "render-charts"

// Subject is the first words of the message about a limit that a rendering exceeded.
const Subject = "rendering it"

// Environment returns the variables of a process that renders: those that change what a template
// prints, by the names of days and the zone of times, and that of Go's collector. The proxies keep
// Go's HTTP client away from other machines on systems without Landlock, since a chart's schema may
// name any address.
func Environment() []string {
	all := []string{"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"}
	for _, name := range []string{"LANG", "LC_ALL", "TZ", "GOGC"} {
		if value, ok := os.LookupEnv(name); ok {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// OfProcess returns those of the limits that the process itself is under.
func (l Limits) OfProcess() confined.Limits {
	return confined.Limits{Time: l.Time, CPU: l.CPU, Memory: l.Memory}
}

func start(limits Limits) (*confined.Process, error) {
	Register()
	text, err := json.Marshal(limits)
	if err != nil {
		return nil, err
	}
	cmd, err := reexec.Process(command, string(text))
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, Environment()...)
	cmd.Dir = os.TempDir()
	return confined.Start(cmd, Subject)
}
