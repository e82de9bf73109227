package argoapi

// parameters.go applies the Helm parameters of an Application to its values, as Argo CD and
// Helm do. It knows values and one list of YAML. It must not know bundles or charts.

import (
	"fmt"
	"os"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/strvals"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// ParameterSet is what one parameter sets: the dotted path of a value, with that of each value around it, and
// the line of the parameter.
type ParameterSet struct {
	Paths []string
	Line  int
}

// ParameterError is a parameter that Helm does not take, or whose value another cluster would change.
type ParameterError struct {
	Name string
	Line int
	Err  error
}

func (e *ParameterError) Error() string { return fmt.Sprintf("parameter %s: %v", e.Name, e.Err) }

func (e *ParameterError) Unwrap() error { return e.Err }

// ApplyParameters sets the parameters of the Application in values, the last one of a path wins. They are
// `helm --set`, or `--set-string` with forceString (util/helm/cmd.go of Argo CD), and come after all
// other values. ARGOCD_APP_NAME and ARGOCD_APP_NAMESPACE are replaced in them.
func ApplyParameters(values map[string]any, list *yamlv3.Node, app, namespace string) ([]ParameterSet, *ParameterError) {
	if list == nil || list.Tag == "!!null" {
		return nil, nil
	}
	if list.Kind != yamlv3.SequenceNode {
		return nil, &ParameterError{"", list.Line, fmt.Errorf("want a list of name and value")}
	}
	var all []ParameterSet
	for _, n := range list.Content {
		name := yamlx.Text(n, "name")
		value, err := expand(yamlx.Text(n, "value"), app, namespace)
		if err != nil {
			return nil, &ParameterError{name, n.Line, err}
		}
		parse := strvals.ParseInto
		if yamlx.Text(n, "forceString") == "true" {
			parse = strvals.ParseIntoString
		}
		if name == "" {
			err = fmt.Errorf("it has no name")
		} else {
			err = parse(name+"="+escaped(value), values)
		}
		if err != nil {
			return nil, &ParameterError{name, n.Line, err}
		}
		all = append(all, ParameterSet{paths(name), n.Line})
	}
	return all, nil
}

// escaped is a value as Argo CD passes it to Helm: a comma in it is no end, except in {a,b}, which
// is a list, and where it is escaped already.
func escaped(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	var before rune
	for _, r := range value {
		if r == ',' && before != '\\' {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// expand replaces the variables of Argo CD's build environment. What the cell has in another form
// than the cluster, e.g. the revision, is an error; an unknown variable is empty, as in Argo CD.
func expand(value, app, namespace string) (string, error) {
	var err error
	return os.Expand(value, func(name string) string {
		switch {
		case name == "$":
			return name
		case name == "ARGOCD_APP_NAME":
			return app
		case name == "ARGOCD_APP_NAMESPACE":
			return namespace
		case strings.HasPrefix(name, "ARGOCD_APP_"):
			err = fmt.Errorf("$%s is another one in the cell than in your cluster: write its value", name)
		}
		return ""
	}), err
}

// paths are the dotted paths of a parameter's name, from the outermost value to its own. A list is
// one value.
func paths(name string) []string {
	var all []string
	at := ""
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '\\' && i+1 < len(name):
			i++
			at += string(name[i])
			continue
		case c == '[':
			return append(all, at)
		case c == '.':
			all = append(all, at)
			fallthrough
		default:
			at += string(c)
		}
	}
	return append(all, at)
}
