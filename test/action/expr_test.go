package action_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

var expression = regexp.MustCompile(`\$\{\{(.*?)\}\}`)

// fill puts the values of expressions into a text.
func (r *runner) fill(text string) string {
	r.t.Helper()
	return expression.ReplaceAllStringFunc(text, func(m string) string {
		return textOf(r.eval(strings.TrimSuffix(strings.TrimPrefix(m, "${{"), "}}")))
	})
}

// holds reports whether a step's condition does. Without a status function in it, it is only for
// jobs that have not failed.
func (r *runner) holds(condition string) bool {
	r.t.Helper()
	if m := expression.FindStringSubmatch(condition); m != nil {
		condition = m[1]
	}
	if condition == "" {
		return !r.failed
	}
	if !regexp.MustCompile(`\b(always|success|failure|cancelled)\(`).MatchString(condition) && r.failed {
		return false
	}
	return truth(r.eval(condition))
}

// eval evaluates an expression: the part of GitHub's language that action.yml uses. What nothing
// can give is a mistake in action.yml.
// https://docs.github.com/en/actions/reference/workflows-and-actions/expressions
func (r *runner) eval(text string) any {
	r.t.Helper()
	node, err := actionlint.NewExprParser().Parse(actionlint.NewExprLexer(text + "}}"))
	if err != nil {
		r.t.Fatalf("expression %q: %v", text, err)
	}
	return r.value(node)
}

func (r *runner) value(node actionlint.ExprNode) any {
	r.t.Helper()
	switch n := node.(type) {
	case *actionlint.StringNode:
		return n.Value
	case *actionlint.BoolNode:
		return n.Value
	case *actionlint.NotOpNode:
		return !truth(r.value(n.Operand))
	case *actionlint.LogicalOpNode:
		left := r.value(n.Left)
		if truth(left) == (n.Kind == actionlint.LogicalOpNodeKindOr) {
			return left
		}
		return r.value(n.Right)
	case *actionlint.CompareOpNode:
		same := strings.EqualFold(textOf(r.value(n.Left)), textOf(r.value(n.Right)))
		switch n.Kind {
		case actionlint.CompareOpNodeKindEq:
			return same
		case actionlint.CompareOpNodeKindNotEq:
			return !same
		}
	case *actionlint.FuncCallNode:
		switch n.Callee {
		case "always":
			return true
		case "success":
			return !r.failed
		case "failure":
			return r.failed
		}
	case *actionlint.ObjectDerefNode:
		return r.lookup(path(n))
	}
	r.t.Fatalf("the simulated runner cannot evaluate %T", node)
	return nil
}

func path(node actionlint.ExprNode) string {
	switch n := node.(type) {
	case *actionlint.VariableNode:
		return n.Name
	case *actionlint.ObjectDerefNode:
		return path(n.Receiver) + "." + n.Property
	}
	return "?"
}

// lookup gives a value of a context. An output that its step did not write is empty; one of a step
// that does not exist is a mistake.
func (r *runner) lookup(name string) string {
	r.t.Helper()
	value, ok := r.known[name]
	if parts := strings.Split(name, "."); !ok && len(parts) > 2 && parts[0] == "steps" {
		r.action.stepOf(r.t, parts[1]) // fails the test without such a step
		ok = true
		if parts[2] == "outcome" {
			return "skipped"
		}
	}
	if !ok {
		r.t.Fatalf("nothing gives %s", name)
	}
	return value
}

func truth(v any) bool {
	if b, ok := v.(bool); ok {
		return b
	}
	return v != ""
}

func textOf(v any) string {
	if b, ok := v.(bool); ok {
		return map[bool]string{true: "true", false: "false"}[b]
	}
	return v.(string)
}

// command is a workflow command that a runner obeys.
type command struct{ name, properties, message string }

// registered are the commands that the runner knows; it takes any other line for text.
var registered = []string{"add-mask", "add-path", "set-env", "set-output", "save-state", "add-matcher", "remove-matcher", "debug", "warning", "error", "notice", "group", "endgroup", "echo", "stop-commands"}

// commands are those that a runner finds in a step's log: at the beginning of a line behind any
// white space, or in the old form anywhere in it, but not between stop-commands and its token.
// https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs
func commands(log string) []command {
	var found []command
	stopped := ""
	names := strings.Join(registered, "|")
	form := regexp.MustCompile(`(?i)^\s*::(` + names + `)(?: ([^:]*))?::(.*)$`)
	old := regexp.MustCompile(`(?i)##\[(` + names + `)(?: ([^\]]*))?\](.*)$`)
	for _, line := range regexp.MustCompile(`\r\n|\r|\n`).Split(log, -1) {
		if stopped != "" {
			if strings.TrimSpace(line) == "::"+stopped+"::" {
				stopped = ""
			}
			continue
		}
		m := form.FindStringSubmatch(line)
		if m == nil {
			m = old.FindStringSubmatch(line)
		}
		if m == nil {
			continue
		}
		if m[1] == "stop-commands" {
			stopped = m[3]
		}
		found = append(found, command{m[1], m[2], m[3]})
	}
	return found
}

// The simulated runner executes the same commands as GitHub's runner. Otherwise the tests with it
// would prove nothing.
func TestSimulatedRunner_Commands(t *testing.T) {
	log := "text\n::error::a\n  ::warning title=b::c\nx ::error::no\n::unknown::no\nx ##[add-mask]d\r::error::e\n::stop-commands::tok\n::error::no\n##[error]no\n::token::\n::tok::\n::notice::f\n"
	var names []string
	for _, c := range commands(log) {
		names = append(names, c.name+"="+c.message)
	}
	if got, want := strings.Join(names, " "), "error=a warning=c add-mask=d error=e stop-commands=tok notice=f"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r := newRunner(t, map[string]string{"recipe": "eks"})
	r.failed = true
	for text, want := range map[string]bool{
		"always()": true, "": false, "inputs.recipe == 'eks'": false, "always() && inputs.recipe == 'EKS'": true, "always() && inputs.shard": false, "failure() && !inputs.shard": true,
		"${{ always() && (inputs.shard != '' || inputs.recipe != 'eks') }}": false,
	} {
		if got := r.holds(text); got != want {
			t.Errorf("if: %q: got %v, want %v", text, got, want)
		}
	}
	if got := r.fill("a-${{ inputs.shard || 'none' }}-${{ steps.run.outputs.total }}"); got != "a-none-" {
		t.Errorf("got %q", got)
	}
}
