package daytwo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// A base that is red by its own fault is no verdict on the upgrade; what says nothing about the base
// stays what it is.
func TestBaseFailed(t *testing.T) {
	for from, want := range map[reason.Reason]reason.Reason{
		reason.DeployFailed: reason.BaseFailed, reason.SchedulingFailed: reason.BaseFailed, reason.SyncTimeout: reason.BaseFailed, reason.BundleFailed: reason.BaseFailed,
		reason.JobDeadline: reason.JobDeadline, reason.ClusterFailed: reason.ClusterFailed, reason.MachineTooSlow: reason.MachineTooSlow, reason.Interrupted: reason.Interrupted,
	} {
		v := result.VerdictOf(BaseFailed("main", reason.New(from, "broken\nmore")))
		if v.Reason != want {
			t.Errorf("%s: got %s, want %s", from, v.Reason, want)
		}
		if want == reason.BaseFailed && (v.Status != result.NotRun || v.Cause != "no verdict on the upgrade: main, which runs before it, ended with "+string(from)+": broken" || v.Details[0] != "more") {
			t.Errorf("%s: got %s: %s, %q", from, v.Status, v.Cause, v.Details)
		}
	}
	if BaseFailed("main", nil) != nil {
		t.Error("no error: want none")
	}
}

// What is refused names the object, the field and the template.
func TestFailed(t *testing.T) {
	object := func(kind, name string) bundle.Object {
		o := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "metadata": map[string]any{"name": name}}}
		return bundle.Object{Component: "b", Release: "b", Template: "b/templates/" + strings.ToLower(kind) + ".yaml", Object: o}
	}
	hook, crd := object("Job", "b-job"), object("CustomResourceDefinition", "widgets.x.y")
	hook.Hook, hook.Template = true, "b/templates/hook.yaml"
	hook.Object.SetAnnotations(map[string]string{"helm.sh/hook-delete-policy": "hook-failed"})
	crd.Object.Object["spec"] = map[string]any{"group": "x.y", "names": map[string]any{"kind": "Widget"}}
	objects := Bundles{Now: &bundle.Bundle{Expectation: bundle.Expectation{Objects: []bundle.Object{object("Deployment", "web"), object("StatefulSet", "db"), object("Job", "once"), hook, crd}}}}
	replaced := object("PersistentVolumeClaim", "whole")
	replaced.Object.SetAnnotations(map[string]string{"argocd.argoproj.io/sync-options": "Replace=true"})
	objects.Now.Expectation.Objects = append(objects.Now.Expectation.Objects, replaced)
	kept := object("ConfigMap", "kept")
	kept.Object.SetAnnotations(map[string]string{"helm.sh/resource-policy": "keep"})
	objects.Now.Expectation.Objects = append(objects.Now.Expectation.Objects, kept)
	dns := object("Service", "dns")
	dns.Object.Object["spec"] = map[string]any{"ports": []any{map[string]any{"port": int64(53), "protocol": "UDP"}, map[string]any{"port": int64(53)}}}
	objects.Before = &bundle.Bundle{Expectation: bundle.Expectation{Objects: []bundle.Object{dns}}}
	for text, want := range map[string]string{
		`cannot patch "web" with kind Deployment: Deployment.apps "web" is invalid: spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"a":"b"}}: field is immutable`:                                       "Deployment web: spec.selector cannot be changed; component b, template b/templates/deployment.yaml; it must be deleted before the upgrade",
		`StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals' are forbidden`:                                                                                   "volumeClaimTemplates, serviceName and selector cannot); component b, template b/templates/statefulset.yaml",
		`Job.batch "once" is invalid: spec.template: Invalid value: {"metadata":{}}: field is immutable`:                                                                                                                              "Job once: spec.template cannot be changed; component b, template b/templates/job.yaml",
		`Service "x" is invalid: spec.clusterIPs[0]: Invalid value: []string{"None"}: may not change once set`:                                                                                                                        "Service x: spec.clusterIP cannot be changed; it must be deleted before the upgrade, which creates it again with another address",
		`CustomResourceDefinition.apiextensions.k8s.io "x.y" is invalid: status.storedVersions[0]: Invalid value: "v1alpha1": missing from spec.versions; v1alpha1 was previously a storage version`:                                  `CustomResourceDefinition x.y: version v1alpha1 cannot be left out of spec.versions`,
		`persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize`:                                                                `PersistentVolumeClaim data: spec.resources.requests.storage cannot be changed; its StorageClass lacks allowVolumeExpansion`,
		`CustomResourceDefinition "x.y" in namespace "" exists and cannot be imported into the current release: invalid ownership metadata; label validation error: missing key`:                                                      `CustomResourceDefinition x.y is in the cluster already; it is not marked as any release's, and Helm takes nothing over by itself`,
		`Deployment "web" in namespace "" exists and cannot be imported into the current release: invalid ownership metadata; annotation validation error: key "meta.helm.sh/release-namespace" must equal "d": current value is "b"`: `it belongs to release b in namespace b, where the component was before, and which stays: a release does not move; before the upgrade remove that one (helm uninstall b --namespace b), or annotate its objects with another namespace: meta.helm.sh/release-namespace=d`,
		"Deployment.apps \"web\" is invalid: spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'":                                                                                         "Deployment web: spec.strategy.rollingUpdate is not rendered, and is still there from before the upgrade",
		`unable to build kubernetes objects from current release manifest: resource mapping not found for name: "b" namespace: "" from "": no matches for kind "Widget" in version "x.y/v1alpha1"`:                                    "Widget b: Helm first reads the release that is in the cluster, and that has it in x.y/v1alpha1, which the API server does not serve any more (CustomResourceDefinition widgets.x.y; component b, template b/templates/customresourcedefinition.yaml)",
		`warning: Hook post-upgrade b/templates/hook.yaml failed: jobs.batch "b-job" already exists`:                                                                                                                                  "Job b-job is a hook that the last delivery left (helm.sh/hook-delete-policy: hook-failed), and the upgrade creates it again; component b; edit: helm.sh/hook-delete-policy: before-hook-creation,hook-failed in b/templates/hook.yaml",
		`cannot patch "dns" with kind Service: Service "dns" is invalid: spec.ports: Required value`:                                                                                                                                  "Service dns: port 53 was there twice, with two protocols (b/templates/service.yaml), and a client-side apply tells ports apart by their number alone",
		`error when replacing "/dev/shm/1": PersistentVolumeClaim "whole" is invalid: spec: Forbidden: spec is immutable after creation except resources.requests`:                                                                    "PersistentVolumeClaim whole: spec cannot be changed; component b, template b/templates/persistentvolumeclaim.yaml; the bundle changes nothing of that, but Argo CD replaces the whole object (argocd.argoproj.io/sync-options: Replace=true), and so takes away what the cluster has filled in; leave that option out",
		`Release b: helm rollback b: no ConfigMap with the name "kept" found`:                                                                                                                                                         "ConfigMap kept is in the cluster, and the release that runs does not have it: the newer chart left it out, and helm.sh/resource-policy: keep kept it (component b, b/templates/configmap.yaml); helm rollback compares",
		`Service "x" is invalid: spec.type: Unsupported value: "None"`:                                                                                                                                                                "",
	} {
		v := result.VerdictOf(Failed(UpgradeFrom("main"), reason.New(reason.DeployFailed, "%s", text), objects, nil))
		if v.Reason != reason.UpgradeFailed || !strings.HasPrefix(v.Cause, "the upgrade from main: ") || !strings.Contains(strings.Join(v.Details, "\n"), want) {
			t.Errorf("got %s: %s\n%q\nwant %q", v.Reason, v.Cause, v.Details, want)
		}
	}
	other := reason.New(reason.SchedulingFailed, "no node")
	if got := Failed(UpgradeFrom("main"), other, objects, nil); !errors.Is(got, other) {
		t.Errorf("got %v, want what is not refused to stay", got)
	}
}

// A rollback that is refused is UPGRADE_FAILED. It and all else that is the recipe's say that it was
// the rollback; what is the machine's stays.
func TestRollbackFailed(t *testing.T) {
	for from, want := range map[reason.Reason]reason.Reason{
		reason.DeployFailed: reason.UpgradeFailed, reason.SyncTimeout: reason.SyncTimeout, reason.SchedulingFailed: reason.SchedulingFailed,
		reason.UpgradeDiverged: reason.UpgradeDiverged, reason.ClusterFailed: reason.ClusterFailed, reason.MachineTooSlow: reason.MachineTooSlow, reason.Interrupted: reason.Interrupted,
	} {
		v := result.VerdictOf(RollbackFailed("main", reason.New(from, "broken"), Bundles{}, nil))
		if v.Reason != want || slices.Contains([]reason.Reason{reason.UpgradeFailed, reason.SyncTimeout, reason.SchedulingFailed}, want) != strings.HasPrefix(v.Cause, "the rollback to main: ") {
			t.Errorf("%s: got %s: %s, want %s", from, v.Reason, v.Cause, want)
		}
	}
	if RollbackFailed("main", nil, Bundles{}, nil) != nil {
		t.Error("no error: want none")
	}
}

// recordLane is ready at once, with a record of its own.
type recordLane struct {
	lanetest.Lane
	record lane.Record
}

func (l *recordLane) ReadBack(context.Context, *lane.Env) (lane.Record, error) { return l.record, nil }

// A lane that reports the old bundle as ready is not ready, and what stays behind is no mismatch
// only where no controller removes it.
func TestLane(t *testing.T) {
	release := func(name, version string) lane.Delivery {
		return lane.HelmDelivery("ns", name, name, version, "deployed")
	}
	for name, tc := range map[string]struct {
		timeout reason.Reason
		got     []lane.Delivery
		want    string
	}{
		"old version":       {reason.SchedulingFailed, []lane.Delivery{release("a", "1")}, "not what was delivered last: Helm release ns/a: version: want 2, got 1"},
		"new version":       {reason.SchedulingFailed, []lane.Delivery{release("a", "2")}, ""},
		"left behind":       {reason.SchedulingFailed, []lane.Delivery{release("a", "2"), release("gone", "1")}, ""},
		"unknown":           {reason.SchedulingFailed, []lane.Delivery{release("a", "2"), release("new", "1")}, "unexpected"},
		"not yet pruned":    {reason.SyncTimeout, []lane.Delivery{release("a", "2"), release("gone", "1")}, "Helm release ns/gone: unexpected"},
		"not yet installed": {reason.SyncTimeout, nil, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &recordLane{record: lane.Record{Want: []lane.Delivery{release("a", "2")}, Got: tc.got}}
			l.Timeout = tc.timeout
			l.Says = func(time.Duration) (lane.State, error) {
				return lane.State{RootSeen: true, Items: []lane.Item{{ID: "Release a", State: lane.ItemGood}}}, nil
			}
			state, err := (&Lane{Lane: l, Before: []lane.Delivery{release("a", "1"), release("gone", "1")}}).Poll(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if it := state.Items[0]; tc.want == "" && it.State != lane.ItemGood || tc.want != "" && (it.State != lane.ItemWaiting || !strings.Contains(it.Text, tc.want)) {
				t.Errorf("got %s: %s, want %q", it.State, it.Text, tc.want)
			}
		})
	}
}

// A release with an object of a kind whose definition the same delivery has removed names that, and what
// to do; for a rollback in its words.
func TestFailed_DefinitionGone(t *testing.T) {
	crd := &unstructured.Unstructured{Object: map[string]any{"kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "gadgets.x.y"}, "spec": map[string]any{"group": "x.y", "names": map[string]any{"kind": "Gadget"}}}}
	b := Bundles{Before: &bundle.Bundle{Expectation: bundle.Expectation{Objects: []bundle.Object{{Component: "a", Release: "a", Template: "a/templates/crd.yaml", Object: crd}}}}, Now: &bundle.Bundle{}}
	err := reason.New(reason.DeployFailed, "%s", `unable to build kubernetes objects from current release manifest: resource mapping not found for name: "one" namespace: "" from "": no matches for kind "Gadget" in version "x.y/v1"`)
	const removed = "Gadget one: Helm first reads the release that is in the cluster, and that has it in x.y/v1, which the API server does not serve any more: the delivery has removed CustomResourceDefinition gadgets.x.y before (component a had it, a/templates/crd.yaml)"
	testkit.WantText(t, "details", strings.Join(result.VerdictOf(Failed(UpgradeFrom("main"), err, b, nil)).Details, "\n"), removed, "without the object before the upgrade")
	testkit.WantText(t, "details", strings.Join(result.VerdictOf(RollbackFailed("main", err, b, nil)).Details, "\n"), removed, "without the object before the rollback")
}

// A recipe of the same name for another cluster is another recipe.
func TestSameRecipe(t *testing.T) {
	next := &recipe.Result{Criteria: recipe.Criteria{Service: "eks", Accelerator: "h100"}}
	for _, c := range []struct {
		old  recipe.Criteria
		want string
	}{
		{recipe.Criteria{Service: "eks", Accelerator: "h100", OS: "ubuntu"}, ""},
		{recipe.Criteria{}, ""},
		{recipe.Criteria{Service: "eks", Accelerator: "any"}, ""},
		{recipe.Criteria{Service: "gke"}, "--from old has another recipe of the name x: its service is gke, and now it is eks"},
		{recipe.Criteria{Service: "eks", Accelerator: "a100"}, "its accelerator is a100, and now it is h100"},
	} {
		err := SameRecipe("old", "x", &recipe.Result{Criteria: c.old}, next)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || reason.Of(err) != reason.Usage {
			t.Errorf("%+v: got %v, want %q", c.old, err, c.want)
			continue
		}
		testkit.WantText(t, "error", err.Error(), c.want)
	}
}
