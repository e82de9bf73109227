package aicraction_test

import (
	"strings"

	"github.com/rhysd/actionlint"
)

// holds evaluates the condition of a step.
func (r *runner) holds(condition string) bool {
	r.t.Helper()
	if condition == "" {
		return true
	}
	node, err := actionlint.NewExprParser().Parse(actionlint.NewExprLexer(condition + "}}"))
	if err != nil {
		r.t.Fatalf("condition %q: %v", condition, err)
	}
	holds, ok := r.value(node).(bool)
	if !ok {
		r.t.Fatalf("condition %q is no comparison", condition)
	}
	return holds
}

// value of an expression: as much of the language as action.yml uses.
func (r *runner) value(node actionlint.ExprNode) any {
	r.t.Helper()
	switch n := node.(type) {
	case *actionlint.StringNode:
		return n.Value
	case *actionlint.ObjectDerefNode:
		// What a step that was left out would have given is empty, as on a runner.
		return r.known[r.path(n)]
	case *actionlint.CompareOpNode:
		equal := r.value(n.Left) == r.value(n.Right)
		if n.Kind == actionlint.CompareOpNodeKindEq {
			return equal
		}
		if n.Kind == actionlint.CompareOpNodeKindNotEq {
			return !equal
		}
	case *actionlint.LogicalOpNode:
		left, right := r.value(n.Left).(bool), r.value(n.Right).(bool)
		if n.Kind == actionlint.LogicalOpNodeKindAnd {
			return left && right
		}
		return left || right
	}
	r.t.Fatalf("an expression of action.yml has a %T, which this test does not know", node)
	return nil
}

func (r *runner) path(node actionlint.ExprNode) string {
	r.t.Helper()
	var parts []string
	for {
		switch n := node.(type) {
		case *actionlint.ObjectDerefNode:
			parts = append([]string{n.Property}, parts...)
			node = n.Receiver
			continue
		case *actionlint.VariableNode:
			return strings.Join(append([]string{n.Name}, parts...), ".")
		}
		r.t.Fatalf("an expression of action.yml has a %T in a path, which this test does not know", node)
	}
}
