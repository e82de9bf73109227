package matrix

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/apiproxy"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// argoCDProxy is the proxy's name among the components.
const argoCDProxy = string(apiproxy.ArgoCD) + "-api-proxy"

// proxies are the faults of the proxies between controllers and the API server, and those that they
// could hide.
func proxies() []fault {
	argo := []string{bundle.ArgoCDOCI}
	return []fault{
		{
			id: "F67", what: "the proxy before Argo CD leaves out a read, and its schema stays old", verdict: "as without the proxy: a CRD that came or changed at any moment is known",
			seeds: []seed{
				{name: "last of many", lanes: argo, recipe: manyCRDs, want: red(reason.DeployFailed, "sizee")},
				{name: "two at once", nightly: argo, recipe: usesWidgets(2), published: crdStorm(2, 0, false)},
				{name: "watch breaks", nightly: argo, recipe: usesWidgets(6), published: crdStorm(6, 3, true)},
				{name: "changed later", nightly: argo, recipe: usesWidgets(1), published: crdStorm(1, 1, false)},
			},
			tests: []string{"internal/infra/apiproxy TestStorm", "internal/infra/apiproxy TestSchema_RequestTooEarly", "internal/infra/apiproxy TestSchema_WatchEndsBeforeRequest", "internal/infra/apiproxy TestSchema_WatchEnds"},
		},
		{
			id: "F68", what: "the proxy before Flux holds a read until an object is ready that never is", verdict: "the same verdict, reason and message as without the proxy",
			seeds: []seed{
				{name: "proxy", lanes: []string{bundle.FluxOCI}, recipe: neverRunning, runner: stage(neverRuns), bundle: shortTimeout, want: notReady},
				{name: "plain", nightly: []string{bundle.FluxOCI}, recipe: neverRunning, runner: func(r *Runner) {
					stage(neverRuns)(r)
					embeddedOf(r).PlainControllers = true
				}, bundle: shortTimeout, want: notReady},
			},
			tests: []string{"internal/infra/apiproxy TestHold_NeverReady", "internal/infra/apiproxy TestHold_UntilReady", "internal/infra/apiproxy TestHold_WatchEnds", "internal/infra/apiproxy TestHold_Forwarded"},
		},
		{
			id: "F69", what: "a proxy between a controller and the API server ends, or another program uses it", verdict: "fails with the proxy named; no connection without the client's certificate",
			seeds: []seed{{lanes: argo, deployed: func(_ context.Context, env *lane.Env) error {
				port, err := proxyPort(env)
				if err != nil {
					return err
				}
				return testkit.ShutListener(port)
			}, want: outcomeWanted{reason: reason.ComponentDied, cause: []string{argoCDProxy + " ended unexpectedly (accept tcp "}, check: func(t *testing.T, r result.Result) {
				t.Helper()
				testkit.WantText(t, "component", r.Component, argoCDProxy)
			}}}},
			tests: []string{"internal/infra/apiproxy TestDeath", "internal/infra/apiproxy TestProxy_ClientWithoutCertificate"},
		},
	}
}

// proxyPort is the port of the proxy before Argo CD: that of the kubeconfig that the controller
// has.
func proxyPort(env *lane.Env) (int, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", filepath.Join(filepath.Dir(env.Cluster.Kubeconfig()), argoCDProxy+".kubeconfig"))
	if err != nil {
		return 0, err
	}
	server, err := url.Parse(cfg.Host)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(server.Port())
}

// widgetKind is the CRD of one of several kinds of widgets, with one field in its spec.
func widgetKind(n int, field string) string {
	crd := strings.NewReplacer("widgets", fmt.Sprintf("widget%ds", n), "Widget", fmt.Sprintf("Widget%d", n), "singular: widget", fmt.Sprintf("singular: widget%d", n)).Replace(widgetCRD)
	return strings.Replace(crd, "x-kubernetes-preserve-unknown-fields: true", "properties: {spec: {type: object, properties: {"+field+": {type: integer}}}}", 1)
}

func widgetOf(n int, field string) string {
	return strings.NewReplacer("Widget", fmt.Sprintf("Widget%d", n), "size", field).Replace(widget)
}

// manyCRDs installs CRDs and a custom resource of the last one, with a field that it does not have.
func manyCRDs(r *tinyRecipe) {
	const many = 12
	b := r.part("b")
	b.crds = map[string]string{}
	for n := range many {
		b.crds[fmt.Sprintf("%02d.yaml", n)] = widgetKind(n, "size")
	}
	b.add("widget.yaml", widgetOf(many-1, "sizee"))
}

// usesWidgets has a custom resource of each of n kinds, whose CRDs are not the recipe's.
func usesWidgets(n int) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		for i := range n {
			r.part("b").add(fmt.Sprintf("widget%d.yaml", i), widgetOf(i, "colour"))
		}
	}
}

// crdStorm installs n CRDs at once before Argo CD has its first Application, for which it reads the
// cluster for the first time, and then gives the last so many the field that their custom resources
// use. cut breaks the connections of the controller's proxy in between.
func crdStorm(n, changed int, cut bool) func(context.Context, *lane.Env) error {
	return func(ctx context.Context, env *lane.Env) error {
		apply := func(from int, field func(n int) string) error {
			group, ctx := errgroup.WithContext(ctx)
			for i := from; i < n; i++ {
				group.Go(func() error {
					o := &unstructured.Unstructured{}
					if err := yaml.Unmarshal([]byte(widgetKind(i, field(i))), &o.Object); err != nil {
						return err
					}
					return env.Clients.Apply(ctx, crdGVR, o)
				})
			}
			return group.Wait()
		}
		if err := apply(0, func(i int) string {
			if i >= n-changed {
				return "size"
			}
			return "colour"
		}); err != nil {
			return err
		}
		if cut {
			port, err := proxyPort(env)
			if err != nil {
				return err
			}
			if err := testkit.ShutConnections(port); err != nil {
				return err
			}
		}
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("widget%ds.faults.example.com", i))
		}
		if err := env.Clients.WaitCRDs(ctx, names, time.Minute); err != nil {
			return err
		}
		return apply(n-changed, func(int) string { return "colour" })
	}
}

var crdGVR = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// neverRunning has a pod that never runs in a HelmRelease whose time is short (shortTimeout), so
// that Flux itself has the last word.
func neverRunning(r *tinyRecipe) {
	r.part("b").edit("labels: {app: {{ .Release.Name }}}}\n    spec:", "labels: {app: {{ .Release.Name }}, faults: never-runs}}\n    spec:")
}

func shortTimeout(b *bundle.Bundle) error {
	return replaceIn("b/helmrelease.yaml", "timeout: 5m", "timeout: 12s")(b)
}

var notReady = red(reason.DeployFailed, "HelmRelease b: ", "timeout waiting for: [Deployment/b/b status: 'InProgress'")
