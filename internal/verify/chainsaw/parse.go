// Package chainsaw runs the health checks of components: Chainsaw Tests that only read
// (https://kyverno.github.io/chainsaw).
//
// Chainsaw's own engine compiles and evaluates the assertions and writes the differences; the loop
// around it is ours. Chainsaw's runner is made for `go test` and for files on a disk, creates a
// namespace for each test, and has a separate timeout for each sort of operation. Here one budget
// holds for all operations, no object is created, and a check that would pass without reading any
// object is rejected.
package chainsaw

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kyverno/chainsaw/pkg/apis/v1alpha1"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// Check is one component's health check: all Tests of its file.
type Check struct {
	// Component that it is about, and the namespace where objects are looked for that name none, as
	// with `chainsaw test --namespace`.
	Component string
	Namespace string
	// File as a person can open it.
	File string

	steps []step
}

// Operations is the number of assert and error operations.
func (c *Check) Operations() int {
	n := 0
	for _, s := range c.steps {
		n += len(s.ops)
	}
	return n
}

type step struct {
	name string
	ops  []operation
}

// operation is an assert, which requires an object that matches, or an error, which requires that
// none does.
type operation struct {
	verb     string
	line     int
	resource unstructured.Unstructured
}

const (
	verbAssert = "assert"
	verbError  = "error"
)

// The fields of Chainsaw's format that are known. Timeouts are ignored, since one budget holds for
// all operations. So is catch, whose collectors run when a test fails, since the harness collects
// debug artifacts itself.
var (
	documentFields  = []string{"apiVersion", "kind", "metadata", "spec"}
	specFields      = []string{"description", "namespace", "timeouts", "steps", "catch"}
	stepFields      = []string{"name", "description", "timeouts", "try", "catch"}
	operationFields = []string{"description", verbAssert, verbError}
	actionFields    = []string{"resource", "timeout"}
)

// Parse reads a check. Errors have file and line; all of a file's are joined. Besides what Chainsaw
// rejects, Parse rejects: every operation except assert and error (a check only reads), an
// assertion without apiVersion and kind (it would read no object of the cluster), a test without a
// single assert (an error operation alone passes in an empty cluster), Secrets, and functions that
// are not in the list of those whose result depends only on their arguments (language.go).
func Parse(component, namespace, file string, data []byte) (*Check, error) {
	p := &parser{file: file, language: newLanguage(allowed), check: &Check{Component: component, Namespace: namespace, File: file}}
	docs, err := yamlx.Documents(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, doc := range docs {
		p.document(doc.Content[0])
	}
	if len(p.found) == 0 && len(p.check.steps) == 0 {
		p.add(&yaml.Node{Line: 1}, "there is no Test in it; write one (apiVersion %s, kind Test)", v1alpha1.SchemeGroupVersion)
	}
	return p.check, errors.Join(p.found...)
}

type parser struct {
	file     string
	language language
	check    *Check
	found    []error
}

func (p *parser) add(at *yaml.Node, format string, args ...any) {
	err := fmt.Errorf("%s:%d: "+format, append([]any{p.file, at.Line}, args...)...)
	p.found = append(p.found, result.At(result.Place{File: p.file, Line: at.Line}, err))
}

// fields gives a mapping's values, and complains of fields that are not in the list.
func (p *parser) fields(n *yaml.Node, what string, known []string) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		p.add(n, "%s must be a mapping with %s", what, strings.Join(known, ", "))
		return nil
	}
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case !slices.Contains(known, key.Value):
			p.add(key, "%q is not supported in %s of a health check; it may have %s", key.Value, what, strings.Join(known, ", "))
		case values[key.Value] != nil:
			p.add(key, "%q is there twice in %s; remove one", key.Value, what)
		default:
			values[key.Value] = n.Content[i+1]
		}
	}
	return values
}

func (p *parser) document(n *yaml.Node) {
	doc := p.fields(n, "a Test", documentFields)
	if doc == nil {
		return
	}
	if got, want := scalar(doc["apiVersion"])+" "+scalar(doc["kind"]), v1alpha1.SchemeGroupVersion.String()+" Test"; got != want {
		p.add(n, "it is %q; a health check is %q", got, want)
		return
	}
	if doc["spec"] == nil {
		p.add(n, "the Test has no spec; add one with steps")
		return
	}
	spec := p.fields(doc["spec"], "spec", specFields)
	if ns := scalar(spec["namespace"]); ns != "" {
		p.check.Namespace = ns
	}
	asserts := 0
	for _, s := range p.list(doc["spec"], spec["steps"], "spec.steps") {
		asserts += p.readStep(s)
	}
	if asserts == 0 && len(p.found) == 0 {
		p.add(n, "the Test has no assert: an error operation alone also passes where nothing exists; add an assert")
	}
}

// list gives a sequence's items; a missing or empty one is refused, since it would check nothing.
func (p *parser) list(parent, n *yaml.Node, what string) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		if n == nil {
			n = parent
		}
		p.add(n, "%s must be a list with at least one item", what)
		return nil
	}
	return n.Content
}

// readStep returns the number of asserts.
func (p *parser) readStep(n *yaml.Node) int {
	f := p.fields(n, "a step", stepFields)
	if f == nil {
		return 0
	}
	s := step{name: scalar(f["name"])}
	if s.name == "" {
		s.name = fmt.Sprintf("step-%d", len(p.check.steps)+1) // Chainsaw numbers steps from 1
	}
	asserts := 0
	for _, o := range p.list(n, f["try"], "try of step "+s.name) {
		op := p.readOperation(o)
		if op == nil {
			continue
		}
		if op.verb == verbAssert {
			asserts++
		}
		s.ops = append(s.ops, *op)
	}
	p.check.steps = append(p.check.steps, s)
	return asserts
}

func (p *parser) readOperation(n *yaml.Node) *operation {
	f := p.fields(n, "an operation", operationFields)
	if f == nil || (f[verbAssert] == nil) == (f[verbError] == nil) {
		if f != nil && 2*len(f) == len(n.Content) { // otherwise what is wrong has been said
			p.add(n, "an operation is either an assert or an error")
		}
		return nil
	}
	op := &operation{verb: verbAssert, line: n.Line}
	if f[verbError] != nil {
		op.verb = verbError
	}
	action := p.fields(f[op.verb], op.verb, actionFields)
	if action == nil {
		return nil
	}
	if action["resource"] == nil {
		p.add(n, "%s has no resource; write it here", op.verb)
		return nil
	}
	op.line = action["resource"].Line
	raw, err := yaml.Marshal(action["resource"])
	if err == nil {
		err = sigsyaml.Unmarshal(raw, &op.resource.Object) // as Chainsaw reads it, through JSON
	}
	if err != nil {
		p.add(action["resource"], "read the resource of %s: %w", op.verb, err)
		return nil
	}
	if op.resource.GetAPIVersion() == "" || op.resource.GetKind() == "" {
		p.add(action["resource"], "the resource of %s has no apiVersion or no kind: it would read no object of the cluster; add both", op.verb)
		return nil
	}
	if !p.mayAsk(action["resource"], op) {
		return nil
	}
	check := v1alpha1.NewCheck(op.resource.Object)
	if _, err := check.Compile(nil, p.language.compilers); err != nil {
		p.add(action["resource"], "%s: %s", op.verb, p.language.plain(err))
		return nil
	}
	return op
}

// mayAsk refuses what a check may not ask: for Secrets, and by functions that are not allowed.
func (p *parser) mayAsk(n *yaml.Node, op *operation) bool {
	before := len(p.found)
	for _, text := range []string{op.resource.GetAPIVersion(), op.resource.GetKind()} {
		if isExpression(text) {
			p.add(lineOfText(n, text), "%s: apiVersion and kind must be written out, not be the expression %s", op.verb, text)
		}
	}
	if gvk := op.resource.GroupVersionKind(); gvk.Group == "" && (gvk.Kind == "Secret" || gvk.Kind == "SecretList") {
		p.add(lineOfText(n, gvk.Kind), "%s: %s", op.verb, noSecrets)
	}
	for _, wrong := range p.language.problems(op.resource.Object) {
		p.add(lineOfText(n, wrong.text), "%s: %w", op.verb, wrong.err)
	}
	return len(p.found) == before
}

// lineOfText is the scalar below n with this text, or n itself.
func lineOfText(n *yaml.Node, text string) *yaml.Node {
	if found := findText(n, text); found != nil {
		return found
	}
	return n
}

func findText(n *yaml.Node, text string) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return findText(n.Alias, text)
	}
	if n.Kind == yaml.ScalarNode && n.Value == text {
		return n
	}
	for _, child := range n.Content {
		if found := findText(child, text); found != nil {
			return found
		}
	}
	return nil
}

func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}
