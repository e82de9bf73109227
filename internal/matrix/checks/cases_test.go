package checks

// cases_test.go runs checks over their cases. A case is a YAML file in testdata/mxNNN/ whose name begins with bad-
// or good-. Its first comment lines say all that any check finds in it:
//
//	# want: MX118 ValidatingWebhookConfiguration/x webhooks[0].clientConfig.service error
//
// The severity may be left out. A line "# lane: argocd-oci" gives the lane; without one there is none. The documents are
// the objects of the component x in the namespace x; a cluster of their own has what they say, and four nodes. More
// may come first, as comments:
//
//	# values: {a: b}                             of the component
//	# chart: {kubeVersion: ">=1.21", templates: {x.yaml: "text"}}
//	# chart before: {templates: {x.yaml: "one"}} of what ran before
//	# source: https://charts.example.com         of the component
//	# again                                      it was delivered before
//	# seen version: 1.2.3+0123456789ab           that the chart's templates see
//	# runs: IMAGE                                containers with this image run as processes
//	# node labels: {example.com/rack: r1}        of all nodes
//	# node annotations: {example.com/a: b}        the same
//	# waits for: apps/v1 Deployment web/web      by spec.healthChecks of Flux's Kustomization x
//	# delivered twice                            and not upgraded
//	# helm release: y is web in x                the name and namespace of release y to Helm
//	# helmfile: y is in one.yaml                 and helm-diff has its kinds checked; "in one.yaml unchecked": it does not
//	# doomed: Application argocd/x says why; then what
//	# patches for nothing: name web; Deployment wed
//	# images for nothing: image web; wed         the last is the nearest, and may be left out
//
// And of a document:
//
//	# Source: x/crds/x.yaml                      its template, as Helm writes it
//	# release: y, after x                        its release and component, if that is not x; "y in z" for another namespace
//	# release: y, after x, unawaited             and the deployer waits for x no longer than for its hooks
//	# before                                     it is one of what ran before: the case is an upgrade
//	# left                                       the same, and the deployer has left it
//	# replaced                                   it has another UID than before
//	# refused: spec.x: Invalid value             what an API server says of it; # dropped: spec.x is a field that it drops
//	# applied                                    by Flux, besides the releases
//	# gone                                       the cluster does not have it any more
//	# in the cluster only                        it is no object of the component: somebody has made it, so that before there is a
//	                                             cluster nothing is known to be missing; it is in
//	                                             the place of the document of that kind and name, if there is one

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/matrix/problem"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// caseCase is one case file.
type caseCase struct {
	File, Check string // the check is that of the directory, e.g. MX118
	Bad         bool
	Want        []caseWant
	Lane        string
	Values      map[string]any
	// Objects are the component's, and Cluster what only the cluster has.
	Objects, Cluster []*unstructured.Unstructured

	chart, was          *chart.Chart
	seenVersion, source string
	runs                string
	again               bool
	nodeLabels          map[string]string
	nodeAnnotations     map[string]string
	waitsFor            []fluxapi.Check
	inHelm              map[string]bundle.Release
	inFile              map[string]bundle.Given // of helmfile
	doomed              []argoapi.Refusal
	idle                []bundle.Idle
	// places are those of Objects, and delivered those of the expectation's.
	places, delivered []place
	// before is what ran before; nil if the case is no upgrade.
	before *caseCase
	twice  bool
	// first are the checks that found something without a cluster.
	first map[string]bool
}

// place is where a document of a case is delivered.
type place struct {
	template, release, after, in     string
	applied, unawaited, gone, before bool
	left, replaced                   bool
	answer                           facts.Answer
}

// kinds are those of the cluster that a case has.
var kinds = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(fake.AddToScheme(s))
	return s
}()

const onlyCluster = "# in the cluster only\n"

// caseWant is one finding of a case.
type caseWant struct {
	Check, Object, Path, Severity string
}

// readCase reads the cases below some directories.
func readCase(t testing.TB, dirs ...string) (all []caseCase) {
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

func read(file string) (c caseCase, err error) {
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
		c.twice = c.twice || line == "# delivered twice\n"
		c.again = c.again || line == "# again\n"
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), ": ")
		if !strings.HasPrefix(line, "#") || !ok {
			continue
		}
		if err := c.head(key, value); err != nil {
			return c, err
		}
	}
	if c.Bad != slices.ContainsFunc(c.Want, func(w caseWant) bool { return w.Check == c.Check }) {
		return c, fmt.Errorf("a bad case has a line '# want: %s KIND/NAMESPACE/NAME PATH', and a good one has none", c.Check)
	}
	for doc := range strings.SplitSeq(string(raw), "\n---\n") {
		objects, err := rendering.ParseDocuments(doc)
		if err != nil {
			return c, err
		}
		if strings.HasPrefix(doc, onlyCluster) {
			c.Cluster = append(c.Cluster, objects...)
			continue
		}
		at := placeOf(doc)
		to := &c
		if at.before {
			if c.before == nil {
				c.before = &caseCase{}
			}
			to = c.before
		}
		for _, o := range objects {
			to.Objects, to.places = append(to.Objects, o), append(to.places, at)
		}
	}
	if len(c.Objects) == 0 {
		return c, fmt.Errorf("no objects")
	}
	return c, nil
}

// head reads one comment of a case.
func (c *caseCase) head(key, value string) error {
	switch key {
	case "want":
		f := append(strings.Fields(value), "", "", "")
		if slices.Contains([]string{"error", "warning", "note"}, f[2]) { // of an object as a whole
			f[2], f[3] = "", f[2]
		}
		c.Want = append(c.Want, caseWant{f[0], f[1], f[2], f[3]})
	case "lane":
		c.Lane = value
	case "values":
		return yaml.Unmarshal([]byte(value), &c.Values)
	case "runs":
		c.runs = value
	case "seen version":
		c.seenVersion = value
	case "node labels":
		return yaml.Unmarshal([]byte(value), &c.nodeLabels)
	case "node annotations":
		return yaml.Unmarshal([]byte(value), &c.nodeAnnotations)
	case "source":
		c.source = value
	case "chart", "chart before":
		var given struct {
			KubeVersion string
			Templates   map[string]string
		}
		if err := yaml.UnmarshalStrict([]byte(value), &given); err != nil {
			return err
		}
		made := &chart.Chart{Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "x", Version: "1.0.0", KubeVersion: given.KubeVersion}}
		for _, name := range slices.Sorted(maps.Keys(given.Templates)) {
			made.Templates = append(made.Templates, &chart.File{Name: "templates/" + name, Data: []byte(given.Templates[name])})
		}
		if made.Raw = made.Templates; key == "chart" {
			c.chart = made
		} else {
			c.was = made
		}
	case "helm release":
		name, helm, _ := strings.Cut(value, " is ")
		helm, namespace, _ := strings.Cut(helm, " in ")
		if c.inHelm == nil {
			c.inHelm = map[string]bundle.Release{}
		}
		c.inHelm[name] = bundle.Release{Namespace: namespace, Given: bundle.Given{HelmName: helm}}
	case "helmfile":
		name, file, _ := strings.Cut(value, " is in ")
		file, unchecked := strings.CutSuffix(file, " unchecked")
		if c.inFile == nil {
			c.inFile = map[string]bundle.Given{}
		}
		c.inFile[name] = bundle.Given{File: file, Compared: !unchecked}
	case "doomed":
		object, text, _ := strings.Cut(value, " says ")
		kind, name, _ := strings.Cut(object, " ")
		namespace, name, _ := strings.Cut(name, "/")
		text, then, _ := strings.Cut(text, "; ")
		c.doomed = append(c.doomed, argoapi.Refusal{Of: result.Ref{Group: "argoproj.io", Kind: kind, Namespace: namespace, Name: name}, Text: text, Then: then, At: recipe.Origin{File: "app.yaml", Line: 1}})
	case "patches for nothing", "images for nothing", "ignoreDifferences for nothing":
		field, _, _ := strings.Cut(key, " ")
		selects, near, _ := strings.Cut(value, "; ")
		c.idle = append(c.idle, bundle.Idle{Of: result.Ref{Group: "kustomize.config.k8s.io", Kind: "Kustomization", Name: "x"}, At: recipe.Origin{File: "kustomization.yaml", Line: 3 + len(c.idle)}, Field: field, Selects: selects, Near: near, Named: strings.Contains(selects, "name ") || field == "ignoreDifferences"})
	case "waits for":
		f := append(strings.Fields(value), "", "", "")
		group, version, grouped := strings.Cut(f[0], "/")
		if !grouped {
			group, version = "", f[0]
		}
		namespace, name, namespaced := strings.Cut(f[2], "/")
		if !namespaced {
			namespace, name = "", f[2]
		}
		c.waitsFor = append(c.waitsFor, fluxapi.Check{Kustomization: "x", Object: result.Ref{Group: group, Kind: f[1], Namespace: namespace, Name: name}, Version: version, Timeout: "2m", Releases: []string{"x"}})
	}
	return nil
}

// placeOf reads the comments of a document.
func placeOf(doc string) place {
	p := place{template: "x/templates/x.yaml", release: "x"}
	for line := range strings.Lines(doc) {
		switch key, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), ": "); {
		case !strings.HasPrefix(line, "#"):
		case key == "Source":
			p.template = value
		case key == "release":
			p.release, p.after, _ = strings.Cut(value, ", after ")
			p.after, p.unawaited = strings.CutSuffix(p.after, ", unawaited")
			p.release, p.in, _ = strings.Cut(p.release, " in ")
		case key == "applied":
			p.applied = true
		case key == "gone":
			p.gone = true
		case key == "before", key == "left":
			p.before, p.left = true, p.left || key == "left"
		case key == "replaced":
			p.replaced = true
		case key == "refused":
			p.answer.Refused = value
			p.answer.Field, _, _ = strings.Cut(value, ": ")
		case key == "dropped":
			p.answer.Dropped = append(p.answer.Dropped, value)
		}
	}
	return p
}

// Expectation is that of a component x with the case's objects.
func (c *caseCase) Expectation() (*bundle.Expectation, []recipe.Component) {
	e := &bundle.Expectation{HealthChecks: c.waitsFor, Doomed: c.doomed, Idle: c.idle}
	c.delivered = nil
	release := func(name, after, in string) {
		if slices.ContainsFunc(e.Releases, func(r bundle.Release) bool { return r.Name == name }) {
			return
		}
		r := bundle.Release{Component: name, Name: name, Namespace: cmp.Or(in, name), Chart: name, ChartVersion: "1.0.0", SeenVersion: c.seenVersion}
		if own, ok := c.inHelm[name]; ok {
			r.Namespace, r.Given = own.Namespace, own.Given
		}
		r.Given.File, r.Given.Compared = c.inFile[name].File, c.inFile[name].Compared
		r.Given.Unawaited = slices.ContainsFunc(c.places, func(p place) bool { return p.after == name && p.unawaited })
		e.Releases = append(e.Releases, r)
		ref := func(name string) result.Ref {
			return result.Ref{Group: infra.HelmReleaseGVR.Group, Kind: "HelmRelease", Namespace: infra.FluxNamespace, Name: name}
		}
		d := bundle.Delivered{Ref: ref(name)}
		if after != "" {
			d.DependsOn, e.Releases[len(e.Releases)-1].DependsOn = []result.Ref{ref(after)}, []string{after}
		}
		e.Delivered = append(e.Delivered, d)
	}
	for i, o := range c.Objects {
		at := c.places[i]
		if at.applied {
			e.Applied = append(e.Applied, o)
			continue
		}
		release(at.release, at.after, at.in)
		hook := o.GetAnnotations()["helm.sh/hook"]
		object := bundle.Object{Component: at.release, Release: at.release, Template: at.template, Chart: c.chart, Object: o, Hook: hook != ""}
		object.Ephemeral = strings.Contains(o.GetAnnotations()["helm.sh/hook-delete-policy"], "hook-succeeded")
		if strings.Contains(hook, "pre-upgrade") && !strings.HasPrefix(c.Lane, "argocd") { // to Argo CD it is one of each sync
			r := &e.Releases[slices.IndexFunc(e.Releases, func(r bundle.Release) bool { return r.Name == at.release })]
			if r.UpgradeHooks = append(r.UpgradeHooks, object); !strings.Contains(hook, "install") {
				continue
			}
		}
		e.Objects, c.delivered = append(e.Objects, object), append(c.delivered, at)
		if template, ok := podspec.Template(o); ok {
			if t, err := podspec.Read(template); err == nil {
				e.Workloads = append(e.Workloads, bundle.Workload{Component: at.release, Release: at.release, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), PodSpec: t.Spec, Replicas: podspec.Count(o), Template: object.Template, Hook: object.Hook})
			}
		}
	}
	release("x", "", "") // of a case whose objects are others'
	return e, []recipe.Component{{ComponentRef: recipe.ComponentRef{Name: "x", Source: c.source}, Values: c.Values, Declared: recipe.Origin{File: "recipes/overlays/x.yaml", Line: 9}}}
}

// Find is what the checks of all stages find in a case, sorted.
func (c *caseCase) Find(t testing.TB, list []judge.Check, order func(lane string) judge.Order) (found []problem.Problem) {
	t.Helper()
	e, components := c.Expectation()
	nodes := testkit.TestNodes()
	var live []runtime.Object
	var all []corev1.Node
	for _, n := range nodes {
		node := n.(*corev1.Node)
		maps.Copy(node.Labels, c.nodeLabels)
		node.Annotations = c.nodeAnnotations
		node.Spec.Taints = nil // else no template without tolerations had a node
		all, live = append(all, *node), append(live, node)
	}
	there := map[result.Ref]bool{}
	for _, o := range c.live() {
		if group := o.GroupVersionKind().Group; group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io" {
			continue // of other clients
		}
		ref := (&bundle.Object{Object: o}).Ref()
		if there[ref] {
			continue // delivered twice
		}
		there[ref] = true
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
	have.Runs = func(container *corev1.Container) bool { return c.runs != "" && container.Image == c.runs }
	served, err := facts.ReadServed(t.Context(), kube)
	if err != nil {
		t.Fatal(err)
	}
	bench := &judge.Bench{Checks: list}
	later := c.delivery(e)
	asked := facts.New(e, components, nil, served)
	for i := range e.Objects {
		asked.Answers = append(asked.Answers, c.delivered[i].answer)
	}
	c.first = map[string]bool{}
	rendered := facts.New(e, components, all, nil)
	rendered.Version = "v1.36.1"
	for i, x := range []*facts.Index{rendered, asked, facts.New(e, components, view.Nodes, have), facts.New(e, components, nil, nil)} {
		stage := judge.Stage(i)
		if x.Again, x.Delivery, x.Furnished = c.again || later != nil, later, len(c.Cluster) > 0; later == nil && stage == judge.Second {
			continue
		}
		more, err := bench.Judge(x, "x", order(c.Lane), stage)
		if err != nil {
			t.Fatalf("%s: %v", c.File, err)
		}
		for i := range more {
			if m := more[i].Missing; m.Name != "" && x.MadeAtRunTime(m.Kind, m.Namespace, m.Name, more[i].From) != nil {
				more[i].Reason, more[i].Note = "", true // as a docket makes of it
			}
		}
		for i := range more {
			if stage == judge.Rendered {
				c.first[more[i].Check] = true
			}
			if said := more[i].Text + "\n" + more[i].Then; strings.Contains(said, "%!") { // an argument too few, or of another type
				t.Errorf("%s, stage %s: a message lacks what it is to say: %s", c.File, stage, said)
			}
		}
		found = append(found, slices.DeleteFunc(more, func(p problem.Problem) bool {
			if p.Known && !slices.ContainsFunc(found, func(f problem.Problem) bool { return wantOf(&f) == wantOf(&p) }) {
				t.Errorf("%s: %s is said to be known before, and was not found", c.File, wantOf(&p))
			}
			return p.Known || p.Unverified != nil // a cell would have ended
		})...)
	}
	slices.SortFunc(found, func(a, b problem.Problem) int { return strings.Compare(wantOf(&a).String(), wantOf(&b).String()) })
	return found
}

// delivery is the second one of a case; nil if it has none.
func (c *caseCase) delivery(now *bundle.Expectation) *facts.Delivery {
	d := &facts.Delivery{What: "the upgrade from main", Event: "pre-upgrade", Now: &bundle.Bundle{Expectation: *now}, Was: func(result.Ref) types.UID { return "" }}
	for i := range now.Objects {
		if c.delivered[i].replaced {
			d.Replaced = append(d.Replaced, now.Objects[i].Ref())
		}
	}
	if c.before == nil {
		if c.twice {
			return d
		}
		return nil
	}
	was, _ := c.before.Expectation()
	d.Before, d.Was = &bundle.Bundle{Expectation: *was}, func(ref result.Ref) types.UID {
		if was.Object(ref) == nil {
			return ""
		}
		return "1"
	}
	if c.was != nil {
		d.Before.Installs, d.Now.Installs = []bundle.Install{{Release: was.Releases[0], Chart: c.was}}, []bundle.Install{{Release: now.Releases[0], Chart: c.chart}}
	}
	for i := range was.Objects {
		switch ref := was.Objects[i].Ref(); {
		case c.before.delivered[i].left:
			d.Left = append(d.Left, ref)
		case now.Object(ref) == nil:
			d.Removed = append(d.Removed, ref)
		}
	}
	return d
}

// live are the objects that the cluster has.
func (c *caseCase) live() (all []*unstructured.Unstructured) {
	for i, o := range c.Objects {
		if !c.places[i].gone && !slices.ContainsFunc(c.Cluster, func(own *unstructured.Unstructured) bool {
			return own.GetKind() == o.GetKind() && own.GetNamespace() == o.GetNamespace() && own.GetName() == o.GetName()
		}) {
			all = append(all, o)
		}
	}
	return append(all, c.Cluster...)
}

func wantOf(p *problem.Problem) caseWant {
	severity := result.SeverityWarning
	if p.Reason != "" {
		severity = result.SeverityError
	} else if p.Note {
		severity = result.SeverityNote
	}
	return caseWant{p.Check, strings.Trim(p.From.Kind+"/"+p.From.Namespace, "/") + "/" + p.From.Name, p.Path, string(severity)}
}

// String is the line of a case file.
func (w caseWant) String() string {
	return strings.TrimSpace(strings.Join([]string{w.Check, w.Object, w.Path, w.Severity}, " "))
}

// Compare says how what was found differs from what the case wants, a line each.
func (c *caseCase) Compare(found []problem.Problem) (wrong []string) {
	left := slices.Clone(c.Want)
	for i := range found {
		got := wantOf(&found[i])
		at := slices.IndexFunc(left, func(w caseWant) bool {
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

// caseLacking says which checks have no bad or no good case, and which cases are of no check.
func caseLacking(list []judge.Check, cases []caseCase) (wrong []string) {
	bad, good := map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		if judge.ByID(list, c.Check) == nil {
			wrong = append(wrong, fmt.Sprintf("%s: there is no check %s", c.File, c.Check))
		}
		bad[c.Check], good[c.Check] = bad[c.Check] || c.Bad, good[c.Check] || !c.Bad
	}
	for i := range list {
		if c := &list[i]; !c.Observed && (!bad[c.ID] || !good[c.ID]) {
			wrong = append(wrong, fmt.Sprintf("check %s (%s) needs a bad and a good case in testdata/%s: it has bad: %t, good: %t", c.ID, c.Name, strings.ToLower(c.ID), bad[c.ID], good[c.ID]))
		}
	}
	slices.SortFunc(wrong, cmp.Compare)
	return wrong
}
