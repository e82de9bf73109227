package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/fluxapi"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/shippedtest"
)

// releasedAs is a lane whose chart renders a Deployment and a ConfigMap after its release.
func releasedAs(t *testing.T, deployer, release string, change func(object string) string) Lane {
	t.Helper()
	text := func(release string) []string {
		return []string{
			fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: %[1]s-web}, spec: {replicas: 1, template: {spec: {serviceAccountName: %[1]s, containers: [{name: %[1]s, image: web}], volumes: [{name: c, configMap: {name: %[1]s-config}}]}}}}`, release),
			`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: ns, name: made}, spec: {replicas: 1}}`,
			fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: %[1]s-config}, data: {url: "http://%[1]s-web"}}`, release),
		}
	}
	live := taken(t)
	for _, o := range text(release) {
		// What the API server adds is not in a rendering.
		o = strings.Replace(change(o), "serviceAccountName", fmt.Sprintf("serviceAccount: %s, serviceAccountName", release), 1)
		o = strings.Replace(o, "name: made", fmt.Sprintf("name: made, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: %s-web, uid: x}]", release), 1)
		o = strings.Replace(o, "image: web}", "image: web, terminationMessagePath: /dev/termination-log}", 1)
		put(t, live, testkit.Parsed(t, o), false)
	}
	r := bundle.Release{Component: "app", Name: "app", Namespace: "ns"}
	if release != r.Name {
		r.Given.HelmName = release
	}
	live.Releases = []bundle.Release{r}
	live.RenderAs = func(_ context.Context, names map[string]string) ([]bundle.Object, error) {
		name := release
		if names["app"] != "" {
			name = names["app"]
		}
		var all []bundle.Object
		for _, o := range text(name) {
			all = append(all, bundle.Object{Release: "app", Template: "t.yaml", Object: testkit.Parsed(t, o)})
		}
		return all, nil
	}
	live.Render = func(ctx context.Context) ([]bundle.Object, error) { return live.RenderAs(ctx, nil) }
	return lanePassed("a", deployer, live)
}

// What a release's name decides in Flux's lane, where helm-controller makes the name up, is
// declared; anything else in the same objects is not, nor another lane's or another name.
func TestFluxNames(t *testing.T) {
	same := func(o string) string { return o }
	other := func(from, to string) func(string) string {
		return func(o string) string { return strings.Replace(o, from, to, 1) }
	}
	for name, tc := range map[string]struct {
		first, second Lane
		differences   int
		cause         string // none: passed
	}{
		"made up": {releasedAs(t, "helm", "app", same), releasedAs(t, "flux-oci", "ns-app", same), 8, ""},
		"made up, in the lane that others are compared with": {releasedAs(t, "flux-git", "ns-app", same), releasedAs(t, "argocd-git", "app", same), 8, ""},
		"in both":                {releasedAs(t, "flux-oci", "ns-app", same), releasedAs(t, "flux-git", "ns-app", same), 0, ""},
		"a value besides":        {releasedAs(t, "helm", "app", same), releasedAs(t, "flux-oci", "ns-app", other("replicas: 1", "replicas: 2")), 0, "Deployment ns/app-web  spec.replicas  helm: 1; flux-oci: 2"},
		"another value there":    {releasedAs(t, "helm", "app", same), releasedAs(t, "flux-oci", "ns-app", other("http://ns-app-web", "http://elsewhere")), 0, "ConfigMap ns/app-config  data.url"},
		"its own name kept":      {releasedAs(t, "helm", "app", same), releasedAs(t, "flux-oci", "ns-app", other("http://ns-app-web", "http://app-web")), 7, ""},
		"a name that was chosen": {releasedAs(t, "helm", "app", same), releasedAs(t, "flux-oci", "mine", same), 0, "ConfigMap ns/app-config  helm: there; flux-oci: nothing"},
		"another lane":           {releasedAs(t, "helm", "app", same), releasedAs(t, "argocd-oci", "ns-app", same), 0, "ConfigMap ns/app-config  helm: there; argocd-oci: nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			r := compareAll(t, []Lane{tc.first, tc.second})[1]
			if !strings.Contains(r.Cause, tc.cause) || (r.Status == result.Passed) != (tc.cause == "") || tc.cause == "" && r.DeclaredDifferences != tc.differences {
				t.Errorf("got %s: %s, with %d declared differences %q", r.Status, r.Cause, r.DeclaredDifferences, r.Notes)
			}
			if tc.cause == "" && tc.differences > 0 && !strings.Contains(strings.Join(r.Notes, "\n"), "the HelmRelease has no releaseName") {
				t.Errorf("the notes do not name the reason: %q", r.Notes)
			}
		})
	}
}

// A version with a v is one without, in the labels of versions and nowhere else.
func TestVersionSpelling(t *testing.T) {
	with := func(key, value string) *Captured {
		return taken(t, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: c, labels: {%s: %q}}}`, key, value))
	}
	for name, tc := range map[string]struct {
		key, a, b string
		same      bool
	}{
		"a chart":         {"helm.sh/chart", "cert-manager-v1.17.2", "cert-manager-1.17.2", true},
		"the other way":   {"helm.sh/chart", "cert-manager-1.17.2", "cert-manager-v1.17.2", true},
		"an app":          {"app.kubernetes.io/version", "v1.2.3", "1.2.3", true},
		"another version": {"app.kubernetes.io/version", "v1.2.3", "1.2.4", false},
		"no version":      {"app.kubernetes.io/version", "vnext", "next", false},
		"two":             {"helm.sh/chart", "a-vv1", "a-1", false},
		"another label":   {"version", "v1.2.3", "1.2.3", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := compareAll(t, []Lane{lanePassed("a", "helm", with(tc.key, tc.a)), lanePassed("a", "argocd-oci", with(tc.key, tc.b))})[1]
			if (r.Status == result.Passed) != tc.same || (r.DeclaredDifferences == 1) != tc.same {
				t.Errorf("got %s: %s, with %d declared differences", r.Status, r.Cause, r.DeclaredDifferences)
			}
		})
	}
}

// An object that only Flux's bundle has as a hook of Helm is the same object; other annotations are
// not covered, nor are hooks that differ between other lanes or in kind.
func TestFluxHooks(t *testing.T) {
	with := func(annotations string) *Captured {
		return taken(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: c"+annotations+"}}")
	}
	const hook = `"helm.sh/hook": "post-install,post-upgrade", "helm.sh/hook-weight": "5"`
	for name, tc := range map[string]struct {
		lane, a, b  string
		differences int
		same        bool
	}{
		"only in Flux":      {"flux-oci", "", ", annotations: {" + hook + "}", 1, true},
		"beside another":    {"flux-git", ", annotations: {a: b}", ", annotations: {a: b, " + hook + "}", 2, true},
		"another as well":   {"flux-oci", "", ", annotations: {a: b, " + hook + "}", 0, false},
		"another hook":      {"flux-oci", `, annotations: {"helm.sh/hook": pre-install}`, `, annotations: {"helm.sh/hook": post-install}`, 0, false},
		"in another lane":   {"argocd-oci", "", ", annotations: {" + hook + "}", 0, false},
		"another's, beside": {"flux-oci", ", annotations: {a: b}", ", annotations: {a: c, " + hook + "}", 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := compareAll(t, []Lane{lanePassed("a", "helm", with(tc.a)), lanePassed("a", tc.lane, with(tc.b))})[1]
			if (r.Status == result.Passed) != tc.same || r.DeclaredDifferences != tc.differences {
				t.Errorf("got %s: %s, with %d declared differences", r.Status, r.Cause, r.DeclaredDifferences)
			}
		})
	}
}

// The charts of a whole recipe, as AICR's CLI has them delivered through Flux: without the name of a
// release.
func TestFluxNames_WholeRecipe(t *testing.T) {
	store, charts := shippedtest.Recipes(t), shippedtest.Charts(t)
	res, err := store.ResolveName("eks-training")
	if err != nil {
		t.Fatal(err)
	}
	components, err := store.Components(res)
	if err != nil {
		t.Fatal(err)
	}
	in := bundle.Input{Recipe: res, Components: components, Scheduling: bundle.KwokScheduling(), Charts: charts, PlainHTTP: true, KubeVersion: "v1.36.1", APIs: bundle.StackAPIs()}
	deployed := func(in bundle.Input, deployer string) Lane {
		render := func(ctx context.Context, names map[string]string) (bundle.Expectation, error) {
			all, err := bundle.ByName([]string{deployer})
			if err != nil {
				return bundle.Expectation{}, err
			}
			b, err := all[0].Bundle(ctx, in.Named(names).InRegistry("127.0.0.1:5500", "127.0.0.1:5500", deployer))
			if err != nil {
				return bundle.Expectation{}, err
			}
			return b.Expectation, nil
		}
		e, err := render(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		live := New()
		live.Releases = e.Releases
		for _, o := range slices.Concat(e.Objects, e.Made) {
			put(t, live, o.Object, o.Ephemeral)
		}
		live.RenderAs = func(ctx context.Context, names map[string]string) ([]bundle.Object, error) {
			e, err := render(ctx, names)
			return slices.Concat(e.Objects, e.Made), err
		}
		live.Render = func(ctx context.Context) ([]bundle.Object, error) {
			e, err := render(ctx, nil)
			return e.Objects, err
		}
		return lanePassed("a", deployer, live)
	}
	helm := deployed(in, bundle.Helm)
	names := map[string]string{}
	for _, r := range helm.Live.Releases {
		names[r.Name] = fluxapi.ReleaseName(r.Namespace, r.Name)
	}
	flux := deployed(in.Named(names), bundle.FluxOCI)
	r := compareAll(t, []Lane{helm, flux})[1]
	if r.Status != result.Passed || r.DeclaredDifferences < 100 {
		t.Errorf("got %s with %d declared differences of %d objects: %s\n%s", r.Status, r.DeclaredDifferences, r.ComparedObjects, r.Cause, strings.Join(r.Details, "\n"))
	}
	t.Logf("%d declared differences in %d objects", r.DeclaredDifferences, r.ComparedObjects)
}
