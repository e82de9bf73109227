package render

import (
	"encoding/json"
	"os"

	"github.com/nvidia/aicr-action/internal/util/confined"
)

// env has the limits, as JSON, in the environment of the process that renders. This program's own
// file is started once more with it: init (serve.go) then renders instead of doing whatever the
// program is for. Test binaries can be that process too.
const env = "AICR_ACTION_RENDER_LIMITS"

// Subject begins what is said of a limit that a rendering goes over.
const Subject = "rendering it"

// Environment returns the variables of a process that renders: those that a template could see
// something of, by the names of days and the zone of times, and those of Go's collector. Where
// there is no Landlock, Go's HTTP client is kept from other machines: a chart's schema may name any
// address.
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
	cmd, err := confined.Command("render-charts", append(Environment(), env+"="+string(text))...)
	if err != nil {
		return nil, err
	}
	cmd.Dir = os.TempDir()
	return confined.Start(cmd, Subject)
}
