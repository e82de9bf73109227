package bundle

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/bundle/manifestline"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
)

// NodeKind is the kind of node that a workload belongs on: the value of the label
// aicr.nvidia.com/node-type.
type NodeKind string

// The node kinds of AICR's KWOK profiles. NodeAny means that the recipe does not steer the
// workload.
const (
	NodeAny         NodeKind = ""
	NodeSystem      NodeKind = "system"
	NodeAccelerated NodeKind = "accelerated"
)

// Scheduling is what is written to the scheduling paths that the registry names for each component.
type Scheduling struct {
	SystemNodeSelector      map[string]string
	SystemTolerations       []corev1.Toleration
	AcceleratedNodeSelector map[string]string
	AcceleratedTolerations  []corev1.Toleration
}

// Input is everything that a bundle is made from.
type Input struct {
	Recipe     *recipe.Result
	Components []recipe.Component // in deploymentOrder
	Scheduling Scheduling
	// MayBeEmpty: what has no workload, and something else, is delivered too.
	MayBeEmpty bool
	// Split, if not nil, are the classes of components: argocd-oci and argocd-git deliver core and ops by a root
	// Application each, of which neither waits for the other.
	Split map[string]string
	// Helm is the major version of Helm by which a helm lane is to deliver; 0 for the one that the bundle
	// is made for.
	Helm int
	// PutIn says what the caller put into the components' values, a line each: the first overrides.
	PutIn []string
	// Charts is where the charts are read for rendering the expectation.
	Charts catalog.Source
	// Unrendered: no chart is read, so that the expectation has releases only, and nothing can be
	// verified by it.
	Unrendered bool
	// WholeDefinitions: of each CustomResourceDefinition its whole text is kept, for Object.Whole. They are megabytes.
	WholeDefinitions bool
	// ChartRepository, if set, replaces every component's own chart repository, e.g.
	// oci://127.0.0.1:5500/charts.
	ChartRepository string
	// PlainHTTP: the registries in ChartRepository and RepoURL speak http.
	PlainHTTP bool
	// Direct: the charts are pulled from the recipe's own repositories, of which only those on this
	// machine speak http.
	Direct bool
	// RepoURL and TargetRevision say where this bundle will be found once published, from the
	// controllers' side, e.g. oci://127.0.0.1:5500/aicr/eks-training and 1a2b3c4-argocd-oci.
	RepoURL        string
	TargetRevision string
	// Project is the Argo CD AppProject of the Applications. Empty: default, which Argo CD makes by
	// itself.
	Project string
	// KubeVersion that charts are rendered for, e.g. v1.36.1. Empty: Helm's default.
	KubeVersion string
	// APIs that charts see beside those that the bundle itself adds. Zero: Helm's default.
	APIs APIs

	// Given is what another program's bundle has in place of what would be generated here, by the
	// name of the release. Nil for a bundle that is generated.
	Given map[string]Given

	// Vendored are the charts that become part of the bundle, by the name of the component.
	Vendored map[string]Vendored

	prepared *plan // set by Prepare
}

// Vendored is a chart around a component's own, which is in it: its name, and its files besides
// values.yaml. It has the component's values below the name of that chart.
type Vendored struct {
	Chart string
	Files []File
}

// File is one file of a bundle.
type File struct {
	Path    string // slash separated, relative
	Mode    uint32 // 0644 or 0755
	Content []byte
}

// Release is one Helm release that must exist after deployment (in Flux too; in Argo CD: one
// Application).
type Release struct {
	Component    string
	Name         string
	Namespace    string
	Chart        string
	ChartVersion string
	Local        bool // the chart is inside the bundle
	// Carried is the name of the chart that a local one carries along, below which the values are;
	// empty if it carries none.
	Carried string
	// SeenVersion is the version that the chart's templates see, if it is another.
	SeenVersion string
	// FromOCI: the recipe's own source of the chart is an OCI registry.
	FromOCI bool
	// ChartFrom says, for people, where the chart source found the chart; empty for a local one.
	ChartFrom string
	DependsOn []string
	Given     Given // of Input.Given; zero in a generated bundle
	// DefinitionJobs are the hook Jobs of upgrades that may write CustomResourceDefinitions.
	DefinitionJobs []rendering.DefinitionJob
	UpgradeHooks   []Object // that Helm runs at upgrades; at installations, too, or not
}

// ValuePath is a value path that decides where a workload's pods go, and the place that set it.
type ValuePath struct {
	Path string
	Node NodeKind
	// Origin is the file that sets it; if no file does (Set is false), the place that declares the
	// component.
	Origin  recipe.Origin
	Set     bool
	Lacking bool // somebody else's bundle could set it and does not; Origin is the nearest place in its files
}

// Workload is a workload that must exist, with its pods.
type Workload struct {
	Component string
	Release   string
	Kind      string // Deployment, StatefulSet, DaemonSet, Job, CronJob or Pod
	Namespace string
	Name      string
	// Replicas is the number of pods; -1 for a DaemonSet: one on every node that Node (or, for
	// NodeAny, the pod template) admits.
	Replicas int
	Node     NodeKind
	PodSpec  corev1.PodSpec
	// Template is what made it: the chart's, e.g. cert-manager/templates/deployment.yaml, or the
	// recipe's manifest, by the name under which a person finds it. Manifest is nil for a chart's.
	Template string
	Manifest *recipe.Manifest
	// Chart has the template; nil if that is not known.
	Chart *chart.Chart
	// Operator is set for a workload that no chart contains but an operator makes from a custom
	// resource, e.g. "Prometheus monitoring/kube-prometheus-stack-prometheus".
	Operator string
	// Hook: a Helm hook. Ephemeral: it may be gone after it succeeded (hook-delete-policy).
	Hook      bool
	Ephemeral bool
	// Unhooked: it is no hook of Helm's, and Argo CD's own annotation lets it leave it out or delete it.
	Unhooked bool

	SelectorPaths   []ValuePath
	TolerationPaths []ValuePath
	// ForgottenPaths would bring tolerations that the pods lack, and the registry does not name
	// them (MarkMissingPaths). Origin is its entry.
	ForgottenPaths []ValuePath
	// Values are the values of the recipe itself that come out in the pod spec's selector, affinity
	// and resources.
	Values []SteeringSource
	// Plain: it is of files that know nothing of AICR, so that node types mean nothing to them.
	Plain bool
	// Built is set for a workload of a Kustomize component: the files that decide about its pods.
	Built *recipe.Place
}

// Object is one rendered object that must exist in the cluster.
type Object struct {
	Component string
	Release   string
	Template  string           // as Workload has it
	Manifest  *recipe.Manifest // likewise
	Chart     *chart.Chart     // likewise
	Hook      bool
	Ephemeral bool
	Object    *unstructured.Unstructured // namespace filled in for namespaced kinds without one
	// definition is the whole text of a CustomResourceDefinition that two releases own, or of each (WholeDefinitions).
	// They are megabytes, so that others have none.
	definition string
}

// Ref names the object, without the version of its API.
func (o *Object) Ref() result.Ref {
	return result.Ref{Group: o.Object.GroupVersionKind().Group, Kind: o.Object.GetKind(), Namespace: o.Object.GetNamespace(), Name: o.Object.GetName()}
}

// Object is the object with that reference; nil if there is none.
func (e *Expectation) Object(ref result.Ref) *Object {
	for i := range e.Objects {
		if e.Objects[i].Ref() == ref {
			return &e.Objects[i]
		}
	}
	return nil
}

// InCRDs reports whether it is of a chart's crds/, which Helm counts as no release's. One of templates/crds/ is
// a template as any other.
func (o *Object) InCRDs() bool {
	before, _, ok := strings.Cut(o.Template, "/crds/")
	return ok && !strings.Contains(before+"/", "/templates/")
}

func (o Object) shared() ownedObject {
	return ownedObject{Release: o.Release, Hook: o.Hook, Object: o.Object, Definition: o.definition, Before: o.definition != "" && !strings.Contains(o.Template, "/templates/")}
}

// Whole is the object with all of its content. Of a CustomResourceDefinition that only one release
// owns it is the head, as Object is, unless whole ones are kept (Input.WholeDefinitions).
func (o Object) Whole() (*unstructured.Unstructured, error) { return o.shared().Whole() }

// Delivered is an object by which a deployer's controllers deliver, and on which they report: an
// Application, a HelmRelease, a source.
type Delivered struct {
	result.Ref
	// Root: it is what makes the others, so that none of them comes without it.
	Root bool
	// Of is the name of the root that makes it, in a bundle with several; empty if there is one.
	Of string
	// DependsOn are the objects of the same list that the deployer was told to wait for, besides
	// the root.
	DependsOn []result.Ref
	// ValuesSource: an Application whose values are in the bundle's repository, which is its second
	// source.
	ValuesSource bool
}

// ClassValue is a value of a component that names a StorageClass.
type ClassValue struct {
	Component, Class, Path string
	Origin                 recipe.Origin
}

// Expectation is what the cluster must contain once the bundle is deployed. The gate compares the
// cluster with it, by name (docs/how-it-works.md, The expectation): it never asks the cluster what
// it should contain.
type Expectation struct {
	// ServedBefore are the APIs of the cluster before anything is delivered.
	ServedBefore []API
	Releases     []Release
	// Delivered is empty for a deployer that has no controllers. What comes first is applied or
	// made first.
	Delivered []Delivered
	Workloads []Workload
	Objects   []Object
	// Classes are the values that name a StorageClass: of claims that an operator makes, no object of the bundle has it.
	Classes []ClassValue
	// Made are the objects that operators make of Objects, workloads and others. No deployer knows
	// of them.
	Made []Object
	// DefinitionBytes is the size of all CustomResourceDefinitions among Objects, as their charts
	// have them.
	DefinitionBytes int
	// Overrides are the values that the harness put in and the recipe did not have, one line each
	// (docs/contributing/faults.md, F23).
	Overrides []string
	// Warnings are findings that do not stop a bundle: a scheduling path that no template uses, a
	// value that a chart does not have, an object that two components own.
	Warnings []string
	// NotVerified is what the charts that were there cannot show.
	NotVerified []string
	// Doomed is what the deployer would never deliver, as the bundle's files show.
	Doomed []argoapi.Refusal
	// Idle are patches and images of kustomizations that select no object.
	Idle []Idle
	// Applied is what Flux applies besides the releases.
	Applied []*unstructured.Unstructured
	// HealthChecks are what Kustomizations of Flux wait for, where objects are in their place.
	HealthChecks []fluxapi.Check
	// Repository: what is delivered is a GitOps repository, or a chart, and no recipe.
	Repository bool
	// NoPods: the user means it that nothing of it has pods. Otherwise a cell without one is no pass.
	NoPods bool
}

// Worded is a text about what is delivered with the word for it: texts call it the recipe.
func (e *Expectation) Worded(text string) string {
	if !e.Repository {
		return text
	}
	return recipeWords.Replace(text)
}

// recipeWords are how texts name a recipe, and what a repository is called instead.
var recipeWords = strings.NewReplacer("the recipe", "the repository", "The recipe", "The repository", "a recipe", "a repository")

// Idle is an entry of a kustomization, or of what a deployer writes into one, that selects no object.
type Idle struct {
	Of            result.Ref // what has it
	At            recipe.Origin
	Field         string // patches or images
	Selects, Near string // for people; Near is the object, or the image, that is most like it
	Named         bool   // it can only mean a certain object
}

// Bundle is what a deployer makes of a recipe.
type Bundle struct {
	Deployer    string
	Files       []File         // sorted by path; checksums.txt covers the others
	Charts      []*chart.Chart // the remote charts, to be pushed to ChartRepository
	Expectation Expectation
	// Installs are the Helm releases with their charts and values, in the order of deployment: what
	// deploy.sh does, for a caller that uses Helm as a library. The same in every deployer's
	// bundle.
	Installs []Install
	// Helm is the major version of Helm that delivers in a helm lane, or that helmfile runs, and HelmWhy the reason, if
	// it is not the default, 3.
	Helm    int
	HelmWhy string
	// Foreign is nil for a bundle that was generated here.
	Foreign *Foreign
}

// Install is one Helm release to install.
type Install struct {
	Release Release
	// Chart is as loaded from the chart source, or from the bundle's own files; it must be cloned
	// (archive.Clone) before it is given to Helm, which changes the charts that it renders.
	Chart *chart.Chart
	// Values are those of the bundle's values.yaml; nil for a local chart, whose own file has them.
	Values map[string]any
	// Sources are, by the names of a local chart's templates, the manifests that they were made of.
	Sources map[string]*recipe.Manifest
	// ForceConflicts: deploy.sh passes --force-conflicts where Helm is 4.
	ForceConflicts bool
	// Ref and RepoURL name the chart for Helm's command line and --repo; empty for a local chart.
	Ref     string
	RepoURL string
}

// TemplateOf is the text of an object's template, or file of crds/, by the name that Helm gives it;
// empty if the charts have none.
func TemplateOf(installs []Install, o *Object) string {
	i := slices.IndexFunc(installs, func(in Install) bool { return in.Release.Name == o.Release })
	if i < 0 {
		return ""
	}
	return manifestline.Template(installs[i].Chart, o.Template)
}

// Deployer turns a resolved recipe into the files by which one delivery tool deploys it.
type Deployer interface {
	Name() string
	// Bundle never touches a cluster or the network. An empty expectation is an error
	// (docs/contributing/faults.md, F03).
	Bundle(ctx context.Context, in Input) (*Bundle, error)
}

// Main reports whether a release is its component's own, and not one of manifests before its chart.
func (e *Expectation) Main(r Release) bool {
	return r.Name == r.Component || !slices.ContainsFunc(e.Releases, func(other Release) bool { return other.Component == r.Component && other.Name == r.Component })
}

// Given is what another program's bundle has for a release (package intake).
type Given struct {
	// Chart is inside the bundle, with its values; nil for a chart of the chart source.
	Chart *chart.Chart
	// HelmName is the release's name in Helm, if that is not its own. Path is where a local chart is
	// in the bundle, if not at the deployer's usual place.
	HelmName, Path string
	Whole          bool // the chart's values are the component's, and not below its name
	// Defaults are the chart's own values, where the component's are in their place; nil if they are not.
	Defaults map[string]any
	Under    string // the name that they are below, if it is another
	Complete bool   // nothing is added to the values: whoever made the bundle has done that
	// ForceConflicts: the bundle's script, or helmfile, passes --force-conflicts to Helm.
	ForceConflicts bool
	// CRDScript is a script of the bundle that applies the CRDs of the chart's crds/ before an
	// upgrade; empty if there is none.
	CRDScript string
	// Unawaited: Flux or helmfile does not wait until the release's objects are ready.
	Unawaited bool
	// File is helmfile's file that has the release, and Compared says that helm-diff, which looks at all new
	// releases of a file before the first of them is installed, has the API server's kinds checked: it does
	// unless disableValidation or disableValidationOnInstall is true.
	File     string
	Compared bool
	// Within is how long Flux waits until the release's objects are ready, before the release has failed;
	// 0 where it does not wait.
	Within time.Duration
	// Source is the OCIRepository from which Flux has the release's chart, if it does, and Seen gives the
	// version that the chart's templates see then.
	Source string
	Seen   func(*chart.Chart) (string, error)
	// Post is what Flux does to the release's objects, PostPlace where an entry of one of its steps is.
	Post      render.Post
	PostPlace func(step int, field string, index int) recipe.Origin
}

// Foreign is what a Bundle has besides if another program made it.
type Foreign struct {
	// Maker says, for people, where the bundle is from. Empty for an app of this checkout.
	Maker string
	// Roots are the objects by which the deployer is started, Values those with which a wrapper
	// chart is installed. Both are nil if they are as in a generated bundle.
	Roots  []*unstructured.Unstructured
	Values map[string]any
	// AnyNode is the number of workloads of which nothing says on which kind of node they belong.
	AnyNode int
	// Notes are remarks on the bundle that are no finding about it.
	Notes []string
	// SwitchedOff are the objects of components that its maker was told to leave out, since simulated nodes cannot
	// do what they are for: they are tried, and not delivered.
	SwitchedOff []Object
	// Original are the files before they were changed for the cell, if no directory has them.
	Original []File
}

// Tag is the chart's version as the tag that Argo CD asks a cell's registry for, which has _ for +. From
// the recipe's own OCI registry Argo CD would ask for the +, which it refuses.
func (r Release) Tag() string {
	if r.FromOCI {
		return r.ChartVersion
	}
	return strings.ReplaceAll(r.ChartVersion, "+", "_")
}

// ValuesKey is the key of a local chart's values.yaml that has the component's values.
func (r Release) ValuesKey() string { return cmp.Or(r.Carried, r.Given.Under, r.Component) }

// InHelm is the name of the release in Helm, and to the templates of its chart.
func (r Release) InHelm() string { return cmp.Or(r.Given.HelmName, r.Name) }

// Named is the input with other names of releases in Helm, by the name in the recipe.
func (in Input) Named(names map[string]string) Input {
	given := maps.Clone(in.Given)
	if given == nil {
		given = map[string]Given{}
	}
	for release, name := range names {
		g := given[release]
		g.HelmName = name
		given[release] = g
	}
	in.Given, in.prepared = given, nil
	return in
}

// PathOr is where a local chart is in the bundle: the deployer's usual place, unless another program
// made the bundle and put it elsewhere.
func (r Release) PathOr(usual string) string { return cmp.Or(r.Given.Path, usual) }
