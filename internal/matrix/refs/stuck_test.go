package refs

import (
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// What a deployer can never finish is found before anything is deployed.
func TestStuck(t *testing.T) {
	argocd, flux, helm, apply := lane.Order{ArgoCD: true, Ready: true}, lane.Order{Ready: true, Releases: true}, lane.Order{InOrder: true}, lane.Order{AtOnce: true}
	hook := func(more string) string {
		return "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, namespace: x, annotations: {" + more + "}}\n"
	}
	const deletes = "helm.sh/hook: post-install, helm.sh/hook-delete-policy: hook-succeeded}, finalizers: [%], labels: {a: b"
	keeps := func(finalizer string) string { return hook(strings.Replace(deletes, "%", finalizer, 1)) }
	claim := "\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: x}\nspec: {volumeAttributesClassName: gold}\n"
	class := "---\napiVersion: storage.k8s.io/v1\nkind: VolumeAttributesClass\nmetadata: {name: gold}\ndriverName: d\n"
	set := pod("{containers: [{name: m}], volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {volumeAttributesClassName: gold}}}}]}")
	once := func(policy string) string {
		return "\napiVersion: v1\nkind: Pod\nmetadata: {name: once, namespace: x, annotations: {helm.sh/hook: post-install}}\nspec: {" + policy + "containers: [{name: m, image: i}]}\n---" + pod("{containers: [{name: m}]}")
	}
	part := func(volume, part string) string {
		return pod("{volumes: [{name: v, " + volume + "}], containers: [{name: m, volumeMounts: [{name: v, mountPath: /etc/a, subPath: " + part + "}]}]}")
	}
	const settings = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x}\ndata: {a: b}\n"
	for name, c := range map[string]struct {
		objects string
		by      lane.Order
		want    string
	}{
		"a hook pod that goes on":   {once(""), helm, "Pod x/once (x): is a hook, and its pod never ends: spec.restartPolicy is Always"},
		"the same with its name":    {once("restartPolicy: Always, "), flux, "its pod never ends"},
		"the same in Argo CD":       {once(""), argocd, ""},
		"a hook pod that ends":      {once("restartPolicy: OnFailure, "), helm, ""},
		"a volume that is missing":  {strings.Replace(claim, "volumeAttributesClassName: gold", "volumeName: disk", 1), apply, "PersistentVolumeClaim x/data (x): names PersistentVolume disk (spec.volumeName), which does not exist, and nothing in the recipe makes it"},
		"hooks only, Argo CD":       {hook("helm.sh/hook: pre-install"), argocd, "ConfigMap x/hook (x): is a hook, and release x has nothing else (objects: 1)"},
		"its own annotation":        {hook("argocd.argoproj.io/hook: Sync"), argocd, "release x has nothing else"},
		"skipped by Argo CD":        {hook("argocd.argoproj.io/hook: Skip, helm.sh/hook: pre-install"), argocd, ""},
		"hooks only, Flux":          {hook("helm.sh/hook: pre-install"), flux, ""},
		"a hook and more":           {hook("helm.sh/hook: pre-install") + "---" + pod("{containers: [{name: m}]}"), argocd, ""},
		"a finalizer that stays":    {keeps("example.com/keep"), helm, "ConfigMap x/hook (x): is a hook that is deleted when it has succeeded, and nothing in the recipe removes its finalizer example.com/keep"},
		"the same in Flux":          {keeps("example.com/keep"), flux, "removes its finalizer"},
		"the same, applied":         {keeps("example.com/keep"), apply, ""},
		"a finalizer that goes":     {keeps("foregroundDeletion"), helm, ""},
		"a hook that is not gone":   {strings.Replace(keeps("example.com/keep"), "hook-succeeded", "before-hook-creation", 1), helm, ""},
		"no attributes class":       {claim, apply, "PersistentVolumeClaim x/data (x): wants VolumeAttributesClass gold, which nothing in the recipe makes"},
		"an attributes class":       {claim + class, helm, ""},
		"an ephemeral volume's":     {set, helm, "Deployment x/web (x): wants VolumeAttributesClass gold"},
		"an ephemeral volume's own": {set + class, helm, ""},
		"a review":                  {"\napiVersion: authorization.k8s.io/v1\nkind: SubjectAccessReview\nmetadata: {name: may}\n", apply, "SubjectAccessReview may (x): is a request, of which the API server stores nothing"},
		"a request for a token":     {"\napiVersion: authentication.k8s.io/v1\nkind: TokenRequest\nmetadata: {name: t, namespace: x}\n", argocd, "is a request"},
		"a part that is no key":     {part("configMap: {name: c}", "b") + settings, helm, "Deployment x/web (x): mounts key b of ConfigMap x/c, which has no such key (it has a)"},
		"a part that is a key":      {part("configMap: {name: c}", "a") + settings, helm, ""},
		"a part of what is unknown": {part("configMap: {name: other}", "b"), apply, ""},
		"a part that is no item":    {part("configMap: {name: c, items: [{key: a, path: x}]}", "a") + settings, argocd, "Deployment x/web (x): mounts a of volume v (subPath), and no item of the volume has that path"},
		"an item that is no key":    {part("configMap: {name: c, items: [{key: b, path: a}]}", "a") + settings, flux, "mounts key b of ConfigMap x/c, which has no such key"},
		"a key of a Job's":          {part("configMap: {name: c}", "b") + settings + "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: x}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: i, args: [--fill=c]}]}}}\n", helm, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := expected(t, c.objects)
			e.Releases = []bundle.Release{{Name: "x", Component: "x"}}
			for i := range e.Objects {
				a := e.Objects[i].Object.GetAnnotations()
				e.Objects[i].Hook = a["helm.sh/hook"] != ""
				e.Objects[i].Ephemeral = a["helm.sh/hook-delete-policy"] == "hook-succeeded"
			}
			var got []string
			for _, f := range Deadlocks(e, nil, c.by).Faults {
				got = append(got, f.Finding.Cause)
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
