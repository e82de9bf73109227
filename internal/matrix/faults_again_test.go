package matrix

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// againFaults are second deliveries that nobody had tried here.
func againFaults() []fault {
	return []fault{
		{
			id: "F233", what: "a quota that has no room for a new pod beside the old one, in a rolling update that keeps the old one until then", verdict: "exit 73 with the quota, the old pods and the edit: a first installation passes; a quota that has room for one of the new pods passes",
			seeds: []seed{
				{nightly: families, old: older(inQuota("10", "1")), recipe: inQuota("1", "2"), want: red(reason.UpgradeFailed, "the upgrade from old: Deployment b/b (b): the API server rejects its pods", "exceeded quota: q").and("and the new one waits for the quota of b/b-", "edit: strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}} in b/templates/web.yaml:")},
			},
			tests: []string{"internal/matrix/upgrade TestFailed_Quota"},
		},
		{
			id: "F234", what: "what a hook changes: its image, also of one that is deleted once it has succeeded, and its content; claims that a removed or smaller StatefulSet leaves", verdict: "passes, and the difference names image, content and claims; not what charts generate anew for each delivery",
			seeds: []seed{
				{nightly: []string{bundle.Helm}, old: older(withHookAndData("1", "2")), recipe: withHookAndData("2", "1"), want: outcomeWanted{check: showsHookAndData}},
			},
			tests: []string{"internal/matrix/change TestHooksChange", "internal/matrix/change TestClaims"},
		},
	}
}

// inQuota has a quota of so many pods, and an image.
func inQuota(pods, image string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("quota.yaml", "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\nspec: {hard: {pods: \""+pods+"\"}}\n")
		r.part("b").edit("web:1", "web:"+image)
	}
}

// withHookAndData has a hook Job that is deleted once it has succeeded, and a StatefulSet with claims.
func withHookAndData(image, replicas string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.part("b").add("job.yaml", strings.NewReplacer("-job}", `-job, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}}`, "LABEL", "x", "job:1", "job:"+image).Replace(jobTemplate))
		r.part("b").add("db.yaml", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: "+replicas+`
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {tolerations: [{operator: Exists}], containers: [{name: main, image: "example.com/db:1"}]}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 80}]}
`)
	}
}

func showsHookAndData(t *testing.T, r result.Result) {
	t.Helper()
	endsAlike(t, r)
	var image, claim bool
	for _, one := range r.Change.Components {
		for _, i := range one.Images {
			image = image || i.From == "example.com/job:1" && i.To == "example.com/job:2"
		}
		for _, ref := range one.LeftBehind {
			claim = claim || ref.Kind == "PersistentVolumeClaim" && ref.Name == "data-db-1"
		}
	}
	if !image || !claim {
		t.Errorf("got the change %+v, want one with the image of the hook and the claim that is left", r.Change)
	}
}
