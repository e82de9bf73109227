package daytwo

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/testkit"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

func upgradeHooksBundleOf(t *testing.T, texts ...string) *bundle.Bundle {
	t.Helper()
	b := &bundle.Bundle{}
	r := bundle.Release{Component: "b", Name: "b", Namespace: "ns"}
	for _, text := range texts {
		o := bundle.Object{Component: "b", Release: "b", Template: "b/templates/x.yaml", Object: testkit.Parsed(t, text)}
		if hook := o.Object.GetAnnotations()["helm.sh/hook"]; hook != "" {
			o.Hook = true
			r.UpgradeHooks = append(r.UpgradeHooks, o)
			continue
		}
		b.Expectation.Objects = append(b.Expectation.Objects, o)
	}
	b.Expectation.Releases = []bundle.Release{r}
	return b
}

func hook(annotations, spec string) string {
	return `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: hook, annotations: {` + annotations + `}}, spec: {template: {spec: {` + spec + `}}}}`
}

// A hook Job that deletes what cannot be changed is played: its pod is simulated, and the API server refused
// what it clears the way for. One that does not say so, or may not, is not.
func TestClear(t *testing.T) {
	const (
		set     = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: ns, name: db}, spec: {serviceName: db}}`
		role    = `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: ns, name: cleaner, annotations: {helm.sh/hook: pre-upgrade}}, rules: [{apiGroups: [apps], resources: [statefulsets], verbs: [delete]}]}`
		binding = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: ns, name: cleaner, annotations: {helm.sh/hook: pre-upgrade}}, roleRef: {kind: Role, name: cleaner}, subjects: [{kind: ServiceAccount, name: cleaner}]}`
	)
	job := func(command string) string {
		return hook("helm.sh/hook: pre-upgrade", `serviceAccountName: cleaner, containers: [{name: main, image: kubectl, command: [sh, -c], args: ["`+command+`"]}]`)
	}
	for name, tc := range map[string]struct {
		now     []string
		accepts bool
		order   lane.Order
		gone    bool
	}{
		"deletes":             {now: []string{set, role, binding, job("kubectl delete statefulset db --cascade=orphan")}, gone: true},
		"by its short name":   {now: []string{set, role, binding, job("kubectl -n ns delete sts/db --ignore-not-found")}, gone: true},
		"another":             {now: []string{set, role, binding, job("kubectl delete statefulset cache")}},
		"another kind":        {now: []string{set, role, binding, job("kubectl delete deployment db")}},
		"reads":               {now: []string{set, role, binding, job("kubectl get statefulset db")}},
		"may not":             {now: []string{set, role, job("kubectl delete statefulset db")}},
		"can be changed":      {now: []string{set, role, binding, job("kubectl delete statefulset db")}, accepts: true},
		"Argo CD heals":       {now: []string{set, role, binding, job("kubectl delete statefulset db")}, order: lane.Order{ArgoCD: true}},
		"nothing is deleted":  {now: []string{set, role, binding}},
		"after the upgrade":   {now: []string{set, role, binding, strings.Replace(job("kubectl delete statefulset db"), "pre-upgrade", "post-upgrade", 1)}},
		"of a later argument": {now: []string{set, role, binding, job("echo db; kubectl delete statefulset other")}},
	} {
		t.Run(name, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), testkit.Parsed(t, set))
			client.PrependReactor("patch", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
				if tc.accepts {
					return true, &unstructured.Unstructured{Object: map[string]any{}}, nil
				}
				return true, nil, apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "db: spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden", nil)
			})
			deleted := false
			client.PrependReactor("delete", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
				deleted = true
				return false, nil, nil
			})
			notes, err := Bundles{upgradeHooksBundleOf(t, set), upgradeHooksBundleOf(t, tc.now...)}.Clear(context.Background(), &lane.Env{Clients: &infra.Clients{Dynamic: client}}, tc.order)
			if err != nil || deleted != tc.gone || (len(notes) > 0) != tc.gone {
				t.Fatalf("got %t, %q, %v", deleted, notes, err)
			}
			if tc.gone {
				testkit.WantText(t, "not verified", notes[0], "StatefulSet ns/db cannot be changed, and hook Job ns/hook (pre-upgrade) of release b, whose pod is simulated, deletes it")
			}
		})
	}
}
