// Package chaos breaks things in a cluster of simulated nodes on purpose, by the steps of a file,
// and says after each step which workloads are whole, degraded or lost. It knows nodes, pods and
// Kubernetes' own workloads. It must not know recipes, lanes or workflows, or judge anything.
package chaos

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

const (
	// maxFile is the largest chaos file that is read, in bytes; mostSteps how many steps it may
	// have.
	maxFile   = 1 << 20
	mostSteps = 200
	// defaultSettle is how long a step waits at most until workloads are at rest; defaultDrain
	// until a drain gives up; defaultWhen until a condition holds.
	defaultSettle = 30 * time.Second
	defaultDrain  = 30 * time.Second
	defaultWhen   = 5 * time.Minute
)

// Plan is a chaos file that was read and checked.
type Plan struct {
	File  string
	Seed  int64
	Steps []Step
}

// Step is one fault, and the time at which it is injected.
type Step struct {
	// Name is the name in the file, or else one made of the action. Line is the step's first line.
	Name string
	Line int
	// At is the earliest start of the step after the first step could start; Wait is the earliest
	// start after the end of the step before.
	At, Wait time.Duration
	// AfterTask is the id of a workflow's task that must have passed; "" for none. When is a
	// condition of the cluster; nil for none.
	AfterTask string
	When      *When
	// Settle is how long to wait at most until workloads have settled.
	Settle time.Duration

	index  int
	action action
}

// When is a condition: so many pods that match are in a phase.
type When struct {
	PodChoice `yaml:",inline"`
	Phase     string         `yaml:"phase"`
	Pods      int            `yaml:"pods"`
	Timeout   yamlx.Duration `yaml:"timeout"`
}

// NodeChoice selects nodes: those that have all labels, or by name. If Count is set, the random
// seed chooses that many of them.
type NodeChoice struct {
	Labels map[string]string `yaml:"labels"`
	Names  []string          `yaml:"names"`
	Count  int               `yaml:"count"`
}

// PodChoice says which pods: those that have all labels, in a namespace or in all.
type PodChoice struct {
	Namespace string            `yaml:"namespace"`
	Labels    map[string]string `yaml:"labels"`
}

// The actions, as a file has them.
type (
	stopNodes struct {
		NodeChoice `yaml:",inline"`
	}
	restoreNodes struct {
		NodeChoice `yaml:",inline"`
	}
	drain struct {
		NodeChoice `yaml:",inline"`
		// Force evicts pods without a controller too: nothing makes them again.
		Force   bool           `yaml:"force"`
		Timeout yamlx.Duration `yaml:"timeout"`
	}
	loseGPUs struct {
		NodeChoice `yaml:",inline"`
		GPUs       int `yaml:"gpus"` // on each node
	}
	killPods struct {
		PodChoice `yaml:",inline"`
		Count     int `yaml:"count"`
	}
	failPods struct {
		PodChoice `yaml:",inline"`
		Count     int            `yaml:"count"`
		Delay     yamlx.Duration `yaml:"delay"`
		ExitCode  int            `yaml:"exitCode"`
		Reason    string         `yaml:"reason"`
		Message   string         `yaml:"message"`
	}
)

// fileStep is a step as the file has it: one of the actions is set.
type fileStep struct {
	Name         string          `yaml:"name"`
	At           yamlx.Duration  `yaml:"at"`
	Wait         yamlx.Duration  `yaml:"wait"`
	AfterTask    string          `yaml:"afterTask"`
	When         *When           `yaml:"when"`
	Settle       *yamlx.Duration `yaml:"settle"`
	StopNodes    *stopNodes      `yaml:"stopNodes"`
	RestoreNodes *restoreNodes   `yaml:"restoreNodes"`
	Drain        *drain          `yaml:"drain"`
	LoseGPUs     *loseGPUs       `yaml:"loseGPUs"`
	KillPods     *killPods       `yaml:"killPods"`
	FailPods     *failPods       `yaml:"failPods"`
}

// actions are the names of what a step can do.
func actions() []string {
	return []string{"stopNodes", "restoreNodes", "drain", "loseGPUs", "killPods", "failPods"}
}

// Read reads a chaos file. Its error is a usage error with every problem, a line each, with the
// file's name and the line.
func Read(file string) (*Plan, error) {
	raw, err := filesys.File(file, maxFile)
	if err != nil {
		return nil, reason.New(reason.Usage, "read the chaos file: %w", err)
	}
	p := &Plan{File: file}
	problems := p.parse(raw)
	var errs []error
	for _, one := range problems {
		errs = append(errs, fmt.Errorf("%s:%d: %s", file, max(1, one.Line), one.Text))
	}
	if len(errs) > 0 {
		return nil, &reason.Error{Reason: reason.Usage, Err: errors.Join(errs...)}
	}
	return p, nil
}

func (p *Plan) parse(raw []byte) []yamlx.Problem {
	docs, err := yamlx.Documents(raw)
	if err != nil {
		return yamlx.Problems(err)
	}
	if len(docs) != 1 || len(docs[0].Content) == 0 || docs[0].Content[0].Kind != yaml.MappingNode {
		return []yamlx.Problem{{Line: 1, Text: "want one document with seed and steps"}}
	}
	var f struct {
		Seed   int64          `yaml:"seed"`
		Settle yamlx.Duration `yaml:"settle"`
		Steps  []yaml.Node    `yaml:"steps"`
	}
	if problems := yamlx.DecodeNode(docs[0].Content[0], &f); len(problems) > 0 {
		return problems
	}
	if f.Settle == 0 {
		f.Settle = yamlx.Duration(defaultSettle)
	}
	p.Seed = f.Seed
	if len(f.Steps) == 0 || len(f.Steps) > mostSteps {
		return []yamlx.Problem{{Line: 1, Text: fmt.Sprintf("steps: there are %d; want 1 to %d", len(f.Steps), mostSteps)}}
	}
	var problems []yamlx.Problem
	for i := range f.Steps {
		step, wrong := readStep(&f.Steps[i], time.Duration(f.Settle))
		step.index = i
		p.Steps = append(p.Steps, step)
		problems = append(problems, wrong...)
	}
	return problems
}

func readStep(n *yaml.Node, settle time.Duration) (Step, []yamlx.Problem) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return Step{}, []yamlx.Problem{{Line: n.Line, Text: "a step is a mapping with one of " + strings.Join(actions(), ", ")}}
	}
	var f fileStep
	if problems := yamlx.DecodeNode(n, &f); len(problems) > 0 {
		return Step{}, problems
	}
	s := Step{Name: f.Name, Line: n.Line, At: time.Duration(f.At), Wait: time.Duration(f.Wait), AfterTask: f.AfterTask, When: f.When, Settle: settle}
	if f.Settle != nil {
		s.Settle = time.Duration(*f.Settle)
	}
	var problems []yamlx.Problem
	say := func(format string, args ...any) {
		problems = append(problems, yamlx.Problem{Line: n.Line, Text: fmt.Sprintf(format, args...)})
	}
	var all []action
	for _, a := range f.actions() {
		if a != nil {
			all = append(all, a)
		}
	}
	if len(all) != 1 {
		say("a step has one action; this one has %d. There are: %s", len(all), strings.Join(actions(), ", "))
		return s, problems
	}
	s.action = all[0]
	s.action.check(func(format string, args ...any) { say(s.action.name()+": "+format, args...) })
	if s.At > 0 && s.Wait > 0 {
		say("at counts from the beginning and wait from the step before; give one of them")
	}
	if s.When != nil {
		s.When.check(say)
	}
	if s.Name == "" {
		s.Name = s.action.name()
	}
	return s, problems
}

// actions are those that the step has; nil for the others.
func (f *fileStep) actions() []action {
	var all []action
	if f.StopNodes != nil {
		all = append(all, f.StopNodes)
	}
	if f.RestoreNodes != nil {
		all = append(all, f.RestoreNodes)
	}
	if f.Drain != nil {
		all = append(all, f.Drain)
	}
	if f.LoseGPUs != nil {
		all = append(all, f.LoseGPUs)
	}
	if f.KillPods != nil {
		all = append(all, f.KillPods)
	}
	if f.FailPods != nil {
		all = append(all, f.FailPods)
	}
	return all
}

// complain tells of a problem.
type complain func(format string, args ...any)

func (w *When) check(say complain) {
	if w.Phase == "" {
		w.Phase = "Running"
	}
	if w.Timeout == 0 {
		w.Timeout = yamlx.Duration(defaultWhen)
	}
	if phases := []string{"Pending", "Running", "Succeeded", "Failed"}; !slices.Contains(phases, w.Phase) {
		say("when: phase %q: want one of %s", w.Phase, strings.Join(phases, ", "))
	}
	if w.Pods < 1 {
		say("when: pods %d: want how many pods must be %s, 1 or more", w.Pods, w.Phase)
	}
	w.PodChoice.check(func(format string, args ...any) { say("when: "+format, args...) })
}

// check rejects an empty choice, which would select every node by mistake.
func (c *NodeChoice) check(say complain) {
	switch {
	case len(c.Labels) == 0 && len(c.Names) == 0 && c.Count == 0:
		say("which nodes? Give labels, names or count")
	case len(c.Names) > 0 && (len(c.Labels) > 0 || c.Count > 0):
		say("names say which nodes; leave out labels and count")
	case c.Count < 0:
		say("count %d: want 1 or more, or none for all nodes that have the labels", c.Count)
	}
	checkLabels(c.Labels, say)
}

func (c *PodChoice) check(say complain) {
	if c.Namespace != "" {
		if problems := validation.IsDNS1123Label(c.Namespace); len(problems) > 0 {
			say("namespace %q: %s", c.Namespace, strings.Join(problems, "; "))
		}
	}
	checkLabels(c.Labels, say)
}

func checkLabels(labels map[string]string, say complain) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(labels[key])...); len(problems) > 0 {
			say("label %s=%q: %s", key, labels[key], strings.Join(problems, "; "))
		}
	}
}

// checkPods rejects an empty choice, which would select every pod of the cluster by mistake.
func checkPods(c PodChoice, count int, say complain) {
	if c.Namespace == "" && len(c.Labels) == 0 && count == 0 {
		say("which pods? Give namespace, labels or count")
	}
	if count < 0 {
		say("count %d: want 1 or more, or none for all pods that match", count)
	}
	c.check(say)
}

// Tasks are the ids of workflow tasks that steps wait for, each with the line of its step.
func (p *Plan) Tasks() map[string]int {
	ids := map[string]int{}
	for _, s := range p.Steps {
		if s.AfterTask != "" && ids[s.AfterTask] == 0 {
			ids[s.AfterTask] = s.Line
		}
	}
	return ids
}

// CheckTasks refuses steps that wait for a task that none of these workflows' tasks is.
func (p *Plan) CheckTasks(known []string) error {
	var errs []error
	tasks := p.Tasks()
	for _, id := range slices.Sorted(maps.Keys(tasks)) {
		if slices.Contains(known, id) {
			continue
		}
		text := fmt.Sprintf("%s:%d: afterTask %q: no task has this id", p.File, tasks[id], id)
		if len(known) > 0 {
			text += "; there are: " + strings.Join(known, ", ")
		} else {
			text += ": only `matrix workflow run` has tasks"
		}
		errs = append(errs, errors.New(text))
	}
	if len(errs) == 0 {
		return nil
	}
	return &reason.Error{Reason: reason.Usage, Err: errors.Join(errs...)}
}
