package agent

// tests.go is the command `aicr run-checks`, which the container of a validation Job runs:
// the test binary of a phase, with one Go test for each check of that phase, and the command that
// starts it and prints its events between markers. The test binary is the program aicr itself,
// started once more under another name, so that an image needs no other file. The package must not
// know how the Job came to be.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/filesys"
	"github.com/nvidia/aicr-action/internal/verify/snapshot"
	"github.com/nvidia/aicr-action/internal/verify/validate"
)

// binaryEnv makes a program with this package the test binary that it names. It is how RunChecks
// starts it.
const binaryEnv = "AICR_TEST_BINARY"

// suffix of a test binary's name; before it is the phase.
const suffix = ".test"

// mostInput is what an input may have, in bytes: a ConfigMap has no more.
const mostInput = 4 << 20

// DispatchRunChecks takes over a process that was started as RunChecks, or by RunChecks as a test binary. It
// returns the exit code, and false if the process is neither. A test binary ends the process
// itself.
func DispatchRunChecks() (code int, ok bool) {
	if name := os.Getenv(binaryEnv); name != "" {
		return runTests(name), true
	}
	if len(os.Args) > 1 && os.Args[1] == runChecksCommand {
		return runChecks(os.Args[2:], os.Stdout, os.Stderr), true
	}
	return 0, false
}

// phaseOf is the phase of a test binary.
func phaseOf(name string) (validate.Phase, error) {
	base, ok := strings.CutSuffix(name, suffix)
	if !ok || !slices.Contains(validate.Phases(), validate.Phase(base)) {
		var names []string
		for _, p := range validate.Phases() {
			names = append(names, string(p)+suffix)
		}
		return "", fmt.Errorf("there is no test binary %.100q; there are %s", name, strings.Join(names, ", "))
	}
	return validate.Phase(base), nil
}

// runTests is a test binary. With testing.Main it takes the flags of every Go test binary; the
// tests are made from the table of checks. It returns only if there is nothing to run them with.
func runTests(name string) int {
	phase, err := phaseOf(name)
	var in validate.Inputs
	if err == nil {
		in, err = inputs()
	}
	var constraints map[string][]recipe.Constraint
	if err == nil {
		constraints, err = constraintsOf(in.Recipe, phase)
	}
	if err != nil {
		fmt.Printf("run the checks of %s: %v\n", name, err)
		return 2
	}
	var tests []testing.InternalTest
	for _, check := range validate.Table() {
		if check.Phase == phase {
			in := in
			in.Constraints = constraints[check.Name]
			tests = append(tests, testing.InternalTest{Name: check.TestName(), F: func(t *testing.T) { runCheck(t, check, in) }})
		}
	}
	testing.Main(func(pattern, name string) (bool, error) { return regexp.MatchString(pattern, name) }, tests, nil, nil)
	return 2 // testing.Main has ended the process
}

// runCheck is the Go test of a check.
func runCheck(t *testing.T, check *validate.Check, in validate.Inputs) {
	out := check.Run(context.Background(), in)
	data, err := json.Marshal(out)
	if err != nil {
		t.Fatalf("write down what the check found: %v", err)
	}
	// One line, which no log prefix comes before: GetResult reads it.
	fmt.Printf("%s%s\n", outcomePrefix, data)
	// What the cluster's objects say may have any byte in it, the mark of the test binary's own
	// lines too.
	fmt.Println(strings.ReplaceAll(strings.Join(append([]string{out.Message}, out.Details...), "\n"), string(mark), ""))
	switch out.Status {
	case result.StepPassed:
	case result.StepSkipped:
		t.SkipNow()
	default:
		t.FailNow()
	}
}

// inputs are what the variables of the environment lead to, and the cluster of this pod or of
// KUBECONFIG.
func inputs() (validate.Inputs, error) {
	var in validate.Inputs
	if file := os.Getenv(recipePathEnv); file != "" {
		data, err := filesys.File(file, mostInput)
		if err != nil {
			return in, fmt.Errorf("read the recipe of %s: %w", recipePathEnv, err)
		}
		if in.Recipe, err = recipe.ReadResult(cmp.Or(os.Getenv(recipeNameEnv), file), data); err != nil {
			return in, err
		}
	}
	if file := os.Getenv(snapshotPathEnv); file != "" {
		data, err := filesys.File(file, mostInput)
		if err != nil {
			return in, fmt.Errorf("read the snapshot of %s: %w", snapshotPathEnv, err)
		}
		if in.Snapshot, err = snapshot.Read(file, data); err != nil {
			return in, err
		}
	}
	if in.Recipe == nil {
		return in, errors.New(recipePathEnv + " is not set, and the checks need a recipe")
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return in, fmt.Errorf("find the cluster of this pod: %w", err)
	}
	config.UserAgent = "aicr-agent"
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return in, err
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return in, err
	}
	in.Kube, in.Dynamic = kube, dyn
	return in, nil
}

// constraintsOf are those of a phase, by the check that evaluates them.
func constraintsOf(r *recipe.Result, phase validate.Phase) (map[string][]recipe.Constraint, error) {
	plan, err := validate.NewPlan(r, []validate.Phase{phase})
	if err != nil {
		return nil, err
	}
	all := map[string][]recipe.Constraint{}
	for i := range plan.Phases {
		for _, item := range plan.Phases[i].Items {
			if item.Check != nil {
				all[item.Check.Name] = item.Constraints
			}
		}
	}
	return all, nil
}
