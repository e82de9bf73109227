package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gather is every metric that a run can serve.
func gather(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	registry, p, kube := follow(t, node("n0", "b0"), node("n1", "b0"))
	for _, one := range []*corev1.Pod{pod("a-0", "n0", 4), pod("a-1", "n1", 4)} {
		if _, err := kube.CoreV1().Pods("lab").Create(t.Context(), one, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		p.mu.Lock()
		n := len(p.scopes["workflows"].read().Distances)
		p.mu.Unlock()
		if n > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the watch does not see the pods")
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// series are the names and labels that a query may use: a histogram has three.
func series(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, f := range gather(t) {
		name, has := f.GetName(), []string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			has = append(has, l.GetName())
		}
		if f.GetMetric()[0].GetHistogram() == nil {
			all[name] = has
			continue
		}
		all[name+"_bucket"], all[name+"_count"], all[name+"_sum"] = append(slices.Clone(has), "le"), has, has
	}
	return all
}

// dashboard is what this test reads of a Grafana dashboard.
type dashboard struct {
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
}

// Every query of the dashboard parses, and has names and labels that are served.
func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/dashboards/placement.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	known, queries := series(t), 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			queries++
			for _, problem := range wrongQuery(target.Expr, target.LegendFormat, known) {
				t.Errorf("panel %s: %s in %s", p.Title, problem, target.Expr)
			}
		}
	}
	if queries < 20 {
		t.Errorf("read %d queries", queries)
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Definition)
		if m == nil || !slices.Contains(known[m[1]], m[2]) {
			t.Errorf("variable %s: got %s", v.Name, v.Definition)
		}
	}
	for name, query := range map[string][2]string{
		"a metric that is not there":  {"sum(aicr_pods)", ""},
		"a label that is not there":   {`aicr_cells{state="running"}`, ""},
		"a grouping by no label":      {"sum by (recipe) (aicr_cells)", ""},
		"a legend of a label dropped": {"sum(aicr_cells)", "{{status}}"},
		"a syntax error":              {"sum(aicr_cells", ""},
	} {
		if len(wrongQuery(query[0], query[1], known)) == 0 {
			t.Errorf("%s was not found", name)
		}
	}
}

// wrongQuery says what is wrong with a query and its legend.
func wrongQuery(text, legend string, known map[string][]string) []string {
	// Grafana's variables, as it would replace them.
	text = strings.NewReplacer("$__rate_interval", "1m", "$scope", ".*").Replace(text)
	expr, err := parser.ParseExpr(text)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	left := map[string]bool{} // labels that the result can have
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			has, ok := known[n.Name]
			if !ok {
				problems = append(problems, "no metric "+n.Name)
			}
			for _, m := range n.LabelMatchers {
				if m.Name != labels.MetricName && !slices.Contains(has, m.Name) {
					problems = append(problems, n.Name+" has no label "+m.Name)
				}
			}
			kept := slices.Clone(has)
			for _, above := range path {
				if a, ok := above.(*parser.AggregateExpr); ok {
					for _, by := range a.Grouping {
						if !slices.Contains(has, by) {
							problems = append(problems, n.Name+" has no label "+by)
						}
					}
					kept = slices.DeleteFunc(kept, func(l string) bool { return slices.Contains(a.Grouping, l) == a.Without })
				}
			}
			for _, l := range kept {
				left[l] = true
			}
		}
		return nil
	})
	for _, m := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(legend, -1) {
		if !left[m[1]] {
			problems = append(problems, "the legend's label "+m[1]+" is not in the result")
		}
	}
	return problems
}
