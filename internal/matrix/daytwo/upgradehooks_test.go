package daytwo

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"

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

const (
	configMap = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: scripts}, data: {a: b}}`
	account   = `{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: ns, name: upgrader}}`
)

func hook(annotations, spec string) string {
	return `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: hook, annotations: {` + annotations + `}}, spec: {template: {spec: {` + spec + `}}}}`
}

// A hook that runs before an upgrade and needs what the new chart has for the first time waits for ever: it
// was green, since no kubelet looks, and a first installation does not run it.
func TestLate(t *testing.T) {
	reads := `containers: [{name: main, image: x, envFrom: [{configMapRef: {name: scripts}}]}]`
	for name, tc := range map[string]struct {
		before, now []string
		want        string
	}{
		"new":               {nil, []string{configMap, hook("helm.sh/hook: pre-upgrade", reads)}, "the upgrade from main: Job ns/hook (b): takes its environment from ConfigMap ns/scripts, which is new, and which the same release creates only after this hook (pre-upgrade)"},
		"a new account":     {nil, []string{account, hook("helm.sh/hook: pre-upgrade", "serviceAccountName: upgrader, containers: []")}, "Job ns/hook (b): runs as ServiceAccount ns/upgrader, which is new"},
		"it was there":      {[]string{configMap}, []string{configMap, hook("helm.sh/hook: pre-upgrade", reads)}, ""},
		"after the upgrade": {nil, []string{configMap, hook("helm.sh/hook: post-upgrade", reads)}, ""},
		"nobody makes it":   {nil, []string{hook("helm.sh/hook: pre-upgrade", reads)}, ""},
		"optional":          {nil, []string{configMap, hook("helm.sh/hook: pre-upgrade", strings.Replace(reads, "name: scripts", "name: scripts, optional: true", 1))}, ""},
		"an earlier hook": {nil, []string{strings.Replace(configMap, "name: scripts", `name: scripts, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "-1"}`, 1),
			hook("helm.sh/hook: pre-upgrade", reads)}, ""},
		"a later hook and an object": {nil, []string{strings.Replace(configMap, "name: scripts", `name: scripts, annotations: {helm.sh/hook: pre-upgrade, helm.sh/hook-weight: "5"}`, 1), configMap,
			hook("helm.sh/hook: pre-upgrade", reads)}, "which is new"},
		"Argo CD's own": {nil, []string{configMap, hook("helm.sh/hook: pre-upgrade, argocd.argoproj.io/hook: PostSync", reads)}, ""},
	} {
		err := HookBundles{upgradeHooksBundleOf(t, tc.before...), upgradeHooksBundleOf(t, tc.now...)}.Late("the upgrade from main")
		if (err == nil) != (tc.want == "") || err != nil && (reason.Of(err) != reason.UpgradeFailed || !strings.Contains(result.VerdictOf(err).Cause, tc.want)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	fresh := upgradeHooksBundleOf(t)
	fresh.Expectation.Releases = nil
	if err := (HookBundles{fresh, upgradeHooksBundleOf(t, configMap, hook("helm.sh/hook: pre-upgrade", reads))}).Late(""); err != nil {
		t.Errorf("a release that is installed: got %v", err)
	}
}

type upgradeHooksArgoLane struct{ lanetest.Lane }

func (*upgradeHooksArgoLane) Controllers() []infra.ControllerKind {
	return []infra.ControllerKind{infra.ArgoCDControllers}
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
		lane    lane.Lane
		gone    bool
	}{
		"deletes":             {now: []string{set, role, binding, job("kubectl delete statefulset db --cascade=orphan")}, gone: true},
		"by its short name":   {now: []string{set, role, binding, job("kubectl -n ns delete sts/db --ignore-not-found")}, gone: true},
		"another":             {now: []string{set, role, binding, job("kubectl delete statefulset cache")}},
		"another kind":        {now: []string{set, role, binding, job("kubectl delete deployment db")}},
		"reads":               {now: []string{set, role, binding, job("kubectl get statefulset db")}},
		"may not":             {now: []string{set, role, job("kubectl delete statefulset db")}},
		"can be changed":      {now: []string{set, role, binding, job("kubectl delete statefulset db")}, accepts: true},
		"Argo CD heals":       {now: []string{set, role, binding, job("kubectl delete statefulset db")}, lane: &upgradeHooksArgoLane{}},
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
			if tc.lane == nil {
				tc.lane = &lanetest.Lane{}
			}
			notes, err := HookBundles{upgradeHooksBundleOf(t, set), upgradeHooksBundleOf(t, tc.now...)}.Judge(context.Background(), &lane.Env{Clients: &infra.Clients{Dynamic: client}}, tc.lane, "the upgrade")
			if err != nil || deleted != tc.gone || (len(notes) > 0) != tc.gone {
				t.Fatalf("got %t, %q, %v", deleted, notes, err)
			}
			if tc.gone {
				testkit.WantText(t, "not verified", notes[0], "StatefulSet ns/db cannot be changed, and hook Job ns/hook (pre-upgrade) of release b, whose pod is simulated, deletes it")
			}
		})
	}
}
