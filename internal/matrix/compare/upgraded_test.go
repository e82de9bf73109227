package compare

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// The end of an upgrade must be that of a first installation, and a difference has its cause.
func TestUpgraded(t *testing.T) {
	crd := func(field string) string {
		return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b.c}, spec: {` + field + `}}`
	}
	config := `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: extra}, data: {k: v}}`
	keptYAML := strings.Replace(config, "name: extra", "name: extra, annotations: {helm.sh/resource-policy: keep}", 1)
	service := func(address string) string {
		return `{apiVersion: v1, kind: Service, metadata: {namespace: ns, name: web}, spec: {clusterIP: ` + address + `}}`
	}
	for name, tc := range map[string]struct {
		first, before, after []string
		crds                 bool // the definition is in crds/
		want                 string
		note                 string
	}{
		"the same":              {first: []string{deploymentYAML(2)}, before: []string{deploymentYAML(1)}, after: []string{deploymentYAML(2)}, note: "ended as a first installation: 1 objects compared"},
		"not taken over":        {first: []string{deploymentYAML(2)}, before: []string{deploymentYAML(1)}, after: []string{deploymentYAML(1)}, want: "Deployment ns/web  spec.replicas  first installation: 2; after the upgrade: 1 (still the value of before"},
		"something else":        {first: []string{deploymentYAML(2)}, before: []string{deploymentYAML(1)}, after: []string{deploymentYAML(3)}, want: "after the upgrade: 3"},
		"left behind":           {first: []string{deploymentYAML(1)}, before: []string{deploymentYAML(1), config}, after: []string{deploymentYAML(1), config}, want: "it stays behind"},
		"only the upgrade made": {first: []string{deploymentYAML(1)}, before: []string{deploymentYAML(1)}, after: []string{deploymentYAML(1), config}, want: "the upgrade made it, and no first installation does"},
		"a Job of upgrades":     {first: []string{deploymentYAML(1)}, before: []string{deploymentYAML(1)}, after: []string{deploymentYAML(1), `{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: migrate}}`}, note: "differs from a first installation (allowed): Job ns/migrate : the upgrade made it, and no first installation does"},
		"kept by its template":  {first: []string{deploymentYAML(1)}, before: []string{deploymentYAML(1), keptYAML}, after: []string{deploymentYAML(1), keptYAML}, note: "differs from a first installation (allowed): ConfigMap ns/extra : it was rendered to be kept"},
		"headless for ever":     {first: []string{service("10.0.0.7")}, before: []string{service("None")}, after: []string{service("None")}, want: `Service ns/web  spec.clusterIP  first installation: nothing; after the upgrade: "None" (the API server keeps the None`},
		"another address":       {first: []string{service("10.0.0.7")}, before: []string{service("10.0.0.8")}, after: []string{service("10.0.0.8")}, note: "ended as a first installation"},
		"definition":            {first: []string{crd("x: {a: 1, b: 2}")}, before: []string{crd("x: {a: 1}")}, after: []string{crd("x: {a: 1}")}, crds: true, want: "CustomResourceDefinition a.b.c of the crds/ of chart chart: 1 other setting changed: spec.x.b (Helm does not update the definitions in a chart's crds/"},
		"only its text":         {first: []string{crd("description: new")}, before: []string{crd("description: old")}, after: []string{crd("description: old")}, crds: true, note: "differs from a first installation (allowed)"},
		"not of crds/":          {first: []string{crd("description: new")}, before: []string{crd("description: old")}, after: []string{crd("description: old")}, want: "still the value of before"},
		"missing after it":      {first: []string{deploymentYAML(1), config}, before: []string{deploymentYAML(1)}, after: []string{deploymentYAML(1)}, want: "ConfigMap ns/extra    first installation: there; after the upgrade: nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			first, upgraded := lanePassed("a", "helm", taken(t, tc.first...)), lanePassed("a", "helm", taken(t, tc.after...))
			upgraded.From, upgraded.Live.Before = "main", taken(t, tc.before...)
			if tc.crds {
				for key, o := range upgraded.Live.objects {
					o.template = "chart/crds/a.yaml"
					upgraded.Live.objects[key] = o
				}
			}
			Upgraded(t.Context(), first, upgraded, BenignRules())
			switch r := upgraded.Result; {
			case tc.want == "" && r.Status != result.Passed:
				t.Errorf("got %s: %s", r.Status, r.Cause)
			case tc.want != "" && (r.Reason != reason.UpgradeDiverged || !strings.Contains(strings.Join(strings.Fields(r.Cause), " "), strings.Join(strings.Fields(tc.want), " "))):
				t.Errorf("got %s: %s\nwant %s", r.Reason, r.Cause, tc.want)
			case tc.note != "" && !strings.Contains(strings.Join(r.Notes, "\n"), tc.note):
				t.Errorf("got the notes %q, want %q", r.Notes, tc.note)
			}
		})
	}
}

// What Helm leaves of crds/ is one cause per chart with its step, behind the others, and may be accepted.
func TestUpgraded_Definitions(t *testing.T) {
	crd := func(name, schema string) string {
		return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ` + name + `}, spec: {versions: [{name: v1, schema: {openAPIV3Schema: {properties: {spec: {properties: ` + schema + `}}}}}]}}`
	}
	now := []string{crd("a.x.y", "{a: {type: string, enum: [one]}, b: {}, c: {}}"), crd("b.x.y", "{a: {minimum: 1}}"), deploymentYAML(2)}
	old := []string{crd("a.x.y", "{a: {type: string, enum: [one, two]}, d: {}}"), crd("b.x.y", "{a: {minimum: 2}}"), deploymentYAML(1)}
	run := func(accepted ...Accepted) Lane {
		first, upgraded := lanePassed("a", "helm", taken(t, now...)), lanePassed("a", "helm", taken(t, old...))
		upgraded.From, upgraded.Live.Before = "main", taken(t, old...)
		upgraded.Live.Releases = []bundle.Release{{Name: "r", Component: "comp", Chart: "c"}}
		for key, o := range upgraded.Live.objects {
			if o.ref.GVK.Kind == "CustomResourceDefinition" {
				o.template = "c/crds/" + o.ref.Name + ".yaml"
				upgraded.Live.objects[key] = o
			}
		}
		Upgraded(t.Context(), first, upgraded, BenignRules(), accepted...)
		return upgraded
	}
	r := run()
	if len(r.Findings) != 2 || !strings.Contains(r.Findings[0].Cause, "Deployment ns/web") || !strings.Contains(r.Findings[1].Cause, "CustomResourceDefinition a.x.y (and 1 more) of the crds/ of chart c") || r.Findings[1].Component != "comp" {
		t.Fatalf("got %+v", r.Findings)
	}
	story := strings.Join(r.Findings[1].Story, "\n")
	for _, want := range []string{"a.x.y (c/crds/a.x.y.yaml): 2 fields added: spec.b, spec.c, 1 field gone: spec.d, 1 enum value gone: two", "b.x.y (c/crds/b.x.y.yaml): 1 other setting changed: spec.a.minimum", "kubectl apply --server-side --force-conflicts -f c/crds/a.x.y.yaml -f c/crds/b.x.y.yaml"} {
		if !strings.Contains(story, want) {
			t.Errorf("got %s, want %q", story, want)
		}
	}
	used := 0
	r = run(Accepted{Object: "CustomResourceDefinition *", Path: "spec.*", Reason: "a person applies them", Place: "steps.yaml:3", Used: func() { used++ }}, Accepted{Object: "Deployment ns/web", Path: "spec.replicas", Reason: "an autoscaler", Place: "steps.yaml:6"})
	if r.Status != result.Passed || used < 4 || !strings.Contains(strings.Join(r.Notes, "\n"), "accepted: a person applies them (steps.yaml:3)") {
		t.Errorf("accepted: got %+v, used %d, notes %q", r.Verdict, used, r.Notes)
	}
}

// A hook that did not run again is a note, unless it stands for something that runs on, or was no hook
// before: that is a change that did not arrive.
func TestUpgraded_Hooks(t *testing.T) {
	for kind, red := range map[string]string{"v1, kind: ConfigMap": "", "x.y/v1, kind: Widget": "it is a hook, which this delivery did not run", "v1, kind: ConfigMap, was: ordinary": "still the value of before", "v1, kind: ConfigMap, was: hook": "it was a hook before: Argo CD takes what has a hook's annotation"} {
		kind, ordinary := strings.CutSuffix(kind, ", was: ordinary")
		kind, hook := strings.CutSuffix(kind, ", was: hook")
		object := func(size string) string {
			return `{apiVersion: ` + kind + `, metadata: {namespace: ns, name: one}, data: {size: "` + size + `"}}`
		}
		first, upgraded := lanePassed("a", "argocd-oci", taken(t, object("2"))), lanePassed("a", "argocd-oci", taken(t, object("1")))
		upgraded.From, upgraded.Live.Before = "main", taken(t, object("1"))
		for key, o := range upgraded.Live.objects {
			o.hook = !hook
			upgraded.Live.objects[key] = o
			o.hook = !ordinary
			upgraded.Live.Before.objects[key] = o
		}
		Upgraded(t.Context(), first, upgraded, BenignRules())
		if got := upgraded.Reason == reason.UpgradeDiverged; got != (red != "") || !strings.Contains(upgraded.Cause, red) {
			t.Errorf("%s: got %s: %s", kind, upgraded.Reason, upgraded.Cause)
		}
	}
}

// Flux keeps what it has of a chart whose version did not change: that is the cause. It fetches the bundle's
// own charts from a registry at each revision, and from Git by their version.
func TestUpgraded_SameVersion(t *testing.T) {
	for version, want := range map[string]bool{"1.0.0": true, "0.9.0": false} {
		for deployer, flux := range map[string]bool{"flux-oci": true, "helm": false} {
			first, upgraded := lanePassed("a", deployer, taken(t, deploymentYAML(2))), lanePassed("a", deployer, taken(t, deploymentYAML(1)))
			upgraded.From, upgraded.Live.Before = "main", taken(t, deploymentYAML(1))
			upgraded.Live.Releases, upgraded.Live.Before.Releases = []bundle.Release{{Name: "r", ChartVersion: "1.0.0"}}, []bundle.Release{{Name: "r", ChartVersion: version}}
			Upgraded(t.Context(), first, upgraded, BenignRules())
			if got := strings.Contains(upgraded.Cause, "the version of its chart did not change (1.0.0), so that Flux neither fetches"); got != (want && flux) {
				t.Errorf("%s from %s: got %q", deployer, version, upgraded.Cause)
			}
		}
	}
	for deployer, want := range map[string]bool{"flux-oci": false, "flux-git": true} {
		first, upgraded := lanePassed("a", deployer, taken(t, deploymentYAML(2))), lanePassed("a", deployer, taken(t, deploymentYAML(1)))
		upgraded.From, upgraded.Live.Before = "main", taken(t, deploymentYAML(1))
		upgraded.Live.Releases = []bundle.Release{{Name: "r", ChartVersion: "0.1.0", Local: true}}
		upgraded.Live.Before.Releases = upgraded.Live.Releases
		Upgraded(t.Context(), first, upgraded, BenignRules())
		if got := strings.Contains(upgraded.Cause, "(0.1.0), so that Flux neither fetches the chart again nor upgrades the release; its HelmRelease needs spec.chart.spec.reconcileStrategy: Revision"); got != want {
			t.Errorf("%s: got %q", deployer, upgraded.Cause)
		}
	}
}

// After a rollback all must be as before the upgrade, and what is not has its cause.
func TestRolledBack(t *testing.T) {
	config := `{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: extra}, data: {k: v}}`
	for name, tc := range map[string]struct {
		before, upgraded, now []string
		want                  string
	}{
		"the same":     {[]string{deploymentYAML(1)}, []string{deploymentYAML(2)}, []string{deploymentYAML(1)}, ""},
		"not undone":   {[]string{deploymentYAML(1)}, []string{deploymentYAML(2)}, []string{deploymentYAML(2)}, "Deployment ns/web  spec.replicas  before the upgrade: 1; after the rollback: 2 (still the upgrade's value"},
		"left behind":  {[]string{deploymentYAML(1)}, []string{deploymentYAML(1), config}, []string{deploymentYAML(1), config}, "it stays behind: the upgrade made it"},
		"not restored": {[]string{deploymentYAML(1), config}, []string{deploymentYAML(1)}, []string{deploymentYAML(1)}, "ConfigMap ns/extra    before the upgrade: there; after the rollback: nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			before, now := lanePassed("a", "helm", taken(t, tc.before...)), lanePassed("a", "helm", taken(t, tc.now...))
			now.Live.Before = taken(t, tc.upgraded...)
			notes, err := RolledBack(t.Context(), before, now, BenignRules())
			if tc.want == "" {
				if err != nil || !strings.Contains(strings.Join(notes, "\n"), "the rollback ended as before the upgrade: 1 objects compared") {
					t.Errorf("got %v, %q", err, notes)
				}
				return
			}
			v := result.VerdictOf(err)
			if v.Reason != reason.UpgradeDiverged || !strings.Contains(strings.Join(strings.Fields(v.Cause), " "), strings.Join(strings.Fields(tc.want), " ")) || !strings.HasPrefix(v.Cause, "the rollback does not bring back") {
				t.Errorf("got %s: %s\nwant %s", v.Reason, v.Cause, tc.want)
			}
		})
	}
}
