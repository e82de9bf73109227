package validate

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
)

const recipeHead = `apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeResult
metadata: {appliedOverlays: [base]}
criteria: {service: eks}
componentRefs:
- {name: gpu-operator, namespace: gpu-operator, version: v25.10.1, expectedResources: [{kind: ClusterPolicy, name: cluster-policy}]}
- {name: off, namespace: off, overrides: {enabled: false}}
deploymentOrder: [gpu-operator, "off"]
`

func recipeOf(t *testing.T, text string) *recipe.Result {
	t.Helper()
	r, err := recipe.ReadResult("r.yaml", []byte(recipeHead+text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func planOf(t *testing.T, text string, phases ...Phase) *Plan {
	t.Helper()
	p, err := NewPlan(recipeOf(t, text), phases)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func snapshotOf(t *testing.T, text string) *snapshot.Snapshot {
	t.Helper()
	s, err := snapshot.Read("s.yaml", []byte("apiVersion: aicr.nvidia.com/v1alpha1\nkind: Snapshot\nmeasurements:\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// played returns outcomes for checks by name, and records which checks were run.
type played struct {
	outcomes map[string]Outcome
	asked    []string
	err      error
}

func (p *played) RunPhase(_ context.Context, _ Phase, items []Item, _ Inputs) ([]Outcome, error) {
	var all []Outcome
	for _, i := range items {
		p.asked = append(p.asked, i.Name)
		o, ok := p.outcomes[i.Name]
		if !ok {
			o = Outcome{Status: result.StepPassed}
		}
		all = append(all, o)
	}
	return all, p.err
}

func statuses(list []result.Check) string {
	var parts []string
	for i := range list {
		parts = append(parts, list[i].String()+"="+string(list[i].Status))
	}
	return strings.Join(parts, " ")
}

func TestConstraints(t *testing.T) {
	s := snapshotOf(t, `- type: K8s
  subtypes: [{subtype: server, data: {version: v1.33.5-eks-3025e55}}]
- type: OS
  subtypes:
  - {subtype: release, data: {ID: ubuntu, VERSION_ID: "24.04"}}
  - {subtype: sysctl, data: {/proc/sys/kernel/osrelease: 6.8.0-1028-aws}}
- type: GPU
  subtypes: [{subtype: driver, data: {version: 570.86.16}, context: {simulated: node profile eks-h100}}]
`)
	for constraint, want := range map[string]struct {
		status result.StepStatus
		text   string
	}{
		`K8s.server.version ~ >= 1.30`:                                {result.StepPassed, "K8s.server.version is v1.33.5-eks-3025e55, want >= 1.30"},
		`K8s.server.version ~ <= 1.33`:                                {result.StepPassed, ""},
		`K8s.server.version ~ > 1.33`:                                 {result.StepFailed, "want > 1.33"},
		`K8s.server.version ~ < 1.34`:                                 {result.StepPassed, ""},
		`K8s.server.version ~ >= 1.33.6`:                              {result.StepFailed, ""},
		`K8s.server.version ~ == 1.33.5`:                              {result.StepPassed, ""},
		`K8s.server.version ~ == 1.33`:                                {result.StepFailed, ""},
		`K8s.server.version ~ >= 1.30 < 1.32 || >= 1.33.4`:            {result.StepPassed, ""},
		`OS.release.ID ~ ubuntu`:                                      {result.StepPassed, ""},
		`OS.release.ID ~ == rhel`:                                     {result.StepFailed, "OS.release.ID is ubuntu, want == rhel"},
		`OS.release.ID ~ != rhel`:                                     {result.StepPassed, ""},
		`OS.release.ID ~ >= rhel`:                                     {result.StepFailed, "orders what is no version"},
		`OS.release.VERSION_ID ~ >= 22.04`:                            {result.StepPassed, ""},
		`OS.sysctl./proc/sys/kernel/osrelease ~ >= 6.8`:               {result.StepPassed, ""},
		`GPU.driver.version ~ >= 580`:                                 {result.StepFailed, "(simulated: node profile eks-h100)"},
		`GPU.driver.version ~ >= 580 ~ warning`:                       {result.StepSkipped, "it has severity warning, so it does not fail"},
		`SystemD.kubelet.service.ActiveState ~ active`:                {result.StepSkipped, "the snapshot has no such reading"},
		`K8s.server.version ~ >= 99999999999999999999999999999999999`: {result.StepFailed, "a number that is too large"},
	} {
		parts := strings.Split(constraint, " ~ ")
		severity := ""
		if len(parts) == 3 {
			severity = ", severity: " + parts[2] + ", remediation: take another node"
		}
		p := planOf(t, "constraints: [{name: "+parts[0]+", value: \""+parts[1]+"\""+severity+"}]\n", Readiness)
		list, err := p.Run(t.Context(), &played{}, Inputs{Snapshot: s})
		if err != nil || len(list) != 1 || list[0].Status != want.status || !strings.Contains(list[0].Message, want.text) {
			t.Errorf("%s: got %+v, %v, want %s %q", constraint, list, err, want.status, want.text)
			continue
		}
		if list[0].Place != (result.Place{File: "r.yaml", Line: 9}) || list[0].Expected != parts[1] {
			t.Errorf("%s: got place %+v, expected %q", constraint, list[0].Place, list[0].Expected)
		}
	}
	p := planOf(t, "constraints: [{name: K8s.server.version, value: '>= 1.30'}]\n", Readiness)
	if list, err := p.Run(t.Context(), &played{}, Inputs{}); err != nil || list[0].Status != result.StepSkipped || !strings.Contains(list[0].Message, "--snapshot") {
		t.Errorf("without a snapshot: got %+v, %v", list, err)
	}
}

//go:embed testdata/objects/all_phases.yaml
var allPhases string

// A constraint that a check evaluates is that check's, whether or not the recipe names it; a check
// that there is no implementation of is skipped.
func TestPlanAndPhases(t *testing.T) {
	s := snapshotOf(t, "- {type: K8s, subtypes: [{subtype: server, data: {version: v1.36.1}}]}\n")
	p := planOf(t, allPhases, Phases()...)
	in := Inputs{Snapshot: s, Kube: noKube{}, Dynamic: noDynamic{}}
	all := &played{}
	list, err := p.Run(t.Context(), all, in)
	if err != nil {
		t.Fatal(err)
	}
	const want = "readiness/K8s.server.version=passed readiness/gpu-hardware-detection=passed deployment/operator-health=passed deployment/of-a-later-version=skipped " +
		"deployment/gpu-operator-version=passed performance/nccl-all-reduce-bw=passed"
	if got := statuses(list); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := list[5]; got.Expected != ">= 300" || got.Place.Line != 17 {
		t.Errorf("got %+v", got)
	}
	if got := list[4].Place.Line; got != 14 {
		t.Errorf("the check that a constraint wants is at line %d", got)
	}
	if notes := p.Phases[2].Notes; len(notes) != 1 || !strings.Contains(notes[0], "validation.performance.timeout is not read (r.yaml:15)") {
		t.Errorf("got %q", notes)
	}
	if !p.NeedsCluster() || p.Count() != 6 {
		t.Errorf("got %v, %d", p.NeedsCluster(), p.Count())
	}

	// After a failure the checks of the same phase still run, and those of later phases do not.
	bad := &played{outcomes: map[string]Outcome{"operator-health": {Status: result.StepFailed, Message: "no"}}}
	list, err = p.Run(t.Context(), bad, in)
	if err != nil {
		t.Fatal(err)
	}
	if got := statuses(list); !strings.HasSuffix(got, "deployment/operator-health=failed deployment/of-a-later-version=skipped deployment/gpu-operator-version=passed performance/nccl-all-reduce-bw=skipped") ||
		slices.Contains(bad.asked, "nccl-all-reduce-bw") || list[5].Message != "not run, since phase deployment failed" {
		t.Errorf("got %s, asked %q", got, bad.asked)
	}
	if v := Verdict(list); v != "fail" {
		t.Errorf("got %s", v)
	}

	// Without a cluster nothing is asked of it.
	if list, err = p.Run(t.Context(), &played{err: errors.New("must not be called")}, Inputs{Snapshot: s}); err != nil || Verdict(list) != "partial" {
		t.Errorf("got %v, %v", list, err)
	}
	if _, err := p.Run(t.Context(), &played{err: errors.New("no Job")}, in); err == nil || !strings.Contains(err.Error(), "run the checks of phase readiness: no Job") {
		t.Errorf("got %v", err)
	}
}

func TestVerdict(t *testing.T) {
	of := func(all ...result.StepStatus) []result.Check {
		var list []result.Check
		for _, s := range all {
			list = append(list, result.Check{Status: s})
		}
		return list
	}
	for want, list := range map[string][]result.Check{"pass": of(result.StepPassed, result.StepPassed), "partial": of(result.StepPassed, result.StepSkipped), "fail": of(result.StepFailed, result.StepSkipped)} {
		if got := Verdict(list); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if Verdict(nil) != "partial" {
		t.Error("nothing checked is no pass")
	}
}

func TestParsePhases(t *testing.T) {
	for text, want := range map[string][]Phase{
		"all": Phases(), "readiness": {Readiness}, "conformance,deployment": {Deployment, Conformance}, "Readiness, readiness": {Readiness}, "deployment,all": Phases(),
	} {
		if got, err := ParsePhases(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ",", "deploy", "all the rest"} {
		if got, err := ParsePhases(text); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// A check that panics, or that cannot read the cluster, fails with a message that says why, and does
// not end the run.
func TestCheckRun(t *testing.T) {
	in := Inputs{Recipe: recipeOf(t, "")}
	for name, c := range map[string]struct {
		run  runFunc
		want string
	}{
		"panics": {func(context.Context, Inputs) (Outcome, error) { panic("no") }, "this is a bug: no"},
		"forbidden": {func(context.Context, Inputs) (Outcome, error) {
			return Outcome{}, apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "", errors.New(`User "x" cannot list`))
		}, "the check c needs a permission that its Role lacks: deployments.apps is forbidden"},
		"unreadable": {func(context.Context, Inputs) (Outcome, error) { return Outcome{}, errors.New("connection refused") }, "could not read the cluster: connection refused"},
	} {
		check := Check{Name: "c", Component: "comp", run: c.run}
		if got := check.Run(t.Context(), in); got.Status != result.StepFailed || got.Component != "comp" || !strings.Contains(got.Message, c.want) {
			t.Errorf("%s: got %+v, want %q", name, got, c.want)
		}
	}
}

// Patience is for a check that holds a moment later, and not for ever.
func TestPatience(t *testing.T) {
	n := 0
	item := Item{Check: &Check{Name: "c", run: func(context.Context, Inputs) (Outcome, error) {
		if n++; n < 2 {
			return Outcome{Status: result.StepFailed}, nil
		}
		return Outcome{Status: result.StepPassed}, nil
	}}}
	got, err := Direct{Patience: 1e12}.RunPhase(t.Context(), Deployment, []Item{item}, Inputs{})
	if err != nil || got[0].Status != result.StepPassed || n != 2 {
		t.Errorf("got %+v, %v after %d", got, err, n)
	}
	n = 0
	if got, err = (Direct{}).RunPhase(t.Context(), Deployment, []Item{item}, Inputs{}); err != nil || got[0].Status != result.StepFailed || n != 1 {
		t.Errorf("got %+v, %v after %d", got, err, n)
	}
}

// Every check of the shipped recipes has a row, and rows have what a person and an agent need.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Table() {
		if c.Title == "" || len(c.Rules) == 0 || c.run == nil || !slices.Contains(Phases(), c.Phase) {
			t.Errorf("%s lacks something: %+v", c.Name, c)
		}
		for _, r := range c.Rules {
			for _, verb := range r.Verbs {
				if verb != "get" && verb != "list" {
					t.Errorf("%s may %s %v: checks only read", c.Name, verb, r.Resources)
				}
			}
		}
		if seen[c.Name] || seen[c.TestName()] {
			t.Errorf("%s is there twice", c.Name)
		}
		seen[c.Name], seen[c.TestName()] = true, true
	}
	if c, ok := Lookup("nccl-all-reduce-bw"); !ok || c.TestName() != "TestNcclAllReduceBw" {
		t.Errorf("got %v", c)
	}
	store, err := recipe.Open(shippedtest.Files(t), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range store.Names() {
		r, err := store.ResolveName(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(r, Phases())
		if err != nil {
			t.Fatal(err)
		}
		for _, phase := range p.Phases {
			for i := range phase.Items {
				if item := &phase.Items[i]; !item.isConstraint() && item.Check == nil {
					t.Errorf("%s: no check %s (%s)", name, item.Name, item.Origin)
				} else if item.Check != nil && item.Check.Phase != phase.Phase {
					t.Errorf("%s: %s is in phase %s, and in the table in %s", name, item.Name, phase.Phase, item.Check.Phase)
				}
			}
		}
	}
}

func TestBlock_Invalid(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"a list":     {"{deployment: []}", "r.yaml:9: validation.deployment must be a mapping"},
		"no list":    {"{deployment: {checks: a}}", "r.yaml:9: validation.deployment.checks must be a list"},
		"no name":    {"{deployment: {checks: [1]}}", "r.yaml:9: validation.deployment.checks[0] must be the name"},
		"no value":   {"{deployment: {constraints: [{name: a}]}}", "r.yaml:9: validation.deployment.constraints[0] needs a name and a value"},
		"no mapping": {"{deployment: {constraints: [a]}}", "needs a name and a value"},
	} {
		if p, err := NewPlan(recipeOf(t, "validation: "+c.block+"\n"), Phases()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, %v, want %q", name, p, err, c.want)
		}
	}
}
