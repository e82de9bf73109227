package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What can be refused before a cluster exists is: invoke fails the test if one was made.
func TestWorkflow_BadInput(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.yaml")
	if err := os.WriteFile(broken, []byte("name: x\ntasks:\n- id: a\n  type: Sleeep\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	other, good := filepath.Join("testdata", "workflows", "other-scheduler.yaml"), filepath.Join("testdata", "workflows", "too-large.yaml")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for name, c := range map[string]struct {
		args string
		code int
		want string
	}{
		"no file":             {"workflow run", 2, "requires at least 1 arg"},
		"a file that is not":  {"workflow run " + dir + "/none.yaml", 2, "find workflow"},
		"an empty directory":  {"workflow lint " + t.TempDir(), 2, "no *.yaml or *.yml in"},
		"a mistake":           {"workflow run " + broken, 2, broken + `:4: task a (Sleeep): unknown type "Sleeep"`},
		"the same, linted":    {"workflow lint " + broken, 2, broken + `:4: task a (Sleeep): unknown type "Sleeep"`},
		"no such scheduler":   {"workflow run " + other, 64, `other-scheduler.yaml:8: task other (SubmitObj): its objects ask for the scheduler "volcano"`},
		"the same in lint":    {"workflow lint " + other, 64, `--scheduler NAME says that the cluster has one`},
		"two clusters":        {"workflow run " + good + " --name a --kubeconfig b", 2, "give one of them"},
		"an empty name":       {"workflow run " + good + " --name=", 2, "want a value that is not empty"},
		"keep a foreign one":  {"workflow run " + good + " --kubeconfig b --keep", 2, "are for a cluster of the run's own"},
		"a second scheduler":  {"workflow run " + good + " --scheduler volcano", 2, `there is no scheduler "volcano"; there are: [coscheduling kueue]`},
		"a controller":        {"workflow run " + good + " --controller kueue", 2, `there is no controller "kueue"; there are: [jobset trainer]`},
		"keep a controller":   {"workflow run " + good + " --keep --controller jobset", 2, "leave out --keep"},
		"controller on Kind":  {"workflow run " + good + " --platform kind --controller jobset", 2, "--controller does not work with --platform kind: second schedulers and controllers are programs of this machine"},
		"no program":          {"workflow run " + good + " --scheduler-program mine=" + dir + "/none", 2, "--scheduler-program: the program of scheduler mine"},
		"half a program":      {"workflow run " + good + " --scheduler-program mine", 2, "want NAME=FILE"},
		"its configuration":   {"workflow run " + good + " --scheduler-config " + good, 2, "--scheduler-config is for --scheduler-program"},
		"keep a scheduler":    {"workflow run " + good + " --keep --scheduler coscheduling", 2, "leave out --keep"},
		"scheduler elsewhere": {"workflow run " + good + " --name lab --scheduler coscheduling", 2, "are for a cluster of the run's own"},
		"played and run":      {"workflow run " + good + " --scheduler coscheduling --play-scheduler scheduler-plugins-scheduler", 2, "two schedulers would place the pods of scheduler-plugins-scheduler"},
		"a stage":             {"workflow run " + good + " --stages nope", 2, `there is no KWOK stage "nope"`},
		"a stage of cluster":  {"cluster up --stages nope", 2, `there is no KWOK stage "nope"`},
		"no such cluster":     {"workflow run " + good + " --name none", 2, `no cluster named "none"`},
		"no such kubeconfig":  {"workflow run " + good + " --kubeconfig " + dir + "/none", 4, "find the cluster to run workflows on"},
		"not in a cluster":    {"workflow run " + good + " --in-cluster", 4, "find the cluster to run workflows on"},
		"no file to apply":    {"workflow run " + good + " --apply " + dir + "/none", 2, "--apply"},
		"an output":           {"workflow run " + good + " -o yaml", 2, "want table or json"},
		"a report nowhere":    {"workflow run " + good + " --html " + dir + "/none/x.html", 2, "there is no directory"},
		"a negative time":     {"workflow run " + good + " --cleanup-timeout -1s", 2, "want a positive time"},
		"no address":          {"workflow run " + good + " --metrics nine", 2, "--metrics nine: "},
		"an address in use":   {"workflow run " + good + " --metrics " + taken.Addr().String(), 2, "another program listens on " + taken.Addr().String() + "; choose another port"},
		"the same for cells":  {"run eks -d helm --metrics " + taken.Addr().String(), 2, "another program listens on " + taken.Addr().String()},
		"manifest, no image":  {"workflow manifest " + good, 2, "--image"},
		"manifest of stages":  {"workflow manifest --stages " + good, 2, "leave out files"},
		"nodes of nothing":    {"nodes", 2, "name a recipe, or a file with --from"},
		"nodes of both":       {"nodes eks --from x", 2, "give one of them"},
		"nodes of a bad file": {"nodes --from " + broken, 2, broken + `:1: unknown field "name"`},
	} {
		t.Run(name, func(t *testing.T) { invoke(t, nil, strings.Fields(c.args)...).want(t, c.code, c.want) })
	}
}

// The stages are printed as objects that kubectl takes.
func TestWorkflowManifest(t *testing.T) {
	r := invoke(t, nil, "workflow", "manifest", "--stages")
	r.want(t, 0)
	wantText(t, "the stages", r.stdout, "name: pod-complete\n", "name: pod-container-running-failed\n", "name: pod-init-container-running-failed\n")
	r = invoke(t, nil, "workflow", "manifest", "--image", "example.com/matrix", filepath.Join("testdata", "workflows", "too-large.yaml"))
	r.want(t, 0)
	wantText(t, "the manifest", r.stdout, "kind: ServiceAccount", "name: cluster-admin", "kind: Job", "- --in-cluster", "path: pod.yaml")
}
