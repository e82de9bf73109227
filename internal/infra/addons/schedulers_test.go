package addons

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
	"github.com/nvidia/aicr-action/kwok"
)

// Each shipped scheduler has a program in its module, a configuration and definitions.
func TestShipped(t *testing.T) {
	built, err := stack.NewSchedulers(host.Paths{Root: t.TempDir()}, kwok.SchedulersMod, kwok.SchedulersSum)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Shipped() {
		s, err := New(name, built)
		if err != nil || (len(s.Profiles()) == 0) != s.Admits() || s.Path == "" || s.CRDs == "" || s.Controls() || s.Webhooks() != s.Admits() {
			t.Errorf("%s: got %+v, %v", name, s, err)
		}
	}
	for _, name := range Controllers() {
		s, err := NewController(name, built)
		if err != nil || len(s.Profiles()) > 0 || s.Admits() || !s.Controls() || !s.Webhooks() || s.Path == "" || s.CRDs == "" || s.Does() == "" || s.String() != "controller "+name {
			t.Errorf("%s: got %+v, %v", name, s, err)
		}
		if elect, ok := s.config["leaderElection"].(map[string]any)["leaderElect"]; !ok || elect != false {
			t.Errorf("%s: it takes part in an election of leaders: %v", name, s.config)
		}
		if len(Groups([]Scheduler{s})) != 1 {
			t.Errorf("%s: nothing is built for it", name)
		}
	}
	if _, err := NewController("kueue", built); err == nil || !strings.Contains(err.Error(), "there are: [jobset trainer]") {
		t.Errorf("got %v", err)
	}
	if got := WithNeeded([]string{"trainer"}); !slices.Equal(got, []string{"jobset", "trainer"}) {
		t.Errorf("got %v: Trainer does not start without JobSet, which must be first", got)
	}
	if got := WithNeeded([]string{"jobset"}); !slices.Equal(got, []string{"jobset"}) {
		t.Errorf("got %v", got)
	}
	for group, want := range map[string]string{"jobset.x-k8s.io": "jobset", "trainer.kubeflow.org": "trainer", "": "", "batch": ""} {
		if got := ControllerOf(group); got != want {
			t.Errorf("%q: got %q, want %q", group, got, want)
		}
	}
	s, err := New("coscheduling", built)
	if err != nil || !slices.Equal(s.Profiles(), []string{"scheduler-plugins-scheduler"}) || filepath.Base(s.Path) != "scheduler-plugins" {
		t.Errorf("got %+v, %v", s, err)
	}
	if err := Twice([]Scheduler{s, s}, nil); err == nil {
		t.Error("the same scheduler twice is not refused")
	}
	if err := Twice([]Scheduler{s}, []string{"scheduler-plugins-scheduler"}); err == nil {
		t.Error("a scheduler that is played too is not refused")
	}
	if _, err := New("volcano", built); err == nil || !strings.Contains(err.Error(), "there are: [coscheduling kueue]") {
		t.Errorf("got %v", err)
	}
}

func TestFromProgram(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	program, text := file("program", "", 0o755), file("text", "", 0o644)
	good := file("good.yaml", head+"clientConnection: {kubeconfig: mine, qps: 1}\nleaderElection: {leaderElect: true}\nparallelism: 3\nprofiles: [{schedulerName: mine}, {schedulerName: other}]\n", 0o644)
	for name, c := range map[string]struct{ name, path, config, want string }{
		"no name":          {"", program, "", "want NAME=FILE"},
		"no file":          {"mine", "", "", "want NAME=FILE"},
		"not there":        {"mine", filepath.Join(dir, "none"), "", "no such file"},
		"not executable":   {"mine", text, "", "is not an executable file"},
		"a directory":      {"mine", dir, "", "is not an executable file"},
		"the default one":  {"default-scheduler", program, "", "give it another schedulerName"},
		"no configuration": {"mine", program, filepath.Join(dir, "none"), "the configuration of scheduler mine"},
		"not YAML":         {"mine", program, file("bad.yaml", "{", 0o644), "bad.yaml: "},
		"another kind":     {"mine", program, file("pod.yaml", "kind: Pod\n", 0o644), "its kind is Pod"},
		"no profile":       {"mine", program, file("empty.yaml", head, 0o644), "no profile has a schedulerName"},
		"another profile":  {"yours", program, good, "no profile has the schedulerName yours; it has: [mine other]"},
	} {
		if _, err := FromProgram(c.name, c.path, c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	s, err := FromProgram("mine", program, good)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := s.complete("/the/kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		ClientConnection struct {
			Kubeconfig string
			QPS        float64
		}
		LeaderElection struct{ LeaderElect bool }
		Parallelism    int
		Profiles       []struct{ SchedulerName string }
	}
	if err := yaml.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.ClientConnection.Kubeconfig != "/the/kubeconfig" || got.ClientConnection.QPS == 1 || got.LeaderElection.LeaderElect || got.Parallelism != 3 || len(got.Profiles) != 2 {
		t.Errorf("got\n%s", raw)
	}
}

// A program that runs and never says that it is ready ends the wait, and so does one that has
// ended.
func TestReady(t *testing.T) {
	sup := host.NewSupervisor()
	defer sup.Close(0)
	ports, err := host.NewPorts(t.TempDir()).Take(1)
	if err != nil {
		t.Fatal(err)
	}
	l := &launch{ready: "https://127.0.0.1:" + strconv.Itoa(ports[0]) + "/readyz"}
	for name, c := range map[string]struct {
		args    []string
		budget  time.Duration
		timeout bool
		want    string
	}{
		"never ready": {[]string{"-c", "sleep 1000"}, 500 * time.Millisecond, true, "/readyz: "},
		"ended":       {[]string{"-c", "exit 3"}, time.Minute, false, "it ended with exit code 3"},
	} {
		p, err := sup.Start(host.ProcessSpec{Name: name, Path: "/bin/sh", Args: c.args, Dir: t.TempDir(), Log: filepath.Join(t.TempDir(), "log"), Ends: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.wait(t.Context(), "x", c.budget, p); err == nil || wait.IsTimeout(err) != c.timeout || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
		p.Stop(0)
	}
}

// The reason of a death is the scheduler's own, except for a full disk.
func TestDeath(t *testing.T) {
	for _, c := range []struct {
		name     string
		of, want reason.Reason
	}{
		{"scheduler coscheduling", reason.ComponentDied, reason.SchedulerFailed},
		{"scheduler coscheduling", reason.NoSpace, reason.NoSpace},
		{"controller jobset", reason.ComponentDied, reason.SchedulerFailed},
		{"kube-scheduler", reason.ComponentDied, reason.ComponentDied},
	} {
		if err := Death(&infra.DeathError{Name: c.name, Err: os.ErrClosed, Reason: c.of, Tail: []string{"bad config"}}); reason.Of(err) != c.want || !strings.Contains(err.Error(), "bad config") {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}
