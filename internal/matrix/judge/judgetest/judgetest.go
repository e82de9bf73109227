// Package judgetest runs checks over their cases. A case is a YAML file in testdata/mxNNN/ whose name begins with bad-
// or good-. Its first comment lines say all that any check finds in it:
//
//	# want: MX118 ValidatingWebhookConfiguration/x webhooks[0].clientConfig.service error
//
// The severity may be left out. A line "# lane: argocd-oci" gives the lane; without one there is none. The documents are
// the objects of the component x in the namespace x; a cluster of their own has what they say, and four nodes. Values
// of the component may come first, as comments: "# values: {a: b}". A document that begins with the line
// "# in the cluster only" is no object of the component: it is what the API server or a controller has made, in the
// place of the document of that kind and name, if there is one.
package judgetest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/documents"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// Case is one case file.
type Case struct {
	File, Check string // the check is that of the directory, e.g. MX118
	Bad         bool
	Want        []Want
	Lane        string
	Values      map[string]any
	// Objects are the component's, and Cluster what only the cluster has.
	Objects, Cluster []*unstructured.Unstructured
}

// kinds are those of the cluster that a case has.
var kinds = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(fake.AddToScheme(s))
	return s
}()

const onlyCluster = "# in the cluster only\n"

// Want is one finding of a case.
type Want struct {
	Check, Object, Path, Severity string
}

// Read reads the cases below some directories.
func Read(t testing.TB, dirs ...string) (all []Case) {
	t.Helper()
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "testdata", "mx*", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			c, err := read(file)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			all = append(all, c)
		}
	}
	return all
}

func read(file string) (c Case, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	c.File, c.Check = file, strings.ToUpper(filepath.Base(filepath.Dir(file)))
	name := filepath.Base(file)
	c.Bad = strings.HasPrefix(name, "bad-")
	if !c.Bad && !strings.HasPrefix(name, "good-") {
		return c, fmt.Errorf("the name begins with neither bad- nor good-")
	}
	for line := range strings.Lines(string(raw)) {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), ": ")
		if !strings.HasPrefix(line, "#") || !ok {
			continue
		}
		switch key {
		case "want":
			f := append(strings.Fields(value), "", "", "")
			c.Want = append(c.Want, Want{f[0], f[1], f[2], f[3]})
		case "lane":
			c.Lane = value
		case "values":
			if err := yaml.Unmarshal([]byte(value), &c.Values); err != nil {
				return c, err
			}
		}
	}
	if c.Bad != slices.ContainsFunc(c.Want, func(w Want) bool { return w.Check == c.Check }) {
		return c, fmt.Errorf("a bad case has a line '# want: %s KIND/NAMESPACE/NAME PATH', and a good one has none", c.Check)
	}
	for doc := range strings.SplitSeq(string(raw), "\n---\n") {
		objects, err := documents.Parse(doc)
		if err != nil {
			return c, err
		}
		if strings.HasPrefix(doc, onlyCluster) {
			c.Cluster = append(c.Cluster, objects...)
			continue
		}
		c.Objects = append(c.Objects, objects...)
	}
	if len(c.Objects) == 0 {
		return c, fmt.Errorf("no objects")
	}
	return c, nil
}

// Expectation is that of a component x with the case's objects.
func (c *Case) Expectation() (*bundle.Expectation, []recipe.Component) {
	e := &bundle.Expectation{Releases: []bundle.Release{{Component: "x", Name: "x", Namespace: "x", Chart: "x", ChartVersion: "1.0.0"}}}
	for _, o := range c.Objects {
		hook := o.GetAnnotations()["helm.sh/hook"]
		object := bundle.Object{Component: "x", Release: "x", Template: "x/templates/x.yaml", Object: o, Hook: hook != ""}
		e.Objects = append(e.Objects, object)
		if template, ok := podspec.Template(o); ok {
			if t, err := podspec.Read(template); err == nil {
				e.Workloads = append(e.Workloads, bundle.Workload{Component: "x", Release: "x", Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), PodSpec: t.Spec, Replicas: podspec.Count(o), Template: object.Template, Hook: object.Hook})
			}
		}
	}
	return e, []recipe.Component{{ComponentRef: recipe.ComponentRef{Name: "x"}, Values: c.Values, Declared: recipe.Origin{File: "recipes/overlays/x.yaml", Line: 9}}}
}

// Find is what the checks of all stages find in a case, sorted.
func (c *Case) Find(t testing.TB, list []judge.Check, order func(lane string) judge.Order) (found []problem.Problem) {
	t.Helper()
	e, components := c.Expectation()
	nodes := testkit.TestNodes()
	var live []runtime.Object
	var all []corev1.Node
	for _, n := range nodes {
		all, live = append(all, *n.(*corev1.Node)), append(live, n)
	}
	for _, o := range c.live() {
		if typed, err := kinds.New(o.GroupVersionKind()); err == nil && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed) == nil {
			live = append(live, typed)
		}
	}
	kube := fake.NewClientset(live...)
	view, err := observe.Poll(t.Context(), kube)
	if err != nil {
		t.Fatal(err)
	}
	have, err := facts.ReadLive(t.Context(), kube, view)
	if err != nil {
		t.Fatal(err)
	}
	bench := &judge.Bench{Checks: list}
	for stage, x := range map[judge.Stage]*facts.Index{judge.Rendered: facts.New(e, components, all, nil), judge.Settled: facts.New(e, components, view.Nodes, have)} {
		more, err := bench.Judge(x, "x", order(c.Lane), stage)
		if err != nil {
			t.Fatalf("%s: %v", c.File, err)
		}
		found = append(found, slices.DeleteFunc(more, func(p problem.Problem) bool { return p.Unverified != nil })...)
	}
	slices.SortFunc(found, func(a, b problem.Problem) int { return strings.Compare(wantOf(&a).String(), wantOf(&b).String()) })
	return found
}

// live are the objects that the cluster has.
func (c *Case) live() (all []*unstructured.Unstructured) {
	for _, o := range c.Objects {
		if !slices.ContainsFunc(c.Cluster, func(own *unstructured.Unstructured) bool {
			return own.GetKind() == o.GetKind() && own.GetNamespace() == o.GetNamespace() && own.GetName() == o.GetName()
		}) {
			all = append(all, o)
		}
	}
	return append(all, c.Cluster...)
}

func wantOf(p *problem.Problem) Want {
	severity := result.SeverityWarning
	if p.Reason != "" {
		severity = result.SeverityError
	} else if p.Note {
		severity = result.SeverityNote
	}
	return Want{p.Check, strings.Trim(p.From.Kind+"/"+p.From.Namespace, "/") + "/" + p.From.Name, p.Path, string(severity)}
}

// String is the line of a case file.
func (w Want) String() string {
	return strings.TrimSpace(strings.Join([]string{w.Check, w.Object, w.Path, w.Severity}, " "))
}

// Compare says how what was found differs from what the case wants, a line each.
func (c *Case) Compare(found []problem.Problem) (wrong []string) {
	left := slices.Clone(c.Want)
	for i := range found {
		got := wantOf(&found[i])
		at := slices.IndexFunc(left, func(w Want) bool {
			return w.Check == got.Check && w.Object == got.Object && (w.Path == "" || w.Path == got.Path) && (w.Severity == "" || w.Severity == got.Severity)
		})
		if at < 0 {
			wrong = append(wrong, fmt.Sprintf("found, and not wanted: %s (%s; %s)", got, found[i].Text, found[i].Then))
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	for _, w := range left {
		wrong = append(wrong, "wanted, and not found: "+w.String())
	}
	return wrong
}

// Lacking says which checks have no bad or no good case, and which cases are of no check.
func Lacking(list []judge.Check, cases []Case) (wrong []string) {
	bad, good := map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		if judge.ByID(list, c.Check) == nil {
			wrong = append(wrong, fmt.Sprintf("%s: there is no check %s", c.File, c.Check))
		}
		bad[c.Check], good[c.Check] = bad[c.Check] || c.Bad, good[c.Check] || !c.Bad
	}
	for i := range list {
		if c := &list[i]; !bad[c.ID] || !good[c.ID] {
			wrong = append(wrong, fmt.Sprintf("check %s (%s) needs a bad and a good case in testdata/%s: it has bad: %t, good: %t", c.ID, c.Name, strings.ToLower(c.ID), bad[c.ID], good[c.ID]))
		}
	}
	slices.SortFunc(wrong, cmp.Compare)
	return wrong
}
