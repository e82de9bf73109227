package matrix

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// applicationSets are faults that only a lane with an ApplicationSet can have.
func applicationSets() []fault {
	through := []string{bundle.ArgoCDAppSet}
	return []fault{
		{
			id: "F70", what: "an AppProject that does not permit what the recipe delivers", verdict: "fails, the Application and what its project does not permit named",
			seeds: []seed{{lanes: through, bundle: replaceIn(argoapi.ProjectFile, "  - namespace: b\n", "  - namespace: elsewhere\n"),
				want: red(reason.DeployFailed, "Application b: InvalidSpecError: ", "namespace 'b' do not match any of the allowed destinations in project 'aicr-stack'")}},
			tests: []string{"internal/bundle TestAppSetProject"},
		},
		{
			id: "F71", what: "a generator that is empty: no cluster has the label of an ApplicationSet", verdict: "fails at once, the label named; no Application is not a pass",
			seeds: []seed{{lanes: through, bundle: without(argoapi.ClusterFile),
				want: red(reason.DeployFailed, "ApplicationSet aicr-stack: generated 0 applications: no cluster has the label environment=gpu-enabled").and("kubectl apply -f local-cluster-secret.yaml")}},
			tests: []string{"internal/matrix/lane/argocd TestAppSetPoll"},
		},
		{
			id: "F72", what: "two ApplicationSets for one Application; an ApplicationSet that a recipe includes", verdict: "fails, the other owner named; what the recipe includes is rejected before a cluster exists, and by the API server where only the installation shows it",
			seeds: []seed{
				{name: "two owners", nightly: through, bundle: secondOwner, published: applicationOf("b"), want: red(reason.DeployFailed, "ApplicationSet aicr-stack: ", "already owned by another ApplicationSet controller other")},
				{name: "of the recipe", lanes: through, nightly: []string{bundle.Helm}, recipe: func(r *tinyRecipe) { r.part("b").add("appsets.yaml", otherSet("mine", "x", "oci://127.0.0.1:1/x")) },
					want: red(reason.BundleFailed, "tiny.yaml:", "component b: ApplicationSet mine (b/templates/appsets.yaml:", ") would make Applications besides those of the bundle")},
				{name: "once installed", nightly: through, bundle: setsOnceInstalled,
					want: red(reason.DeployFailed, "Application c: ApplicationSet argocd/", "would make Applications besides those of the bundle").and("ApplicationSet argocd/mine", "ApplicationSet argocd/aicr-stack")},
			},
			tests: []string{"internal/matrix/lane/argocd TestAppSetPoll"},
		},
	}
}

// setsOnceInstalled has c's chart make two ApplicationSets that no rendering has seen, in an
// AppProject that permits them.
func setsOnceInstalled(b *bundle.Bundle) error {
	return errors.Join(
		add("c/chart/templates/appsets.yaml", otherSet("mine", "x", "oci://127.0.0.1:1/x")+"---\n"+otherSet(argoapi.AppSetName, "x", "oci://127.0.0.1:1/x"))(b),
		replaceIn(argoapi.ProjectFile, "  - namespace: b\n", "  - namespace: argocd\n    server: '*'\n  - namespace: b\n")(b),
	)
}

// otherSet is an ApplicationSet that makes one Application.
func otherSet(name, application, repoURL string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %s, namespace: argocd}
spec:
  generators: [{list: {elements: [{app: %s}]}}]
  template:
    metadata: {name: '{{ "{{app}}" }}'}
    spec:
      project: default
      source: {repoURL: %q, targetRevision: "1", path: .}
      destination: {server: "https://kubernetes.default.svc", namespace: default}
`, name, application, repoURL)
}

// secondOwner has another ApplicationSet make the Application b, before the bundle's comes. It is
// among the settings, where nothing is rejected yet.
func secondOwner(b *bundle.Bundle) error {
	for i, f := range b.Files {
		if f.Path != argoapi.ProjectFile {
			continue
		}
		source := regexp.MustCompile(`oci://\S+`).Find(f.Content)
		other := regexp.MustCompile(`\{\{ "(.*)" \}\}`).ReplaceAllString(otherSet("other", "b", string(source)), "$1") // it is no template of a chart here
		b.Files[i].Content = []byte(string(f.Content) + "---\n" + other)
		return nil
	}
	return fmt.Errorf("the bundle has no %s: fix this test", argoapi.ProjectFile)
}

// applicationOf waits until there is an Application of that name: before the bundle's
// ApplicationSet, so that it is the other's.
func applicationOf(name string) func(context.Context, *lane.Env) error {
	return func(ctx context.Context, env *lane.Env) error {
		return wait.For(ctx, "Application "+name+" of another ApplicationSet", wait.Options{Budget: 60 * time.Second, Interval: 100 * time.Millisecond}, func(ctx context.Context) wait.Result {
			if _, err := env.Clients.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
				return wait.NotYet("%v", err)
			}
			return wait.Done()
		})
	}
}
