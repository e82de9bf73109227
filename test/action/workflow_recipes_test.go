package action_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/report"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// recipesRun is a server on which the reusable workflow can be called. matrix is the real program,
// except for its commands run, which writes the results that are prepared for the recipe, and
// images save, which pulls no image. The stack is empty. TestFiveLines runs real cells in a job.
type recipesRun struct {
	*server
	cells string // a directory of results by recipe
	built string // a line for each time that the program was compiled
	saved string // a line for each time that images were saved
	ran   string // the arguments of every run, a line each
}

func newRecipesRun(t *testing.T, bin string) *recipesRun {
	t.Helper()
	s := &recipesRun{server: newServer(t), cells: t.TempDir(), built: filepath.Join(t.TempDir(), "built"), saved: filepath.Join(t.TempDir(), "saved"), ran: filepath.Join(t.TempDir(), "ran")}
	s.checkout = t.TempDir()
	if err := os.CopyFS(filepath.Join(s.checkout, "recipes"), os.DirFS("recipes")); err != nil {
		t.Fatal(err)
	}
	gitIn(t, s.checkout, "init", "--quiet", "--initial-branch=main")
	gitIn(t, s.checkout, "add", "--all")
	gitIn(t, s.checkout, "commit", "--quiet", "--message", "recipes")
	tools := t.TempDir()
	// go build -o FILE: the real program, except for two commands.
	write(t, filepath.Join(tools, "go"), `#!/bin/bash
set -e
while [[ $1 != -o ]]; do shift; done
echo "$2" >> `+s.built+`
cat > "$2" <<'END'
#!/bin/bash
if [[ "$1 $2" == "images save" ]]; then
  echo "$3" >> `+s.saved+`
  echo archive > "$3"
  exit
fi
[[ $1 == run ]] || exec `+bin+` "$@"
printf '%s\n' "$@" >> `+s.ran+`
[[ ! -x `+s.cells+`/run ]] || exec `+s.cells+`/run "$@"
for arg in "$@"; do
  [[ $arg != --results=* ]] || results=${arg#--results=}
  [[ $arg != --outputs=* ]] || echo conclusion=failure >> "${arg#--outputs=}"
done
echo '::error::a chart said this'
cp `+s.cells+`/"$arg.json" "$results/kwok-results.json"
exit "$(cat `+s.cells+`/"$arg.code")"
END
chmod +x "$2"
`)
	s.env = []string{"PATH=" + tools + ":" + os.Getenv("PATH"), "AICR_ACTION_CACHE=" + smallStack(t), "AICR_ACTION_CACHE_TRUSTED=true", "GITHUB_REPOSITORY=o/r", "GITHUB_SERVER_URL=https://github.com", "GITHUB_EVENT_NAME=push",
		"GITHUB_JOB=x", "GITHUB_SHA=" + strings.Repeat("c", 40)}
	return s
}

// want compares the results of jobs and checks, and the log. It prints the log if any of them
// differs.
func (s *recipesRun) want(results map[string]string, log string) {
	s.t.Helper()
	for name, want := range results {
		if s.results[name] != want {
			s.t.Errorf("%s: got %q, want %q", name, s.results[name], want)
		}
	}
	if !strings.Contains(s.log.String(), log) {
		s.t.Errorf("%q is not in the log", log)
	}
	if s.t.Failed() {
		s.t.Logf("the log:\n%s", s.log.String())
	}
}

// leaves prepares what the job with a recipe leaves: its results and its exit code.
func (s *recipesRun) leaves(recipe string, status result.Status, why reason.Reason, code, run string) {
	s.t.Helper()
	cell := result.Result{Cell: result.Cell{Recipe: recipe, Deployer: "helm"}, Verdict: result.Verdict{Status: status, Reason: why}, Recipes: "recipes", Started: time.Now(), Duration: time.Second, Rerun: "matrix run " + recipe}
	if !status.Good() {
		place := result.Place{File: "recipes/overlays/" + recipe + ".yaml", Line: 7}
		cell.Cause = "it did not work"
		cell.Findings = []result.Finding{{Cause: "::error::it did not work\n##[error]x", Place: place}}
	}
	r := &report.Report{Meta: report.Meta{RunID: "r" + run, Written: time.Now(), CI: report.CI{RunID: run, URL: "https://github.com/o/r/actions/runs/" + run}}, Results: []result.Result{cell}}
	if err := (report.Files{Results: filepath.Join(s.cells, recipe+".json")}).Write(r); err != nil {
		s.t.Fatal(err)
	}
	write(s.t, filepath.Join(s.cells, recipe+".code"), code)
}

// report is what the last job uploaded.
func (s *recipesRun) report() *report.Report {
	s.t.Helper()
	r, err := report.Read(filepath.Join(s.dir, "artifacts", "kwok-report.recipes."+s.known["github.run_id"]+"-1", report.FileName))
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log.String())
	}
	return r
}

// again is the next run on the same server, with its caches and no artifacts.
func (s *recipesRun) again(run, event string) {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, "artifacts")); err != nil {
		s.t.Fatal(err)
	}
	s.results, s.log = map[string]string{}, strings.Builder{}
	s.known["github.run_id"], s.known["github.event_name"] = run, event
	s.env = append(s.env, "GITHUB_RUN_ID="+run)
}

// TestReusableWorkflow: plan, jobs and report of recipes.yaml, for each way in which a run can end.
func TestReusableWorkflow(t *testing.T) {
	bin := matrix(t)
	two := map[string]string{"recipe": "eks,aks", "deployer": "helm"}
	t.Run("green, then red", func(t *testing.T) { testGreenThenRed(t, bin, two) })
	for name, test := range map[string]struct {
		inputs     map[string]string
		prepare    func(s *recipesRun)
		want       map[string]string // results of jobs
		conclusion string
		log        string
	}{
		"every job cancelled": {inputs: two, prepare: func(s *recipesRun) {
			s.cancel = func(job string, _ map[string]string) bool { return job == "cells" }
		}, want: map[string]string{"plan": "success", "cells": "cancelled", "report": "failure"}, conclusion: "failure", log: "2 cells without a verdict"},
		"no such recipe": {inputs: map[string]string{"recipe": "absent"}, want: map[string]string{"plan": "failure", "cells": "skipped", "report": "failure"}, conclusion: "failure", log: "title=No plan"},
		"a flag for a recipe": {inputs: map[string]string{"recipe": "--help"}, want: map[string]string{"plan": "failure", "cells": "skipped", "report": "failure"}, conclusion: "failure",
			log: `recipe "--help" does not exist`},
		"a wrong id":           {inputs: map[string]string{"id": "../x", "recipe": "eks"}, want: map[string]string{"plan": "failure", "cells": "skipped", "report": "failure"}, conclusion: "failure", log: "Input id has"},
		"a server without sha": {inputs: two, prepare: func(s *recipesRun) { s.known["job.workflow_sha"] = "" }, want: map[string]string{"plan": "failure", "cells": "skipped", "report": "failure"}, conclusion: "failure", log: "action-ref"},
		"results of another version": {inputs: map[string]string{"recipe": "eks", "deployer": "helm"}, prepare: func(s *recipesRun) {
			s.leaves("eks", result.Passed, "", "0", "42")
			file := filepath.Join(s.cells, "eks.json")
			raw, err := os.ReadFile(file)
			if err != nil {
				s.t.Fatal(err)
			}
			write(s.t, file, strings.Replace(string(raw), `"aicrActionFormat": 1`, `"aicrActionFormat": 99`, 1))
		}, want: map[string]string{"plan": "success", "cells": "success", "report": "failure"}, conclusion: "failure", log: "written in version 99 of the format"},
		"results of another run under our name": {inputs: map[string]string{"recipe": "eks", "deployer": "helm"}, prepare: func(s *recipesRun) {
			s.leaves("eks", result.Failed, reason.DeployFailed, "51", "42")
			s.leaves("old", result.Passed, "", "0", "41")
			raw, err := os.ReadFile(filepath.Join(s.cells, "old.json"))
			if err != nil {
				s.t.Fatal(err)
			}
			write(s.t, filepath.Join(s.dir, "artifacts", "kwok-results.recipes.zz", report.FileName), strings.ReplaceAll(string(raw), "old", "eks"))
		}, want: map[string]string{"plan": "success", "cells": "failure", "report": "failure"}, conclusion: "failure", log: "it is of run 41, and this is run 42"},
		"a history of another version": {inputs: map[string]string{"recipe": "eks", "deployer": "helm"}, prepare: func(s *recipesRun) {
			s.leaves("eks", result.Passed, "", "0", "42")
			s.caches = append(s.caches, "aicr-action-history-1-recipes-41-1")
			write(s.t, filepath.Join(s.server.dir, "caches", s.caches[0], "history.json"), `{"aicrActionHistory":99}`)
		}, want: map[string]string{"plan": "success", "cells": "success", "report": "success"}, conclusion: "success", log: "has version 99"},
		// On a self-hosted machine, the workspace has the files of an earlier job: here those of a
		// failed run, with commands to the runner.
		"a machine that is not new": {inputs: map[string]string{"recipe": "eks", "deployer": "helm"}, prepare: func(s *recipesRun) {
			s.leaves("eks", result.Passed, "", "0", "42")
			s.left = func(dir string) {
				write(s.t, filepath.Join(dir, "results", "kwok-results.recipes.old", report.FileName), "of an earlier run")
				write(s.t, filepath.Join(dir, "plan", "plan.json"), "of an earlier run")
				write(s.t, filepath.Join(dir, "report", "old.html"), "of an earlier run")
				write(s.t, filepath.Join(dir, "annotations"), "::error::a chart said this\n")
			}
		}, want: map[string]string{"plan": "success", "cells": "success", "report": "success"}, conclusion: "success"},
		"another use's results": {inputs: map[string]string{"recipe": "eks", "deployer": "helm"}, prepare: func(s *recipesRun) {
			s.leaves("eks", result.Passed, "", "0", "42")
			write(s.t, filepath.Join(s.dir, "artifacts", "kwok-results-eks-helm-other-0-42-1", report.FileName), "not of this use")
		}, want: map[string]string{"plan": "success", "cells": "success", "report": "success"}, conclusion: "success"},
		"a stranger under our name": {inputs: map[string]string{"recipe": "eks", "deployer": "helm"}, prepare: func(s *recipesRun) {
			s.leaves("eks", result.Passed, "", "0", "42")
			write(s.t, filepath.Join(s.dir, "artifacts", "kwok-results.recipes.x", report.FileName), `{"reportFormat":"CTRF","results":{"tool":{"name":"jest"}}}`)
		}, want: map[string]string{"plan": "success", "cells": "success", "report": "failure"}, conclusion: "failure", log: "another program (jest)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRecipesRun(t, bin)
			if test.prepare != nil {
				test.prepare(s)
			}
			s.call(".github/workflows/recipes.yaml", test.inputs)
			if got := s.known["needs.report.outputs.conclusion"]; got != test.conclusion {
				t.Errorf("conclusion %q, want %q", got, test.conclusion)
			}
			for _, c := range commands(s.log.String()) {
				if strings.Contains(c.message, "a chart said this") {
					t.Errorf("a command of a chart was obeyed: %+v", c)
				}
			}
			if old, err := filepath.Glob(filepath.Join(s.dir, "artifacts", "*", "old.html")); err != nil || len(old) > 0 {
				t.Errorf("an earlier job's file is in an artifact: %q, %v", old, err)
			}
			s.want(test.want, test.log)
		})
	}
}

// testGreenThenRed: the red cell of a pull request after a green push is new.
func testGreenThenRed(t *testing.T, bin string, two map[string]string) {
	t.Parallel()
	s := newRecipesRun(t, bin)
	s.leaves("eks", result.Passed, "", "0", "42")
	s.leaves("aks", result.Passed, "", "0", "42")
	s.call(".github/workflows/recipes.yaml", map[string]string{"deployer": "helm", "recipe": "eks,aks"})
	if s.results["plan"] != "success" || s.results["cells"] != "success" || s.results["report"] != "success" {
		t.Fatalf("jobs: %v\n%s", s.results, s.log.String())
	}
	if got := report.Count(s.report().Results); got.Passed != 2 || !s.report().Green() {
		t.Errorf("got %+v", got)
	}
	raw, err := os.ReadFile(s.built)
	if err != nil || strings.Count(string(raw), "\n") != 1 {
		t.Errorf("a cold run compiled %q (%v), want one program once", raw, err)
	}
	if got := s.artifacts(); len(got) != 4 || !slices.Contains(got, "kwok-results.recipes.eks-helm-cells-1-42-1") {
		t.Errorf("artifacts: %q", got)
	}
	// A push to main keeps a history. The failed cell of a later pull request is new.
	s.known["inputs.recipe"] = ""
	s.again("43", "push")
	s.leaves("eks", result.Passed, "", "0", "43")
	s.leaves("aks", result.Passed, "", "0", "43")
	s.history(t)
	s.again("44", "pull_request")
	s.leaves("eks", result.Passed, "", "0", "44")
	s.leaves("aks", result.Failed, reason.DeployFailed, "51", "44")
	s.call(".github/workflows/recipes.yaml", two)
	if s.results["cells"] != "failure" || s.results["report"] != "failure" || s.known["needs.report.outputs.conclusion"] != "failure" {
		t.Errorf("jobs: %v, conclusion %q\n%s", s.results, s.known["needs.report.outputs.conclusion"], s.log.String())
	}
	for _, c := range s.report().Results {
		if want := map[string]result.Known{"aks": result.New}[c.Recipe]; c.Known != want || len(c.Past) != 1 {
			t.Errorf("%s is %q after %+v, want %q after one run", c.Cell, c.Known, c.Past, want)
		}
	}
	var errors []command
	for _, c := range commands(s.log.String()) {
		if c.name == "error" {
			errors = append(errors, c)
		}
	}
	if len(errors) != 1 || errors[0].properties != "file=recipes/overlays/aks.yaml,line=7,title=DEPLOY_FAILED (51) in 1 cell" || !strings.Contains(errors[0].message, "new, passed in run 43") {
		t.Errorf("annotations: %+v, want one on the cause\n%s", errors, s.log.String())
	}
	if n := len(s.caches); strings.Contains(s.caches[n-1], "-44-") {
		t.Errorf("a pull request wrote to the history: %q", s.caches)
	}
}

// TestReusableWorkflowInKind: the first job gets the images, and those that run cells have them
// from the cache. Nothing is compiled but the program.
func TestReusableWorkflowInKind(t *testing.T) {
	s := newRecipesRun(t, matrix(t))
	s.leaves("eks", result.Passed, "", "0", "42")
	s.leaves("aks", result.Passed, "", "0", "42")
	s.call(".github/workflows/recipes.yaml", map[string]string{"recipe": "eks,aks", "deployer": "helm", "cluster": "kind"})
	if s.results["report"] != "success" {
		t.Fatalf("jobs: %v\n%s", s.results, s.log.String())
	}
	lines := func(file, like string) (n int) {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, like) {
				n++
			}
		}
		return n
	}
	if got := lines(s.saved, ""); got != 1 {
		t.Errorf("the images were saved %d times, want once", got)
	}
	if runs, with := lines(s.ran, "--platform=kind"), lines(s.ran, "--kind-images=/"); runs != 2 || with != 2 {
		t.Errorf("%d runs in Kind clusters, %d with the images, want 2 and 2", runs, with)
	}
	if i := slices.IndexFunc(s.caches, func(key string) bool { return strings.Contains(key, "-stack-") }); i >= 0 {
		t.Errorf("the stack was cached, which no Kind cluster needs: %q", s.caches)
	}
}

// history calls the workflow as a push to main does, for two recipes of tier 1 only: the others
// would each need results.
func (s *recipesRun) history(t *testing.T) {
	t.Helper()
	overlays, err := filepath.Glob(filepath.Join(s.checkout, "recipes", "overlays", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	aside := t.TempDir()
	for _, file := range overlays {
		if name := filepath.Base(file); name != "eks.yaml" && name != "aks.yaml" && name != "base.yaml" {
			if err := os.Rename(file, filepath.Join(aside, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.call(".github/workflows/recipes.yaml", map[string]string{"tier": "1", "deployer": "helm", "recipe": ""})
	if s.results["report"] != "success" {
		t.Fatalf("jobs: %v\n%s", s.results, s.log.String())
	}
	for _, file := range overlays {
		if err := os.Rename(filepath.Join(aside, filepath.Base(file)), file); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// TestComment: the comment is on the pull request that GitHub says, replaces an older one, and is
// none if there is no report.
func TestComment(t *testing.T) {
	raw, err := os.ReadFile(".github/workflows/comment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	steps := w.Jobs["comment"].Steps
	script := steps[len(steps)-1].Run
	const sha = "0123456789012345678901234567890123456789"
	for name, test := range map[string]struct {
		pulls, comments, report string // report is where the artifact was unpacked; empty for none
		want                    string // of the call that writes
	}{
		"the first":           {`[{"number":7,"head":{"sha":"` + sha + `"}},{"number":8,"head":{"sha":"x"}}]`, `[]`, "report/kwok-report.recipes.9-1/", "--method POST repos/o/r/issues/7/comments"},
		"again":               {`[{"number":7,"head":{"sha":"` + sha + `"}}]`, `[{"id":3,"user":{"type":"User"},"body":"<!-- aicr-action recipes -->"},{"id":4,"user":{"type":"Bot"},"body":"<!-- aicr-action recipes -->\nold"}]`, "report/", "--method PATCH repos/o/r/issues/comments/4"},
		"pushed to meanwhile": {`[{"number":7,"head":{"sha":"x"}}]`, `[]`, "report/", ""},
		"no report":           {`[{"number":7,"head":{"sha":"` + sha + `"}}]`, `[]`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "pulls.json"), test.pulls)
			write(t, filepath.Join(dir, "comments.json"), test.comments)
			write(t, filepath.Join(dir, "matrix"), "#!/bin/bash\necho \"${@: -3:1} report of ${@: -1}\"\n")
			write(t, filepath.Join(dir, "gh"), `#!/bin/bash
[[ $1 == api ]] || exit 9
for arg in "$@"; do [[ $last != --jq ]] || filter=$arg; last=$arg; done
case "$*" in
  *repos/o/r/pulls*head=fork:a\;b*) exec jq --raw-output "$filter" pulls.json ;;
  *--paginate*repos/o/r/issues/7/comments*) exec jq --raw-output "$filter" comments.json ;;
  *--silent*) echo "$*" >> written; cat comment.md >> written ;;
  *) exit 9 ;;
esac
`)
			if test.report != "" {
				write(t, filepath.Join(dir, test.report, report.FileName), "{}")
			}
			cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
			cmd.Dir = dir
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "GH_REPO=o/r", "RUN=9", "ATTEMPT=1", "SHA=" + sha, "URL=https://github.com/o/r/actions/runs/9", "CONCLUSION=failure", "HEAD=fork:a;b", "ID=recipes"}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			written, err := os.ReadFile(filepath.Join(dir, "written"))
			if test.want == "" && !os.IsNotExist(err) || test.want != "" && (!strings.Contains(string(written), test.want) || !strings.Contains(string(written), "<!-- aicr-action recipes -->\nGitHub: [the run](https://github.com/o/r/actions/runs/9) of "+sha+" ended as `failure`. It uploaded this report:\n\n--run-url=https://github.com/o/r/actions/runs/9 report of "+test.report+report.FileName)) {
				t.Errorf("got %v, want %q in\n%s\n%s", err, test.want, written, out)
			}
		})
	}
}
