package workflow

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

//go:embed testdata/objects/job_template.yaml
var jobTemplate string

// written puts files into a directory of the test's own.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func planOf(t *testing.T, files ...string) (*Plan, error) {
	t.Helper()
	flows, problems := Read(files)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	plan, problems := Check(flows)
	return plan, problems.Err()
}

const register = `name: w
tasks:
- id: register
  type: RegisterObj
  params:
    template: templates/job.yaml
    nameFormat: "job{{._ENUM_}}"
    podNameFormat: "{{._NAME_}}-.*"
    podCount: "{{.n}}"
`

const submit = `- id: job
  type: SubmitObj
  params: {refTaskId: register, params: {namespace: default, n: 2}}
`

// Each mistake is found before there is a cluster, with the file, the task's id and a line.
func TestCheck_Mistakes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		want string
	}{
		"unknown task":            {"name: w\ntasks:\n- id: a\n  type: Sleeep\n", 4, `task a (Sleeep): unknown type "Sleeep"; there are: Configure, RegisterObj`},
		"unknown controller":      {"name: w\ncontrollers: [jobset, kueue]\ntasks:\n- {id: a, type: Pause}\n", 2, `controllers: "kueue" is none of jobset, trainer`},
		"unknown scheduler":       {"name: w\nstages: []\nschedulers: [volcano]\ntasks:\n- {id: a, type: Pause}\n", 3, `schedulers: "volcano" is none of coscheduling, kueue`},
		"no time at all":          {"name: w\nhalfPlacedAtMost: 0s\ntasks:\n- {id: a, type: Pause}\n", 2, "halfPlacedAtMost: want a time of more than 0"},
		"a later task":            {register + "- id: check\n  type: CheckPod\n  params: {refTaskId: job, status: Running}\n" + submit, 10, `task check (CheckPod): refTaskId "job": no SubmitObj before it has that id. A later task has it: `},
		"a later registration":    {"name: w\ntasks:\n" + submit + strings.TrimPrefix(register, "name: w\ntasks:\n"), 3, `no RegisterObj before it has that id. A later task has it: `},
		"no such task":            {register + "- id: job\n  type: SubmitObj\n  params: {refTaskId: registr}\n", 10, `"registr": no RegisterObj before it has that id; there are: register`},
		"no template":             {strings.Replace(register, "job.yaml", "none.yaml", 1), 3, "task register (RegisterObj): template templates/none.yaml: it is neither in the working directory nor in"},
		"template does not parse": {strings.Replace(register, "job.yaml", "broken.yaml", 1), 3, "template does not parse"},
		"template lacks a value":  {register + "- id: job\n  type: SubmitObj\n  params: {refTaskId: register, params: {n: 2}}\n", 10, "line 3 of its output lacks a value; params do not have: namespace"},
		"template is no YAML":     {register + "- id: job\n  type: SubmitObj\n  params: {refTaskId: register, params: {n: 2, namespace: \"a: [\"}}\n", 10, "does not render to YAML"},
		"podCount is no number":   {register + "- id: job\n  type: SubmitObj\n  params: {refTaskId: register, params: {namespace: default, n: two}}\n", 10, `podCount: "two" is no number`},
		"podCount without value":  {register + "- id: job\n  type: SubmitObj\n  params: {refTaskId: register, params: {namespace: default}}\n", 10, "podCount: "},
		"no regular expression":   {strings.Replace(register, "}}-.*", "}}-(", 1) + submit, 10, "is no regular expression"},
		"never matches":           {strings.Replace(register, "}}-.*", "}}-[0-9]-.*", 1) + submit + "- id: c\n  type: CheckPod\n  params: {refTaskId: job, status: Running}\n", 13, `podNameFormat "job1-[0-9]-.*" never matches: the pods of Job job1 have names such as job1-`},
		"twice the same name":     {strings.Replace(register, `"job{{._ENUM_}}"`, "job", 1) + strings.Replace(submit, "refTaskId", "count: 2, refTaskId", 1), 10, "count 2 makes Job job twice"},
		"node without resources":  {"name: w\ntasks:\n- id: c\n  type: Configure\n  params:\n    timeout: 1m\n    nodes:\n    - type: cpu.x86\n      count: 1\n", 8, `task c (Configure): nodes: type "cpu.x86" is none of`},
		"node without count":      {"name: w\ntasks:\n- id: c\n  type: Configure\n  params:\n    timeout: 1m\n    nodes:\n    - type: dgxa100.80g\n", 8, "count is required"},
		"no timeout":              {"name: w\ntasks:\n- id: c\n  type: Configure\n  params: {nodes: []}\n", 3, "timeout is required"},
		"a bad timeout":           {"name: w\ntasks:\n- id: c\n  type: Sleep\n  params: {timeout: 5}\n", 5, `"5" is no duration`},
		"an unknown field":        {"name: w\ntasks:\n- id: c\n  type: Sleep\n  params:\n    timout: 5s\n", 6, `unknown field "timout"; there are: timeout`},
		"no id":                   {"name: w\ntasks:\n- type: Pause\n", 3, "id is required"},
		"a phase":                 {register + submit + "- id: c\n  type: CheckPod\n  params: {refTaskId: job, status: Runing}\n", 15, `"Runing" is no phase of a pod`},
		"no pods to check":        {strings.Replace(register, "    podCount: \"{{.n}}\"\n", "", 1) + submit + "- id: c\n  type: CheckPod\n  params: {refTaskId: job, status: Running}\n", 12, "have no pods to check"},
		"index":                   {register + submit + "- id: c\n  type: CheckObj\n  params: {refTaskId: job, index: 1, state: {a: 1}}\n", 13, "has 1 documents"},
		"an operation":            {"name: w\ntasks:\n- id: c\n  type: Configure\n  params:\n    timeout: 1m\n    namespaces: [{name: a, op: make}]\n", 7, `op "make": want create or delete`},
		"a stage":                 {"name: w\nstages: [nope]\ntasks:\n- {id: a, type: Pause}\n", 1, `stages: "nope" is none of pod-complete, pod-init`},
		"no tasks":                {"name: w\n", 1, "tasks: there are none"},
		"no name":                 {"tasks:\n- {id: a, type: Pause}\n", 1, "name is required"},
		"two documents":           {"name: w\n---\nname: v\n", 1, "there are 2"},
		"a task that is a text":   {"name: w\ntasks:\n- Sleep\n", 3, "a task is a mapping"},
	} {
		dir := written(t, map[string]string{"w.yaml": c.text, "templates/job.yaml": jobTemplate, "templates/broken.yaml": "{{if}}"})
		file := filepath.Join(dir, "w.yaml")
		_, err := planOf(t, file)
		if want := fmt.Sprintf("%s:%d: ", file, c.line); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s… %q", name, err, want, c.want)
		}
		if reason.Of(err) != reason.Usage {
			t.Errorf("%s: got %s, want a usage error", name, reason.Of(err))
		}
	}
}

// What one file registers, the next may use; names count on over tasks and files; a file is found
// by its directory.
func TestCheck_EarlierFile(t *testing.T) {
	more := "name: v\ntasks:\n" + submit + strings.Replace(strings.Replace(submit, "id: job", "id: job2", 1), "n: 2", "n: 1 + 2", 1)
	dir := written(t, map[string]string{"a/1.yaml": register + submit, "a/2.yml": more, "a/README.md": "no", "templates/job.yaml": jobTemplate})
	files, err := Files([]string{filepath.Join(dir, "a")})
	if err != nil || len(files) != 2 {
		t.Fatalf("got %q, %v", files, err)
	}
	plan, err := planOf(t, files...)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, flow := range plan.Workflows {
		for _, task := range flow.Tasks {
			if s := plan.submissions[task]; s != nil {
				o := s.objects[0]
				got = append(got, fmt.Sprintf("%s %d %v", o.name, o.pods, o.podName.MatchString(o.name+"-x") && !o.podName.MatchString("my"+o.name+"-x")))
			}
		}
	}
	if want := "job1 2 true, job2 2 true, job3 3 true"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := planOf(t, files[1]); err == nil || !strings.Contains(err.Error(), "no RegisterObj before it") {
		t.Errorf("the second file alone: got %v", err)
	}
	for _, args := range [][]string{{filepath.Join(dir, "none")}, {filepath.Join(dir, "templates", "..", "..", "x")}} {
		if _, err := Files(args); reason.Of(err) != reason.Usage {
			t.Errorf("%q: got %v", args, err)
		}
	}
}

// The schedulers that objects ask for, by the task that submits them.
func TestMissingSchedulers(t *testing.T) {
	dir := written(t, map[string]string{"w.yaml": register + strings.Replace(submit, "n: 2", "n: 2, scheduler: volcano", 1), "templates/job.yaml": jobTemplate})
	plan, err := planOf(t, filepath.Join(dir, "w.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	missing := plan.MissingSchedulers([]string{"kai-scheduler"})
	if len(missing) != 1 || !strings.Contains(missing[0].String(), `w.yaml:10: task job (SubmitObj): its objects ask for the scheduler "volcano", which does not run in this cluster; there are: default-scheduler, kai-scheduler`) {
		t.Errorf("got %v", missing)
	}
	if missing := plan.MissingSchedulers([]string{"volcano"}); len(missing) > 0 {
		t.Errorf("got %v", missing)
	}
}

// A missing value in a custom resource is a note, and no error: only its controller knows whether
// it is required.
func TestMissingValueOfCustomResource(t *testing.T) {
	dir := written(t, map[string]string{
		"w.yaml":             strings.NewReplacer(`    podNameFormat: "{{._NAME_}}-.*"`+"\n", "", `    podCount: "{{.n}}"`+"\n", "").Replace(register) + submit,
		"templates/job.yaml": "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: '{{._NAME_}}'}\nspec: '{{ .what }}'\n",
	})
	plan, err := planOf(t, filepath.Join(dir, "w.yaml"))
	if err != nil || len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0].String(), `params do not have: what, and "<no value>" is in its place`) {
		t.Errorf("got %v, %v", plan, err)
	}
}

// A podNameFormat that never matches is an error only for a task that uses it.
func TestNeverMatches_NotUsed(t *testing.T) {
	dir := written(t, map[string]string{"w.yaml": strings.Replace(register, "}}-.*", "}}-[0-9]-.*", 1) + submit, "templates/job.yaml": jobTemplate})
	plan, err := planOf(t, filepath.Join(dir, "w.yaml"))
	if err != nil || len(plan.Warnings) != 1 || !strings.Contains(plan.Warnings[0].String(), `w.yaml:10: task job (SubmitObj): podNameFormat "job1-[0-9]-.*" never matches`) {
		t.Errorf("got %v, %v", plan, err)
	}
}

// A pod asks for a stage by its label, as Knavigator's workflows do, which have no field for it.
func TestStages_Label(t *testing.T) {
	label := func(value string) string {
		return strings.Replace(jobTemplate, "  template:\n", "  template:\n    metadata: {labels: {pod-container-running-failed.stage.kwok.x-k8s.io: \""+value+"\", other.stage.kwok.x-k8s.io: \"true\"}}\n", 1)
	}
	for value, want := range map[string][]string{"true": {"pod-container-running-failed"}, "false": nil} {
		dir := written(t, map[string]string{"w.yaml": register + submit, "templates/job.yaml": label(value)})
		plan, err := planOf(t, filepath.Join(dir, "w.yaml"))
		if err != nil || !slices.Equal(plan.Stages(), want) {
			t.Errorf("%s: got %v, %v", value, plan.Stages(), err)
		}
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]int{"2": 2, ` "3" `: 3, "2 * (1 + 3)": 8, "": 0, "0": 0, "-1": 0, "1.5": 0, "two": 0, "len(\"abc\")": 3, "1<<40": 0, "f()": 0} {
		if got, err := number(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: got %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestLacking(t *testing.T) {
	have := map[string]any{"status": map[string]any{
		"active": int64(3), "phase": "Running", "list": []any{map[string]any{"type": "Complete", "status": "True"}, map[string]any{"type": "B"}},
	}, "labels": map[string]any{"a": "1"}}
	for name, c := range map[string]struct {
		want map[string]any
		why  string
	}{
		"a subset":        {map[string]any{"status": map[string]any{"active": 3}}, ""},
		"absent as asked": {map[string]any{"labels": map[string]any{"b": nil}}, ""},
		"not absent":      {map[string]any{"labels": map[string]any{"a": nil}}, `labels.a is "1", want none`},
		"another number":  {map[string]any{"status": map[string]any{"active": 4}}, "status.active is 3, want 4"},
		"a text":          {map[string]any{"status": map[string]any{"active": "3"}}, `status.active is 3, want "3"`},
		"not there":       {map[string]any{"spec": map[string]any{"x": 1}}, "spec.x is not set, want 1"},
		"an entry":        {map[string]any{"status": map[string]any{"list": []any{map[string]any{"type": "Complete"}}}}, ""},
		"no such entry":   {map[string]any{"status": map[string]any{"list": []any{map[string]any{"type": "B", "status": "True"}}}}, `status.list has no entry {"status":"True","type":"B"}`},
		"no list":         {map[string]any{"labels": []any{1}}, `labels is {"a":"1"}, want a list`},
	} {
		if got := lacking(c.want, have, ""); got != c.why {
			t.Errorf("%s: got %q, want %q", name, got, c.why)
		}
	}
}

// The shipped examples are in order.
func TestExamples(t *testing.T) {
	files, err := Files([]string{"../../workflows/nodes.yaml", "../../workflows/jobs.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planOf(t, files...)
	if err != nil || len(plan.MissingSchedulers(nil)) > 0 || len(plan.Warnings) > 0 {
		t.Errorf("got %v, %v", plan, err)
	}
}
