package chainsaw

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jmespath-community/go-jmespath/pkg/functions"
	"github.com/jmespath-community/go-jmespath/pkg/interpreter"
	"github.com/jmespath-community/go-jmespath/pkg/parsing"
	"github.com/kyverno/chainsaw/pkg/apis"
	chainsaw "github.com/kyverno/chainsaw/pkg/engine/functions"
	"github.com/kyverno/kyverno-json/pkg/core/compilers"
	"github.com/kyverno/kyverno-json/pkg/core/compilers/jp"
	"github.com/kyverno/kyverno-json/pkg/core/expression"
	kyvernojson "github.com/kyverno/kyverno-json/pkg/jp"

	"github.com/nvidia/aicr-action/internal/util/lists"
)

// maxExpression is how long one expression may be, in bytes.
const maxExpression = 8 << 10

// allowed are the functions that a JMESPath expression of a check may call: those whose answer
// depends on their arguments alone.
var allowed = []string{
	// JMESPath
	"abs", "avg", "ceil", "contains", "ends_with", "find_first", "find_last", "floor", "from_items", "group_by", "items", "join", "keys", "length", "lower",
	"map", "max", "max_by", "merge", "min", "min_by", "not_null", "pad_left", "pad_right", "replace", "reverse", "sort", "sort_by", "split", "starts_with",
	"sum", "to_array", "to_number", "to_string", "trim", "trim_left", "trim_right", "type", "upper", "values", "zip",
	// kyverno-json
	"at", "concat", "json_parse", "wildcard",
	// Kyverno
	"add", "base64_decode", "base64_encode", "compare", "divide", "equal_fold", "label_match", "lookup", "modulo", "multiply", "object_from_lists", "parse_json",
	"parse_yaml", "path_canonicalize", "pattern_match", "regex_match", "regex_replace_all", "regex_replace_all_literal", "replace_all", "round",
	"semver_compare", "subtract", "time_add", "time_after", "time_before", "time_between", "time_diff", "time_parse", "time_to_cron", "time_truncate", "time_utc",
	"to_boolean", "to_lower", "to_upper", "trim_prefix", "truncate", "x509_decode",
	// Chainsaw
	"as_string", "trim_space", "x_metrics_decode",
}

const (
	readsCluster  = "reads the cluster by itself; write an assert on that object instead"
	dependsOnTime = "depends on the time at which it is called; compare fields of the object instead"
)

// refused are Chainsaw's other functions, and why.
var refused = map[string]string{
	"env":                   "reads the job's environment variables, which can be secrets; write the value into the check",
	"random":                "answers differently each time; a check must depend on the object alone",
	"time_now":              dependsOnTime,
	"time_now_utc":          dependsOnTime,
	"time_since":            dependsOnTime,
	"x_k8s_exists":          readsCluster,
	"x_k8s_get":             readsCluster,
	"x_k8s_list":            readsCluster,
	"x_k8s_resource_exists": readsCluster,
	"x_k8s_server_version":  readsCluster,
}

// engineFunctions are all that Chainsaw's engine would let a check call.
func engineFunctions() []functions.FunctionEntry {
	return append(kyvernojson.GetFunctions(context.Background()), chainsaw.GetFunctions()...)
}

// language is what expressions are compiled and evaluated with.
type language struct {
	compilers compilers.Compilers
	names     []string
}

// newLanguage has the functions of these names, and no others. CEL has the functions of Chainsaw's
// own environment: each depends on its arguments alone, and what is not declared there does not
// compile.
func newLanguage(names []string) language {
	var entries []functions.FunctionEntry
	for _, f := range engineFunctions() {
		if slices.Contains(names, f.Name) {
			entries = append(entries, f)
		}
	}
	c := apis.DefaultCompilers
	c.Jp = jp.NewCompiler(jp.WithFunctionCaller(interpreter.NewFunctionCaller(entries...)))
	return language{c.WithDefaultCompiler(compilers.CompilerJP), names}
}

// problem is what is wrong with a text of a check, if it is an expression; nil otherwise. It
// evaluates nothing.
func (l language) problem(text string) error {
	e := expression.Parse(text)
	compiler := l.compilers.Compiler(e.Compiler)
	if compiler == nil {
		return nil
	}
	if len(text) > maxExpression {
		return fmt.Errorf("an expression is %d bytes long; the limit is %d: split it", len(text), maxExpression)
	}
	if e.Compiler == compilers.CompilerCEL {
		if _, err := compiler.Compile(e.Statement); err != nil {
			return fmt.Errorf("expression %s does not compile: %w", text, err)
		}
		return nil
	}
	ast, err := parsing.NewParser().Parse(e.Statement)
	if err != nil {
		return fmt.Errorf("expression %s does not compile: %w", text, err)
	}
	for _, name := range called(ast) {
		if !slices.Contains(l.names, name) {
			return fmt.Errorf("expression %s calls %s", text, l.why(name))
		}
	}
	return nil
}

// why a function may not be called, with its name.
func (l language) why(name string) string {
	if why := refused[name]; why != "" {
		return fmt.Sprintf("%s, which health checks may not call: it %s", name, why)
	}
	text := name + ", and there is no function of that name"
	if near := lists.Nearest(name, slices.Sorted(slices.Values(l.names))); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

// called are the functions in an expression, in its order.
func called(n parsing.ASTNode) (names []string) {
	if name, ok := n.Value.(string); ok && n.NodeType == parsing.ASTFunctionExpression {
		names = append(names, name)
	}
	for _, child := range n.Children {
		names = append(names, called(child)...)
	}
	return names
}

// problems are those of all texts in a value, each with the text; the keys of maps come in order.
func (l language) problems(v any) (all []textProblem) {
	switch v := v.(type) {
	case string:
		if err := l.problem(v); err != nil {
			all = append(all, textProblem{v, err})
		}
	case []any:
		for _, child := range v {
			all = append(all, l.problems(child)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(append(all, l.problems(key)...), l.problems(v[key])...)
		}
	}
	return all
}

type textProblem struct {
	text string
	err  error
}

// isExpression says whether the engine would evaluate a text.
func isExpression(text string) bool {
	return strings.HasSuffix(text, ")") && expression.Parse(text).Compiler != ""
}
