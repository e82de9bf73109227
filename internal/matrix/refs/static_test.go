package refs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/observe"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// authority is what genCA makes: each call has other keys. It signs a certificate for a host.
func authority(t *testing.T, host string) (ca, cert string) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, key, with *ecdsa.PrivateKey) string {
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, with)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host}}
	rootKey, leafKey := key(), key()
	return sign(root, root, rootKey, rootKey), sign(leaf, root, leafKey, rootKey)
}

func configuration(config string) string {
	return "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: hooks}\nwebhooks: [{name: w.example.com, " + config + "}]\n"
}

func secret(name, key, value string) string {
	return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: x}\ndata: {" + key + ": " + value + "}\n"
}

// seen are the faults and the warnings of the checks of one object kind.
func seen(r Report, kind string) (faults, warnings []string) {
	for _, f := range r.Faults {
		if f.Finding.Object.Kind == kind {
			faults = append(faults, strings.Join(f.Finding.Story, "\n"))
		}
	}
	for _, w := range r.Warnings {
		if strings.Contains(w, "caBundle") {
			warnings = append(warnings, w)
		}
	}
	return faults, warnings
}

func TestCABundle(t *testing.T) {
	ca, cert := authority(t, "svc.x.svc")
	other, _ := authority(t, "svc.x.svc")
	_, elsewhere := authority(t, "else.x.svc")
	call := "clientConfig: {service: {name: svc, namespace: x}"
	role := func(verbs string) string {
		return "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: " + verbs + "}]\n"
	}
	for name, c := range map[string]struct{ objects, fault, warning string }{
		"of its certificate":         {objects: configuration(call+", caBundle: "+ca+"}") + secret("tls", "tls.crt", cert)},
		"of another rendering":       {objects: configuration(call+", caBundle: "+other+"}") + secret("tls", "tls.crt", cert), fault: "webhook w.example.com has a caBundle that is not of the authority of the certificate in Secret x/tls"},
		"of another, fails open":     {objects: configuration(call+", caBundle: "+other+"}, failurePolicy: Ignore") + secret("tls", "tls.crt", cert), warning: "leaves the webhook out (failurePolicy Ignore)"},
		"certificate of another":     {objects: configuration(call+", caBundle: "+ca+"}") + secret("tls", "tls.crt", elsewhere)},
		"certificate is not in it":   {objects: configuration(call + ", caBundle: " + ca + "}")},
		"no PEM, cert-manager fills": {objects: strings.Replace(configuration(call+", caBundle: Cg==}"), "name: hooks", `name: hooks, annotations: {cert-manager.io/inject-ca-from: x/c}`, 1) + secret("tls", "tls.crt", cert)},
		"none":                       {objects: configuration(call + "}"), fault: "webhook w.example.com has no caBundle, and nothing in the recipe fills one in"},
		"none, and a role to read":   {objects: configuration(call+"}") + role("[get, list, watch]"), fault: "has no caBundle"},
		"none, and a role to patch":  {objects: configuration(call+"}") + role("[get, patch]")},
		"none, and a Job":            {objects: configuration(call+"}") + "---\n" + strings.Replace(pod("{containers: [{name: m, args: [--webhook-name=hooks]}]}"), "\n", "", 1)},
		"none, cert-manager fills":   {objects: strings.Replace(configuration(call+"}"), "name: hooks", `name: hooks, annotations: {cert-manager.io/inject-ca-from: x/c}`, 1)},
		"none, and an address":       {objects: configuration("clientConfig: {url: https://example.com}")},
		"loopback":                   {objects: configuration("clientConfig: {url: https://127.0.0.1:9443/v, caBundle: " + ca + "}"), fault: "webhook w.example.com calls https://127.0.0.1:9443/v, the API server's own machine, and nothing in the recipe serves it there"},
		"loopback by name":           {objects: configuration("clientConfig: {url: https://localhost/v}"), fault: "calls https://localhost/v, the API server's own machine"},
		"loopback, IPv6":             {objects: configuration("clientConfig: {url: 'https://[::1]:8443/v'}"), fault: "calls https://[::1]:8443/v, the API server's own machine"},
		"loopback, served":           {objects: configuration("clientConfig: {url: https://127.0.0.1:9443/v}") + "---\n" + strings.TrimPrefix(pod("{hostNetwork: true, containers: [{name: m, ports: [{containerPort: 9443}]}]}"), "\n")},
		"loopback, another port":     {objects: configuration("clientConfig: {url: https://127.0.0.1:9443/v}") + "---\n" + strings.TrimPrefix(pod("{hostNetwork: true, containers: [{name: m, ports: [{containerPort: 80}]}]}"), "\n"), fault: "the API server's own machine"},
		"loopback, fails open":       {objects: configuration("clientConfig: {url: https://127.0.0.1:9443/v}, failurePolicy: Ignore")},
		"of what its pods mount": {objects: configuration(call+", caBundle: "+ca+"}") + "---\n" + strings.TrimPrefix(pod("{containers: [{name: m}], volumes: [{name: v, secret: {secretName: tls}}]}"), "\n") +
			secret("tls", "tls.crt", cert) + secret("old", "tls.crt", cert)},
	} {
		t.Run(name, func(t *testing.T) {
			svc := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "svc"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 443}}}}
			r := checkAll(expected(t, "\n"+c.objects), nil, &facts.Live{View: &observe.View{Pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "web", Labels: map[string]string{"app": "web"}}}}}, Services: []corev1.Service{svc}})
			faults, warnings := seen(r, "ValidatingWebhookConfiguration")
			for _, x := range []struct {
				want string
				got  []string
			}{{c.fault, faults}, {c.warning, warnings}} {
				if x.want == "" && len(x.got) > 0 || x.want != "" && (len(x.got) != 1 || !strings.Contains(x.got[0], x.want)) {
					t.Errorf("got %q, want %q", x.got, x.want)
				}
			}
		})
	}
}

func TestWebhookOrder(t *testing.T) {
	hook := func(more string) string {
		return configuration("clientConfig: {url: https://example.com}, rules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]" + more)
	}
	config := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: o, namespace: y, labels: {app: o}}\n"
	for name, c := range map[string]struct {
		objects string
		after   []string
		want    bool
	}{
		"no order":            {objects: hook("") + config, want: true},
		"two webhooks":        {objects: hook("}, {name: v.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: https://example.com}, rules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: ['*']}]") + config, want: true},
		"in order":            {objects: hook("") + config, after: []string{"between"}},
		"fails open":          {objects: hook(", failurePolicy: Ignore") + config},
		"another kind":        {objects: hook("") + strings.Replace(config, "ConfigMap", "Secret", 1)},
		"another label":       {objects: hook(", objectSelector: {matchLabels: {app: p}}") + config},
		"its label":           {objects: hook(", objectSelector: {matchLabels: {app: o}}") + config, want: true},
		"another namespace":   {objects: hook(", namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [y]}]}") + config},
		"a condition besides": {objects: hook(", matchConditions: [{name: m, expression: 'false'}]") + config},
	} {
		t.Run(name, func(t *testing.T) {
			e := expected(t, c.objects)
			e.Objects[1].Component, e.Objects[1].Release = "y", "y"
			e.Releases = []bundle.Release{{Component: "x", Name: "x"}, {Component: "between", Name: "between", DependsOn: []string{"x"}}, {Component: "y", Name: "y", DependsOn: c.after}}
			r := checkAll(e, nil, &facts.Live{View: &observe.View{}})
			got := len(r.Warnings) == 1 && strings.Contains(r.Warnings[0], "o (y): webhook w.example.com of ValidatingWebhookConfiguration hooks (x) is for it and fails closed, and y does not depend on x")
			if got != c.want || !c.want && len(r.Warnings) > 0 {
				t.Errorf("got %q, want a warning: %v", r.Warnings, c.want)
			}
		})
	}
}

func TestCriticalPods(t *testing.T) {
	critical := pod("{priorityClassName: system-node-critical, containers: [{name: m}]}")
	quota := func(values string) string {
		return "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: x}\nspec: {scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: " + values + "}]}}\n"
	}
	for name, c := range map[string]struct {
		objects, label string
		want           bool
	}{
		"GKE":                  {critical, "cloud.google.com/gke-nodepool", true},
		"another quota":        {critical + quota("[high]"), "cloud.google.com/gke-nodepool", true},
		"its quota":            {critical + quota("[system-node-critical]"), "cloud.google.com/gke-nodepool", false},
		"kube-system":          {strings.ReplaceAll(critical, "namespace: x", "namespace: kube-system"), "cloud.google.com/gke-nodepool", false},
		"an ordinary priority": {pod("{priorityClassName: have, containers: [{name: m}]}"), "cloud.google.com/gke-nodepool", false},
		"EKS":                  {critical, "eks.amazonaws.com/nodegroup", false},
	} {
		t.Run(name, func(t *testing.T) {
			node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{c.label: "p"}}}
			r := checkAll(expected(t, c.objects), nil, &facts.Live{View: &observe.View{Nodes: []corev1.Node{node}}, PriorityClasses: map[string]bool{"have": true, "system-node-critical": true}})
			got := len(r.Faults) == 1 && strings.Contains(r.Faults[0].Finding.Cause, "has priority class system-node-critical, and namespace x has no ResourceQuota for it")
			if got != c.want || !c.want && len(r.Faults) > 0 {
				t.Errorf("got %+v, want a fault: %v", r.Faults, c.want)
			}
		})
	}
}

func TestDeadlocks(t *testing.T) {
	flux, argo, helm := lane.Order{Ready: true, Releases: true}, lane.Order{ArgoCD: true, Ready: true}, lane.Order{InOrder: true}
	helmfile := lane.Order{Ready: true, Needs: true}
	config := func(meta string) string {
		return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, namespace: x" + meta + "}\n"
	}
	hook := func(kind, weight string) string {
		return ", annotations: {helm.sh/hook: " + kind + ", helm.sh/hook-weight: '" + weight + "'}"
	}
	job := func(meta, spec string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: x" + meta + "}\nspec: {template: {spec: " + spec + "}}\n"
	}
	const mounts = "{containers: [{name: m, envFrom: [{configMapRef: {name: late}}]}]}"
	maker := func(meta string) string { return "---\n" + job(meta, "{containers: [{name: m, args: [--name=late]}]}") }
	account := "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: late, namespace: x}\n"
	web := strings.TrimPrefix(pod(mounts), "\n")
	for name, c := range map[string]struct {
		objects  string
		delivery lane.Order
		release  string // of the last object
		want     string
	}{
		"later release, Flux":                  {web + config(""), flux, "x-post", "takes its environment from ConfigMap x/late, which release x-post creates only later (x/templates/x.yaml), once this Deployment is ready"},
		"later release, nothing waits":         {web + config(""), argo, "x-post", ""},
		"later release, Helm":                  {web + config(""), helm, "x-post", ""},
		"another release, Flux":                {web + config(""), flux, "apart", ""},
		"optional":                             {strings.Replace(web, "name: late}", "name: late, optional: true}", 1) + config(""), flux, "x-post", ""},
		"pre-install hook, ordinary":           {job(hook("pre-install", "0"), mounts) + config(""), helm, "", "once this Job has finished; it is a hook"},
		"pre-install hook, all at once":        {job(hook("pre-install", "0"), mounts) + config(""), lane.Order{AtOnce: true}, "", ""},
		"pre-install hook, earlier hook":       {job(hook("pre-install", "0"), mounts) + config(hook("pre-install", "-5")), helm, "", ""},
		"pre-install hook, later hook":         {job(hook("pre-install", "0"), mounts) + config(hook("pre-install", "5")), helm, "", "the same release creates only later"},
		"pre-install hook, account":            {job(hook("pre-install", "0"), "{serviceAccountName: late, containers: [{name: m}]}") + account, flux, "", "runs as ServiceAccount x/late, which the same release creates only later"},
		"account by its older name":            {job(hook("pre-install", "0"), "{serviceAccount: late, containers: [{name: m}]}") + account, flux, "", "runs as ServiceAccount x/late, which the same release creates only later"},
		"pre-upgrade hook, Argo CD":            {job(hook("pre-upgrade", "0"), "{serviceAccountName: late, containers: [{name: m}]}") + account, argo, "", "runs as ServiceAccount x/late, which the same release creates only later"},
		"pre-upgrade hook, Flux":               {job(hook("pre-upgrade", "0"), "{serviceAccountName: late, containers: [{name: m}]}") + account, flux, "", ""},
		"post-upgrade hook, Argo CD":           {job(hook("post-upgrade", "0"), mounts) + config(""), argo, "", ""},
		"post-install hook":                    {job(hook("post-install", "0"), mounts) + config(""), flux, "", ""},
		"pre-install hook, needed, Helmfile":   {job(hook("pre-install", "0"), mounts) + config(""), helmfile, "x-post", "release x-post creates only later"},
		"pre-install hook, apart, Helmfile":    {job(hook("pre-install", "0"), mounts) + config(""), helmfile, "apart", ""},
		"needed, Helmfile":                     {web + config(""), helmfile, "x-post", "takes its environment from ConfigMap x/late, which release x-post creates only later"},
		"apart, Helmfile":                      {web + config(""), helmfile, "apart", ""},
		"needed, Helmfile without wait":        {web + config(""), helmfile, "x-post without wait", ""},
		"post-install hook, Helmfile":          {web + config(hook("post-install", "0")), helmfile, "", "creates only later"},
		"pre-install hook, later release":      {job(hook("pre-install", "0"), mounts) + config(""), helm, "x-post", "release x-post creates only later"},
		"ordinary, post-install hook":          {web + config(hook("post-install", "0")), flux, "", "creates only later"},
		"ordinary, post-install, Helm":         {web + config(hook("post-install", "0")), helm, "", ""},
		"sync wave, Argo CD":                   {web + config(", annotations: {argocd.argoproj.io/sync-wave: '3'}"), argo, "", "creates only later"},
		"sync wave, Flux":                      {web + config(", annotations: {argocd.argoproj.io/sync-wave: '3'}"), flux, "", ""},
		"PreSync is earlier, in Argo CD":       {web + config(", annotations: {argocd.argoproj.io/hook: PreSync}"), argo, "", ""},
		"made by a post-install hook, Flux":    {web + maker(hook("post-install", "0")), flux, "", "takes its environment from ConfigMap x/late, which only Job x/j of the same release makes (x/templates/x.yaml), and that runs once this Deployment is ready"},
		"made by a PostSync hook, Argo CD":     {web + maker(", annotations: {argocd.argoproj.io/hook: PostSync}"), argo, "", "which only Job x/j of the same release makes"},
		"made in a later wave, Argo CD":        {web + maker(", annotations: {argocd.argoproj.io/sync-wave: '3'}"), argo, "", "which only Job x/j of the same release makes"},
		"made by a post-install hook, Helm":    {web + maker(hook("post-install", "0")), helm, "", ""},
		"made by a pre-install hook, Flux":     {web + maker(hook("pre-install", "0")), flux, "", ""},
		"made by a PreSync hook, Argo CD":      {web + maker(", annotations: {argocd.argoproj.io/hook: PreSync}"), argo, "", ""},
		"made by an ordinary Job":              {web + maker(""), flux, "", ""},
		"made by two, one of which is in time": {web + maker(hook("post-install", "0")) + strings.Replace(maker(""), "name: j", "name: k", 1), flux, "", ""},
		"made by a later release, Flux":        {web + maker(""), flux, "x-post", "which only Job x/j of release x-post makes"},
		"made by a later release, no wait":     {web + maker(""), flux, "x-post without wait", ""},
		"filled by a post-install hook":        {strings.Replace(web, "envFrom: [{configMapRef: {name: late}}]", "env: [{name: A, valueFrom: {configMapKeyRef: {name: late, key: k}}}]", 1) + config("") + maker(hook("post-install", "0")), flux, "", "takes A from key k of ConfigMap x/late, which only Job x/j"},
		"rendered, and changed by a hook":      {web + config("") + maker(hook("post-install", "0")), flux, "", ""},
		"two of them, one of which is now":     {web + config("") + config(hook("post-install", "0")), flux, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := expected(t, c.objects)
			for i := range e.Workloads {
				e.Workloads[i].Hook = strings.Contains(c.objects, "kind: Job") && e.Workloads[i].Kind == "Job"
			}
			release, unawaited := strings.CutSuffix(c.release, " without wait")
			if release != "" {
				e.Objects[len(e.Objects)-1].Release = release
			}
			e.Releases = []bundle.Release{{Name: "x", Given: bundle.Given{Unawaited: unawaited}}, {Name: "x-post", DependsOn: []string{"x"}}, {Name: "apart"}}
			of := func(name string) result.Ref { return result.Ref{Kind: "HelmRelease", Name: name} }
			e.Delivered = []bundle.Delivered{{Ref: of("x")}, {Ref: of("between"), DependsOn: []result.Ref{of("x")}}, {Ref: of("x-post"), DependsOn: []result.Ref{of("between")}}, {Ref: of("apart")}}
			r := Deadlocks(e, nil, c.delivery)
			if got := len(r.Faults) == 1 && strings.Contains(r.Faults[0].Finding.Cause, c.want); got != (c.want != "") || c.want == "" && len(r.Faults) > 0 {
				t.Errorf("got %+v, want %q", r.Faults, c.want)
			}
		})
	}
}

// A release that is not waited for has no effect on the order of others (F293).
func TestDeadlocks_Unawaited(t *testing.T) {
	const mounts = "{containers: [{name: m, envFrom: [{configMapRef: {name: late}}]}]}"
	of := func(name string) result.Ref { return result.Ref{Kind: "HelmRelease", Name: name} }
	for release, faults := range map[string]int{"": 1, "apart": 1, "x-post": 1, "x": 0} {
		e := expected(t, strings.TrimPrefix(pod(mounts), "\n")+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, namespace: x}\n")
		e.Objects[1].Release = "x-post"
		for _, name := range []string{"x", "x-post", "apart"} {
			e.Releases = append(e.Releases, bundle.Release{Name: name, Given: bundle.Given{Unawaited: name == release}})
		}
		e.Delivered = []bundle.Delivered{{Ref: of("x")}, {Ref: of("x-post"), DependsOn: []result.Ref{of("x")}}, {Ref: of("apart")}}
		if r := Deadlocks(e, nil, lane.Order{Ready: true, Releases: true}); len(r.Faults) != faults {
			t.Errorf("%q is not waited for: got %+v", release, r.Faults)
		}
	}
}

// Two releases are one to Helm if they have one name in one namespace.
func TestDeadlocks_SameRelease(t *testing.T) {
	release := func(name, helm, namespace string) bundle.Release {
		return bundle.Release{Name: name, Component: name, Namespace: namespace, Given: bundle.Given{HelmName: helm}}
	}
	for name, c := range map[string]struct {
		releases []bundle.Release
		by       lane.Order
		want     string
	}{
		"Flux":              {[]bundle.Release{release("a", "web", "x"), release("b", "web", "x")}, lane.Order{Flux: true, Ready: true}, "HelmRelease.helm.toolkit.fluxcd.io b (b): installs Helm release web in namespace x, and so does a"},
		"Helm":              {[]bundle.Release{release("a", "", "x"), release("b", "a", "x")}, lane.Order{InOrder: true}, "installs Helm release a in namespace x, and so does a"},
		"Argo CD":           {[]bundle.Release{release("a", "web", "x"), release("b", "web", "x")}, lane.Order{ArgoCD: true}, ""},
		"all at once":       {[]bundle.Release{release("a", "web", "x"), release("b", "web", "x")}, lane.Order{AtOnce: true}, ""},
		"another namespace": {[]bundle.Release{release("a", "web", "x"), release("b", "web", "y")}, lane.Order{Flux: true}, ""},
	} {
		got := ""
		r := Deadlocks(&bundle.Expectation{Releases: c.releases}, nil, c.by)
		for _, f := range r.Faults {
			got += f.Finding.Cause
		}
		if got != c.want && (c.want == "" || !strings.Contains(got, c.want)) || c.want != "" && reason.Of(r.Err()) != reason.DeployFailed {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Hooks of Argo CD's are said to be none for others.
func TestForOthers(t *testing.T) {
	hook := func(annotation string) *bundle.Expectation {
		return expected(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: x, annotations: {"+annotation+"}}\n")
	}
	for annotation, want := range map[string]string{"argocd.argoproj.io/hook: PreSync": "1 hook: only Argo CD reads the annotation argocd.argoproj.io/hook of these; in this lane they are ordinary objects, which come with all others and stay: ConfigMap x/c (x)", "helm.sh/hook: pre-install": "", "argocd.argoproj.io/hook: nonsense": ""} {
		if got := strings.Join(ForOthers(hook(annotation), lane.Order{InOrder: true}), "\n"); got != want {
			t.Errorf("%s: got %q, want %q", annotation, got, want)
		}
		if got := ForOthers(hook(annotation), lane.Order{ArgoCD: true}); got != nil {
			t.Errorf("Argo CD, %s: got %q", annotation, got)
		}
	}
}

// A release that a webhook of its own refuses can never be installed, if only a hook makes the API
// server trust the webhook (F154).
func TestDeadlocks_OwnWebhook(t *testing.T) {
	const service = "clientConfig: {service: {name: svc, namespace: x}"
	const rules = ", rules: [{apiGroups: [example.com], apiVersions: ['*'], operations: [CREATE], resources: [rules]}]"
	const object = "---\napiVersion: example.com/v1\nkind: Rule\nmetadata: {name: own, namespace: x}\n"
	job := func(meta string) string {
		return "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: patch, namespace: x" + meta + "}\nspec: {template: {spec: {containers: [{name: m, args: [--webhook-name=hooks]}]}}}\n"
	}
	const post = ", annotations: {helm.sh/hook: post-install}"
	whole := configuration(service+"}"+rules) + object + job(post)
	for name, c := range map[string]struct {
		objects string
		by      lane.Order
		want    bool
	}{
		"its own object, helm":   {whole, lane.Order{InOrder: true}, true},
		"its own object, Flux":   {whole, lane.Order{Ready: true, Releases: true}, true},
		"its own object, Argo":   {whole, lane.Order{ArgoCD: true, Ready: true}, true},
		"hooks are no hooks":     {whole, lane.Order{AtOnce: true}, false},
		"fails open":             {configuration(service+"}, failurePolicy: Ignore"+rules) + object + job(post), lane.Order{InOrder: true}, false},
		"for another kind":       {configuration(service+"}"+rules) + strings.Replace(object, "Rule", "Other", 1) + job(post), lane.Order{InOrder: true}, false},
		"a hook before it":       {configuration(service+"}"+rules) + object + job(", annotations: {helm.sh/hook: pre-install}"), lane.Order{InOrder: true}, false},
		"an ordinary Job":        {configuration(service+"}"+rules) + object + job(""), lane.Order{InOrder: true}, false},
		"cert-manager fills":     {strings.Replace(whole, "name: hooks", "name: hooks, annotations: {cert-manager.io/inject-ca-from: x/c}", 1), lane.Order{InOrder: true}, false},
		"its object is a hook":   {configuration(service+"}"+rules) + strings.Replace(object, "namespace: x", "namespace: x"+post, 1) + job(post), lane.Order{InOrder: true}, false},
		"Helm creates it before": {configuration(service+"}"+strings.NewReplacer("example.com", "''", "rules]", "configmaps]").Replace(rules)) + strings.NewReplacer("example.com/v1", "v1", "Rule", "ConfigMap").Replace(object) + job(post), lane.Order{InOrder: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := expected(t, c.objects)
			for i := range e.Objects {
				e.Objects[i].Hook = e.Objects[i].Object.GetAnnotations()["helm.sh/hook"] != ""
			}
			r := Deadlocks(e, nil, c.by)
			got := len(r.Faults) == 1 && strings.Contains(strings.Join(r.Faults[0].Finding.Story, "\n"), "webhook w.example.com is for Rule.example.com x/own of the same release and fails closed")
			if got != c.want || !c.want && len(r.Faults) > 0 {
				t.Errorf("got %+v, want a fault: %v", r.Faults, c.want)
			}
		})
	}
}
