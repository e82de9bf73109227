package chainsaw

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/confined"
	"github.com/nvidia/aicr-action/internal/util/reexec"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// letsThrough is a process like that of the checks, whose list lets every function of the engine
// through.
const letsThrough = "evaluating health checks with every function"

func TestMain(m *testing.M) {
	workers.Main(m, sandbox.Hidden(), render.Hidden(), Hidden(), []reexec.Command{{Name: letsThrough, Run: func(args []string) error {
		return confined.Serve(args, everything().evaluate)
	}}})
}

func everything() language {
	var names []string
	for _, f := range engineFunctions() {
		names = append(names, f.Name)
	}
	return newLanguage(names)
}

// asserting is a check with one assertion, whose resource starts in line 9.
func asserting(resource string) string {
	text := "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: demo}\nspec:\n  steps:\n  - try:\n    - assert:\n        resource:\n"
	for line := range strings.Lines(resource) {
		text += "          " + line
	}
	return text + "\n"
}

const token = "a secret of the job"

// What a check asks besides the object that it is about is refused before there is a cluster, with
// the line that asks.
func TestParse_Attacks(t *testing.T) {
	t.Setenv("AICR_TEST_TOKEN", token)
	pod := "apiVersion: v1\nkind: Pod\n"
	for name, c := range map[string]struct{ resource, want string }{
		"a variable":             {pod + "metadata: {name: x}\nstatus:\n  (env('AICR_TEST_TOKEN')): x", "check.yaml:13: assert: expression (env('AICR_TEST_TOKEN')) calls env, which health checks may not call: it reads the job's environment variables"},
		"a variable in base64":   {pod + "status:\n  phase: (base64_encode(env('AICR_TEST_TOKEN')))", "check.yaml:12: assert: expression (base64_encode(env('AICR_TEST_TOKEN'))) calls env"},
		"in a name":              {pod + "metadata:\n  name: (env('AICR_TEST_TOKEN'))", "check.yaml:12: assert: expression (env('AICR_TEST_TOKEN')) calls env"},
		"in a label":             {pod + "metadata:\n  labels:\n    a: (env('AICR_TEST_TOKEN'))", "check.yaml:13: assert: expression (env("},
		"in a list":              {pod + "spec:\n  containers:\n  - a\n  - (jp; env('AICR_TEST_TOKEN'))", "check.yaml:14: assert: expression (jp; env("},
		"in an iteration":        {pod + "spec:\n  ~i.(containers[?env('A') == 'b'])->x: {}", "check.yaml:12: assert: expression ~i.(containers[?env('A') == 'b'])"},
		"bound":                  {pod + "spec:\n  (env('A'))->secret: {}", "check.yaml:12: assert: expression (env('A'))->secret calls env"},
		"in a let":               {pod + "(let $a = env('A') in $a): x", "check.yaml:11: assert: expression (let $a = env('A') in $a) calls env"},
		"as a reference":         {pod + "(map(&env(@), ['A'])): [x]", "check.yaml:11: assert: expression (map(&env(@), ['A'])) calls env"},
		"in a hash":              {pod + "'({a: [env(`1`)]})': {}", "check.yaml:11: assert: expression ({a: [env(`1`)]}) calls env"},
		"in an anchor":           {pod + "spec:\n  a: &a (env('A'))\n  b: *a", "check.yaml:12: assert: expression (env('A')) calls env"},
		"in CEL":                 {pod + "(cel; env('A')): x", "check.yaml:11: assert: expression (cel; env('A')) does not compile: "},
		"the cluster":            {pod + "(x_k8s_get(@, 'v1', 'Secret', 'a', 'b')): x", "check.yaml:11: assert: expression (x_k8s_get(@, 'v1', 'Secret', 'a', 'b')) calls x_k8s_get, which health checks may not call: it reads the cluster by itself; write an assert on that object instead"},
		"its list":               {pod + "(x_k8s_list(@, 'v1', 'Secret')): x", "calls x_k8s_list, which health checks may not call"},
		"the time":               {pod + "(time_now()): x", "calls time_now, which health checks may not call: it depends on the time"},
		"chance":                 {pod + "(random('[a-z]{5}')): x", "calls random, which health checks may not call"},
		"a typing error":         {pod + "(lenght(@)): 1", "check.yaml:11: assert: expression (lenght(@)) calls lenght, and there is no function of that name; did you mean length?"},
		"a Secret":               {"apiVersion: v1\nkind: Secret\nmetadata: {name: x}", "check.yaml:10: assert: a health check may not read Secrets"},
		"a list of them":         {"apiVersion: v1\nkind: SecretList", "check.yaml:10: assert: a health check may not read Secrets"},
		"a kind from expression": {"apiVersion: v1\nkind: (join('', ['Sec', 'ret']))", "check.yaml:10: assert: apiVersion and kind must be written out"},
		"a version from one":     {"apiVersion: (join('', ['v', '1']))\nkind: Secret", "check.yaml:9: assert: apiVersion and kind must be written out"},
		"a very long one":        {pod + "status: (a" + strings.Repeat("|", maxExpression) + ")", "check.yaml:11: assert: an expression is 8195 bytes long; the limit is 8192"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("demo", "ns", "check.yaml", []byte(asserting(c.resource)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "Internal error") {
				t.Errorf("it says too much: %v", err)
			}
		})
	}
}

// Every function of the engine is in one of the two lists, so that a function of a new version is
// reviewed before it is allowed.
func TestFunctions_EveryOneListed(t *testing.T) {
	known := map[string]bool{}
	for _, f := range engineFunctions() {
		known[f.Name] = true
		if slices.Contains(allowed, f.Name) == (refused[f.Name] != "") {
			t.Errorf("%s: want it in one of the lists of allowed and refused functions", f.Name)
		}
	}
	for _, name := range allowed {
		if !known[name] {
			t.Errorf("the engine has no function %s", name)
		}
	}
	for name := range refused {
		if !known[name] {
			t.Errorf("the engine has no function %s", name)
		}
	}
}

func attacked(t *testing.T) *reader {
	t.Helper()
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ns}, status: {phase: Running}}"))
	if err == nil {
		err = o.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, meta.RESTScopeNamespace)
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{{Version: "v1", Resource: "pods"}: "PodList"}, o)
	return &reader{Cluster: Cluster{Dynamic: client, Mapper: mapper}}
}

// said is the message of an operation about the pod. The operation is made without the parser,
// which would reject it.
func said(t *testing.T, process, resource string) string {
	t.Helper()
	op := operation{verb: verbAssert}
	if err := yaml.Unmarshal([]byte(resource), &op.resource.Object); err != nil {
		t.Fatal(err)
	}
	r := attacked(t)
	r.evaluator, r.mu = newEvaluator(process), &sync.Mutex{}
	defer r.evaluator.Close()
	_, why, err := op.hold(t.Context(), r, "ns", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(why, "\n")
}

const aPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: "

// An expression that the parser did not see, since another expression makes it, is refused where it
// is evaluated.
func TestFill_ExpressionFromExpression(t *testing.T) {
	t.Setenv("AICR_TEST_TOKEN", token)
	resource := "apiVersion: v1\nkind: Pod\nmetadata: {labels: {a: \"(join('', ['(e', 'nv(namespace))']))\"}}"
	if _, err := Parse("demo", "ns", "check.yaml", []byte(asserting(resource))); err != nil {
		t.Fatalf("the attack does not come through the parser: %v", err)
	}
	if got := said(t, evaluation, resource); !strings.Contains(got, "calls env, which health checks may not call") || strings.Contains(got, token) {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"{(env('AICR_TEST_TOKEN')): x}", "{phase: (base64_encode(env('AICR_TEST_TOKEN')))}"} {
		if got := said(t, evaluation, aPod+text); !strings.Contains(got, "calls env, which health checks may not call") || strings.Contains(got, "Internal") {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

// Even with a list that lets env through, there is no variable in the process, and so none in what
// it says.
func TestEvaluation_NoVariables(t *testing.T) {
	t.Setenv("AICR_TEST_TOKEN", token)
	for _, text := range []string{"{phase: (env('AICR_TEST_TOKEN'))}", "{(env('AICR_TEST_TOKEN')): x}", "{phase: (base64_encode(env('AICR_TEST_TOKEN')))}"} {
		if got := said(t, letsThrough, aPod+text); got == "" || strings.Contains(got, token) || strings.Contains(got, "YSBzZWNyZXQ") || strings.Contains(got, "calls env") {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

// What the engine calls an internal error is said in plain words, and what never ends, or takes all
// memory, is a check that failed.
func TestEvaluation_Messages(t *testing.T) {
	for text, want := range map[string]string{
		"{\"(x_k8s_get(@, 'v1', 'Secret', 'a', 'b'))\": x}": "calls x_k8s_get, which health checks may not call",
		"{(length(gone)): 1}":                               "Pod ns/a: status.(length(gone)): invalid type for: <nil>",
		"{phase: 3}":                                        "types are not comparable",
		// 40,000 times 40,000 bytes, which one allocation takes: a slow machine takes as little time as a fast one
		"{\"(replace(pad_left('a', `40000`, 'b'), 'b', pad_left('a', `40000`, 'b'), `40000`))\": x}": "it cannot be evaluated: it takes more than 512 MiB of memory",
	} {
		if got := said(t, evaluation, aPod+text); !strings.Contains(got, want) || strings.Contains(got, "Internal") {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// The process that evaluates has only the functions of the list, for any question.
func TestEvaluation_FunctionNotAllowed(t *testing.T) {
	pod := []byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}`)
	a := newLanguage(allowed).evaluate(question{What: verbAssert, Resource: []byte(`{"(env('HOME'))": "x"}`), Objects: [][]byte{pod}})
	if got := strings.Join(a.Why, "\n"); !strings.Contains(got, "Pod a: (env('HOME')): the expression calls env, which health checks may not call: it reads the job's") {
		t.Errorf("got %q", got)
	}
}

// A Secret is not read even if an operation bypasses the parser.
func TestEvaluation_NoSecrets(t *testing.T) {
	if got := said(t, evaluation, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}"); !strings.Contains(got, "may not read Secrets") {
		t.Errorf("got %q", got)
	}
}

// The message about one poll has a limit.
func TestShort(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprint(i, strings.Repeat("x", 10_000)))
	}
	if got := strings.Join(short(lines), ""); len(got) > mostText+100 || !strings.HasSuffix(got, "… (cut)") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-20:])
	}
	if got := short([]string{"a", "b"}); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}
