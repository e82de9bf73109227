package refs

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/testkit"
)

const (
	deployed = "\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: x}\nspec: {minReadySeconds: %, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: m}]}}}\n"
	gone     = "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x, ownerReferences: [{apiVersion: %, kind: Owner, name: gone, uid: 5d3a}]}\n"
	owners   = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: owners.example.com}\nspec: {group: example.com, names: {kind: Owner, plural: owners}}\n"
	converts = "\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: svc, namespace: x}%}}}}\n"
	serves   = "---\napiVersion: v1\nkind: Service\nmetadata: {name: svc, namespace: x}\nspec: {ports: [{port: 443}]}\n"
	claimed  = "\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: x}\nspec: {% accessModes: [ReadWriteOnce]}\n"
	lazy     = "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: lazy}\nprovisioner: p\nvolumeBindingMode: WaitForFirstConsumer\n"
	mounting = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: x}\nspec: {replicas: %, template: {spec: {volumes: [{name: d, persistentVolumeClaim: {claimName: data}}], containers: [{name: m}]}}}\n"
)

// What no lane can deliver is one fault in each of them, before anything is deployed.
func TestNever(t *testing.T) {
	argocd, flux, helm := lane.Order{ArgoCD: true, Ready: true}, lane.Order{Ready: true, Releases: true, Within: bundle.FluxTimeout}, lane.Order{InOrder: true}
	every := []lane.Order{argocd, flux, helm, {AtOnce: true}}
	ca, cert := authority(t, "svc.x.svc")
	other, _ := authority(t, "svc.x.svc")
	with := func(text, value string) string { return strings.Replace(text, "%", value, 1) }
	wave := func(text, wave, value string) string {
		return strings.Replace(with(text, value), "metadata: {", "metadata: {annotations: {argocd.argoproj.io/sync-wave: '"+wave+"'}, ", 1)
	}
	hook := func(text string) string {
		return strings.Replace(with(text, ""), "metadata: {", "metadata: {annotations: {helm.sh/hook: pre-install}, ", 1)
	}
	for name, c := range map[string]struct {
		objects string
		by      []lane.Order
		want    string
	}{
		"an owner that is gone":                {with(gone, "v1"), every, "ConfigMap x/c (x): has Owner gone with UID 5d3a as its owner"},
		"of a kind of the recipe":              {with(gone, "example.com/v1") + owners, every, "has Owner gone with UID 5d3a as its owner"},
		"of a kind that none serves":           {with(gone, "example.com/v1"), every, ""},
		"without a UID":                        {strings.Replace(with(gone, "v1"), "uid: 5d3a", "uid: ''", 1), every, ""},
		"converted by no Service":              {with(converts, ""), every, "CustomResourceDefinition things.example.com (x): is converted by Service x/svc, which does not exist"},
		"converted by a Service":               {with(converts, "") + serves, every, ""},
		"converted at a loopback":              {strings.Replace(with(converts, ""), "service: {name: svc, namespace: x}", "url: 'https://127.0.0.1:9443/c'", 1), every, "is converted by https://127.0.0.1:9443/c, the API server's own machine"},
		"a caBundle of its own":                {with(converts, ", caBundle: "+ca) + serves + secret("tls", "tls.crt", cert), every, ""},
		"a caBundle of another":                {with(converts, ", caBundle: "+other) + serves + secret("tls", "tls.crt", cert), every, "has a caBundle that is not of the authority of the certificate in Secret x/tls"},
		"longer than Flux waits":               {with(deployed, "300"), []lane.Order{flux}, "Deployment x/web (x): has minReadySeconds: 300, so that it is available 5m0s after its pods are ready at the earliest"},
		"as long as Flux waits":                {with(deployed, "290"), []lane.Order{flux}, "its release fails after 5m0s"},
		"shorter than Flux waits":              {with(deployed, "285"), []lane.Order{flux}, ""},
		"a claim without a pod":                {with(claimed, ""), []lane.Order{flux}, "PersistentVolumeClaim x/data (x): gets a volume only once a pod uses it"},
		"a claim of a class that waits":        {with(claimed, "storageClassName: lazy,") + lazy, []lane.Order{flux}, "no pod does until its release is ready"},
		"a claim of one that does not":         {with(claimed, "storageClassName: lazy,") + strings.Replace(lazy, "WaitForFirstConsumer", "Immediate", 1), []lane.Order{flux}, ""},
		"a claim of a volume":                  {with(claimed, "volumeName: v,") + "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {accessModes: [ReadWriteOnce]}\n", []lane.Order{flux}, ""},
		"a claim of no class":                  {with(claimed, "storageClassName: '',"), []lane.Order{flux}, ""},
		"a claim with a pod":                   {with(claimed, "") + with(mounting, "1"), []lane.Order{flux}, ""},
		"a claim with no pod yet":              {with(claimed, "") + with(mounting, "0"), []lane.Order{flux}, "no pod does until"},
		"a claim for a resource":               {with(claimed, "") + "---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec: {claim: data}\n", []lane.Order{flux}, ""},
		"a claim where none waits":             {with(claimed, ""), []lane.Order{argocd, helm, {AtOnce: true}}, ""},
		"a claim before its pod's wave":        {wave(claimed, "-1", "") + with(mounting, "1"), []lane.Order{argocd}, "PersistentVolumeClaim x/data (x): gets a volume only once a pod uses it (volumeBindingMode: WaitForFirstConsumer), and Argo CD creates Deployment x/web"},
		"a claim in its pod's wave":            {wave(claimed, "3", "") + wave(mounting, "3", "1"), []lane.Order{argocd}, ""},
		"a claim that is a hook":               {hook(claimed) + with(mounting, "1"), []lane.Order{argocd}, "and Argo CD creates Deployment x/web"},
		"a claim with a hook's pod":            {hook(claimed) + with(mounting, "0"), []lane.Order{argocd}, ""},
		"a wave for a resource":                {wave(claimed, "-1", "") + with(mounting, "1") + "---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\nspec: {claim: data}\n", []lane.Order{argocd}, ""},
		"a wave of a class that does not wait": {wave(claimed, "-1", "storageClassName: lazy,") + with(mounting, "1") + strings.Replace(lazy, "WaitForFirstConsumer", "Immediate", 1), []lane.Order{argocd}, ""},
		"waves where none waits":               {wave(claimed, "-1", "") + with(mounting, "1"), []lane.Order{helm, flux, {AtOnce: true}}, ""},
		"where nothing stops waiting":          {with(deployed, "300"), []lane.Order{argocd, helm, {AtOnce: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, by := range c.by {
				e := expected(t, c.objects)
				e.Releases = []bundle.Release{{Name: "x", Component: "x"}}
				var got []string
				for _, f := range Deadlocks(e, nil, by).Faults {
					got = append(got, f.Finding.Cause)
				}
				if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
					t.Errorf("%+v: got %q, want %q", by, got, c.want)
				}
			}
		})
	}
}

// TestNever_Release: an app's release has its own time, and one without any is not waited for.
func TestNever_Release(t *testing.T) {
	for within, want := range map[time.Duration]string{0: "", time.Minute: "its release fails after 1m0s"} {
		e := expected(t, strings.NewReplacer("%", "").Replace(claimed))
		e.Releases = []bundle.Release{{Name: "x", Component: "x", Given: bundle.Given{Within: within}}}
		r := Deadlocks(e, nil, lane.Order{Ready: true})
		if (want == "") != (len(r.Faults) == 0) || want != "" && !strings.Contains(r.Faults[0].Finding.Cause, want) {
			t.Errorf("%s: got %+v, want %q", within, r.Faults, want)
		}
	}
}

func TestMinReady(t *testing.T) {
	e := expected(t, strings.Replace(deployed, "%", "30", 1)+"---"+strings.Replace(deployed, "%", "20", 1)+"---"+strings.Replace(deployed, "%", "5", 1))
	e.Objects[2].Release = "y"
	if got := MinReady(e); got != 35*time.Second {
		t.Errorf("got %s, want the longest of each release: 35s", got)
	}
}

// What a hook policy deletes is there for hooks only.
func TestTransient(t *testing.T) {
	mounts := "---" + pod(`{volumes: [{name: c, configMap: {name: early}}], containers: [{name: m}]}`)
	for _, c := range []struct{ deleted, hook, faults bool }{{true, false, true}, {true, true, false}, {false, false, false}} {
		e := expected(t, "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: early, namespace: x}\n"+mounts)
		e.Objects[0].Hook, e.Objects[0].Ephemeral, e.Workloads[0].Hook = true, true, c.hook
		have := &facts.Live{View: &observe.View{}, Secrets: map[string]map[string]bool{}, ConfigMaps: map[string]map[string]bool{}, ServiceAccounts: map[string]bool{}}
		if !c.deleted {
			have.ConfigMaps["x/early"] = map[string]bool{}
		}
		found := checkAll(e, nil, have).Faults
		if c.faults != (len(found) == 1) {
			t.Errorf("%+v: got %d faults", c, len(found))
		}
		for _, f := range found {
			testkit.WantText(t, "the fault", f.Finding.Cause, "Deployment x/web (x): mounts ConfigMap x/early, a hook that is deleted once it has succeeded")
		}
	}
}

// An account that a hook policy deletes is gone before the pods of the release come, in each lane
// that deletes hooks; a hook of the same release may still have it.
func TestDeleted(t *testing.T) {
	account := "\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: early, namespace: x, annotations: {helm.sh/hook: pre-install}}\n"
	runs := pod("{serviceAccountName: early, containers: [{name: m}]}")
	for name, c := range map[string]struct {
		ephemeral, hook bool
		by              lane.Order
		want            int
	}{
		"Helm":             {true, false, lane.Order{InOrder: true}, 1},
		"Argo CD":          {true, false, lane.Order{ArgoCD: true, Ready: true}, 1},
		"used by a hook":   {true, true, lane.Order{InOrder: true}, 0},
		"that stays":       {false, false, lane.Order{InOrder: true}, 0},
		"nothing deletes":  {true, false, lane.Order{AtOnce: true}, 0},
		"an ordinary twin": {true, false, lane.Order{InOrder: true}, 0},
	} {
		objects := account + "---" + runs
		if name == "an ordinary twin" {
			objects += "---" + strings.Replace(account, "annotations: {helm.sh/hook: pre-install}", "labels: {a: b}", 1)
		}
		e := expected(t, objects)
		e.Objects[0].Hook, e.Objects[0].Ephemeral, e.Workloads[0].Hook = true, c.ephemeral, c.hook
		if c.hook {
			e.Objects[1].Hook = true
			e.Objects[1].Object.SetAnnotations(map[string]string{"helm.sh/hook": "pre-install", "helm.sh/hook-weight": "1"})
		}
		found := Deadlocks(e, nil, c.by).Faults
		if len(found) != c.want {
			t.Errorf("%s: got %+v, want %d faults", name, found, c.want)
		}
		for _, f := range found {
			testkit.WantText(t, name, f.Finding.Cause, "Deployment x/web (x): runs as ServiceAccount x/early, a hook that is deleted once it has succeeded")
		}
	}
}

// A definition that a program of the recipe converts, which runs, is verified.
func TestConversions_Running(t *testing.T) {
	e := expected(t, strings.Replace(converts, "%", "", 1)+strings.Replace(serves, "spec: {", "spec: {selector: {app: svc}, ", 1))
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "svc-1", Labels: map[string]string{"app": "svc"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "runs"}}}}
	service := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "svc"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "svc"}}}
	for image, noted := range map[string]bool{"runs": false, "other": true} {
		r := checkAll(e, nil, &facts.Live{View: &observe.View{Pods: []corev1.Pod{pod}}, Services: []corev1.Service{service}, Runs: func(c *corev1.Container) bool { return c.Image == image }})
		if got := slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "are converted by Service x/svc") }); got != noted {
			t.Errorf("pods of %s run: noted %t; %q", image, got, r.Notes)
		}
	}
}
