package action_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/tools/release"
)

// releaseTool is the program internal/tools/release/tool.
var releaseTool = testkit.Binary{Name: "release", Build: func(path string) *exec.Cmd {
	return exec.Command("go", "build", "-o", path, "./internal/tools/release/tool")
}}

// releaseRun is a server for those jobs of release.yaml that make and check one platform's files.
// The go command has the programs already: program is matrix; what the second program is does not
// matter here.
func releaseRun(t *testing.T, program, cache string, jobs ...string) (*server, workflow) {
	t.Helper()
	tool := releaseTool.Path(t)
	s := newServer(t)
	s.checkout, s.only = t.TempDir(), "ubuntu-24.04-arm" // not the one that lists licences, which needs the source of every module
	write(t, filepath.Join(s.checkout, "README.md"), "the source")
	tools := t.TempDir()
	write(t, filepath.Join(tools, "aicr"), "#!/bin/bash\necho '{\"version\":\""+pinnedVersion+"\"}'\n")
	write(t, filepath.Join(tools, "go"), `#!/bin/bash
set -e
case "$1 $2" in
  "run ./internal/tools/release/tool") shift 2; exec `+tool+` "$@" ;;
  "build -trimpath") while [[ $1 != -o ]]; do shift; done
    case $3 in ./cmd/matrix) cp `+program+` "$2" ;; ./cmd/aicr) cp `+filepath.Join(tools, "aicr")+` "$2" ;; *) exit 9 ;; esac ;;
  *) exit 9 ;;
esac
`)
	s.env = []string{"PATH=" + tools + ":" + os.Getenv("PATH"), "VERSION=" + pinnedVersion, "AICR_ACTION_CACHE=" + cache}
	w := readWorkflow(t, ".github/workflows/release.yaml")
	s.results["check"] = "success" // TestRelease_WorkflowsPassed
	jobs = append(jobs, "check")
	maps.DeleteFunc(w.Jobs, func(name string, _ job) bool { return !slices.Contains(jobs, name) })
	return s, w
}

// TestReleaseRebuild: the jobs that make a platform's files, and make them again and compare.
func TestReleaseRebuild(t *testing.T) {
	key, err := release.StackKey()
	if err != nil {
		t.Fatal(err)
	}
	says := "#!/bin/bash\n[[ $1 != version ]] || { echo '{\"version\":\"" + pinnedVersion + "\",\"stackPath\":\"/x/" + key + "-" + here().OS + "-" + here().Arch + "\"}'; exit; }\nexec " + matrix(t) + " \"$@\"\n"
	for name, test := range map[string]struct {
		between func(program, cache, artifact string) // the two builds
		want    string                                // of the second one
		log     string
	}{
		"the same":        {func(string, string, string) {}, "success", ""},
		"another program": {func(program, _, _ string) { write(t, program, says+"# another compiler\n") }, "failure", "the same source made another file"},
		"another stack": {func(_, cache, _ string) {
			bins, err := filepath.Glob(filepath.Join(cache, "stack", "*", "bin", "etcd"))
			if err != nil || len(bins) != 1 {
				t.Fatalf("%q, %v", bins, err)
			}
			write(t, bins[0], "another etcd")
		}, "failure", release.StackArchive(key, here()) + ": "},
		"a file is lost": {func(_, _, artifact string) {
			if err := os.Remove(filepath.Join(artifact, release.Binary(pinnedVersion, here()))); err != nil {
				t.Fatal(err)
			}
		}, "failure", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			program, cache := filepath.Join(t.TempDir(), "matrix"), smallStack(t)
			write(t, program, says)
			s, w := releaseRun(t, program, cache, "build", "rebuild")
			s.cancel = func(job string, _ map[string]string) bool {
				if job == "rebuild" {
					test.between(program, cache, filepath.Join(s.dir, "artifacts", "release-"+s.only))
				}
				return false
			}
			s.jobs(w)
			if s.results["build"] != "success" || s.results["rebuild"] != test.want || !strings.Contains(s.log.String(), test.log) {
				t.Errorf("jobs %v, want rebuild to be %s, with %q in\n%s", s.results, test.want, test.log, s.log.String())
			}
		})
	}
}
