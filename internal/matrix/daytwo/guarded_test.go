package daytwo

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/testkit"
)

const (
	service      = `{apiVersion: v1, kind: Service, metadata: {namespace: b, name: guard}}`
	deployment   = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: b, name: web}}`
	config       = `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: b, name: web}}`
	guardedGuard = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: guard}, webhooks: [{name: guard.example.com, POLICY clientConfig: {service: {namespace: b, name: guard}}, rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [OPERATION], resources: ["*"]}]}]}`
)

// A removal that leaves what Helm cannot delete is a failure with both places; a hook before it may have
// deleted the webhook.
func TestUninstalled(t *testing.T) {
	closed := strings.NewReplacer("POLICY", "", "OPERATION", "DELETE").Replace(guardedGuard)
	hook := `{apiVersion: batch/v1, kind: Job, metadata: {namespace: b, name: clean, annotations: {helm.sh/hook: pre-delete}}}`
	for name, tc := range map[string]struct {
		texts []string
		want  bool
	}{
		"with its webhook": {[]string{service, deployment, closed}, true},
		"a hook before it": {[]string{service, deployment, closed, hook}, false},
		"without one":      {[]string{service, deployment}, false},
		"it is kept":       {[]string{service, strings.Replace(deployment, "name: web", "name: web, annotations: {helm.sh/resource-policy: keep}", 1), closed}, false},
		"by any word":      {[]string{service, strings.Replace(deployment, "name: web", "name: web, annotations: {helm.sh/resource-policy: retain}", 1), closed}, false},
	} {
		e := bundle.Expectation{Releases: []bundle.Release{{Name: "b", Namespace: "b", Component: "c"}}}
		for _, text := range tc.texts {
			e.Objects = append(e.Objects, bundle.Object{Release: "b", Component: "c", Template: "b/templates/x.yaml", Hook: text == hook, Object: testkit.Parsed(t, text)})
		}
		f := uninstalledGuard(&e)
		if (f != nil) != tc.want {
			t.Errorf("%s: got %+v", name, f)
		}
		if f != nil {
			testkit.WantText(t, name, f.Cause+"\n"+strings.Join(f.Story, "\n"), "after the removal: Deployment b/web stays", "b/templates/x.yaml", "component c", "helm uninstall b ends with an error", "kubectl delete validatingwebhookconfiguration guard")
		}
	}
}

// What Helm deletes between the Service of a webhook that is asked and the webhook stays; nothing else does.
func TestFind(t *testing.T) {
	closed := strings.NewReplacer("POLICY", "", "OPERATION", "DELETE")
	for name, tc := range map[string]struct {
		removed []string
		order   releaseutil.KindSortOrder
		want    string
	}{
		"an upgrade":               {[]string{config, service, deployment, closed.Replace(guardedGuard)}, releaseutil.InstallOrder, "Deployment b/web"},
		"a removal":                {[]string{config, service, deployment, closed.Replace(guardedGuard)}, releaseutil.UninstallOrder, "ConfigMap b/web, Deployment b/web"},
		"a mutating one":           {[]string{service, deployment, strings.ReplaceAll(closed.Replace(guardedGuard), "Validating", "Mutating")}, releaseutil.InstallOrder, "Deployment b/web"},
		"its Service stays":        {[]string{deployment, closed.Replace(guardedGuard)}, releaseutil.InstallOrder, ""},
		"the webhook stays":        {[]string{service, deployment}, releaseutil.InstallOrder, ""},
		"it fails open":            {[]string{service, deployment, strings.NewReplacer("POLICY", "failurePolicy: Ignore,", "OPERATION", "DELETE").Replace(guardedGuard)}, releaseutil.InstallOrder, ""},
		"it is not asked":          {[]string{service, deployment, strings.NewReplacer("POLICY", "", "OPERATION", "CREATE, UPDATE").Replace(guardedGuard)}, releaseutil.InstallOrder, ""},
		"it may leave objects out": {[]string{service, deployment, strings.NewReplacer("POLICY", "objectSelector: {matchLabels: {a: b}},", "OPERATION", "DELETE").Replace(guardedGuard)}, releaseutil.InstallOrder, ""},
		"with subresources":        {[]string{service, deployment, strings.Replace(closed.Replace(guardedGuard), `resources: ["*"]`, `resources: ["*/*"]`, 1)}, releaseutil.InstallOrder, "Deployment b/web"},
		"another kind":             {[]string{service, deployment, strings.Replace(closed.Replace(guardedGuard), `resources: ["*"]`, "resources: [services, widgets]", 1)}, releaseutil.InstallOrder, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var removed []*bundle.Object
			for _, text := range tc.removed {
				removed = append(removed, &bundle.Object{Object: testkit.Parsed(t, text)})
			}
			var got []string
			for _, o := range findGuarded(removed, tc.order) {
				got = append(got, o.Ref().String())
				if o.Service.String() != "Service b/guard" {
					t.Errorf("got %s", o.Service)
				}
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("got %q, want %q", text, tc.want)
			}
		})
	}
}
