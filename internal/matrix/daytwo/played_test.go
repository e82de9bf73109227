package daytwo

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/lanetest"
)

// What an operator has made is there before the delivery that renders it: Helm takes nothing over.
func TestFill_Made(t *testing.T) {
	const (
		certificate = `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: ns, name: tls}, spec: {secretName: certs}}`
		secret      = `{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: certs}, data: {tls.crt: YQ==}}`
	)
	for name, tc := range map[string]struct {
		before, now string
		live        []string
		made        bool
	}{
		"by a Certificate":        {certificate, secret, nil, true},
		"it is there":             {certificate, secret, []string{secret}, false},
		"another name":            {strings.Replace(certificate, "secretName: certs", "secretName: other", 1), secret, nil, false},
		"another namespace":       {strings.Replace(certificate, "namespace: ns", "namespace: other", 1), secret, nil, false},
		"rendered by both":        {secret, secret, nil, false},
		"nothing is rendered":     {certificate, certificate, nil, false},
		"a hook deletes it first": {certificate, "hook-b " + secret, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			env := envWith(t, tc.live...)
			filled, err := Fill(t.Context(), env, &lanetest.Lane{}, Bundles{Before: bundleOf(t, tc.before), Now: bundleOf(t, tc.now)})
			if err != nil {
				t.Fatal(err)
			}
			secrets := env.Clients.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace("ns")
			live, err := secrets.Get(t.Context(), "certs", metav1.GetOptions{})
			if !tc.made {
				if len(tc.live) == 0 && err == nil {
					t.Errorf("got %v, want none", live.Object)
				}
				return
			}
			if err != nil || live.Object["type"] != "kubernetes.io/tls" || lengths(live)["tls.key"] == 0 || len(live.GetAnnotations()) > 0 {
				t.Fatalf("got %v, %v", live, err)
			}
			testkit.WantText(t, "notes", strings.Join(filled.Played(), "\n"), "Secret ns/certs is what Certificate.cert-manager.io ns/tls makes")
			if err := filled.Taken(t.Context(), env, &lanetest.Lane{}, "the upgrade", reason.UpgradeDiverged); err != nil {
				t.Error(err)
			}
			if live, err = secrets.Get(t.Context(), "certs", metav1.GetOptions{}); err != nil || lengths(live)["tls.key"] > 0 || lengths(live)["tls.crt"] == 0 {
				t.Errorf("got %v, %v, want what the bundle renders", live, err)
			}
		})
	}
	b := Bundles{Before: bundleOf(t, certificate), Now: bundleOf(t, secret)}
	err := reason.New(reason.DeployFailed, "%s", `Secret "certs" in namespace "ns" exists and cannot be imported into the current release: invalid ownership metadata; label validation error: missing key`)
	testkit.WantText(t, "details", strings.Join(result.VerdictOf(Failed(UpgradeFrom("main"), err, b, nil)).Details, "\n"), "since the operator of Certificate.cert-manager.io ns/tls made it (component b, b/templates/x.yaml), and Helm takes nothing over")
}

type vouching struct{ lanetest.Cluster }

func (vouching) Authority() []byte { return []byte("an authority") }

// An injector's caBundle is there before a conversion goes: server-side apply leaves it, and what is said
// of that names it.
func TestFill_Injected(t *testing.T) {
	crd := func(spec string) string {
		return `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: kits}, spec: {` + spec + `}}`
	}
	const converts = `conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: b, namespace: ns}}}}`
	for name, tc := range map[string]struct {
		before, now string
		writes      bool
	}{
		"the conversion goes": {converts, "", true},
		"it stays":            {converts, converts, false},
		"by a URL":            {strings.Replace(converts, "service: {name: b, namespace: ns}", `url: "https://x"`, 1), "", false},
		"a chart's own":       {strings.Replace(converts, "service:", "caBundle: YQ==, service:", 1), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			env, b := envWith(t, crd(tc.before)), Bundles{Before: bundleOf(t, crd(tc.before)), Now: bundleOf(t, crd(tc.now))}
			env.Cluster = vouching{}
			filled, err := Fill(t.Context(), env, &lanetest.Lane{}, b)
			if err != nil || (len(filled.Played()) > 0) != tc.writes {
				t.Fatalf("got %v, %q", err, filled.Played())
			}
			live, err := read(t.Context(), env, &b.Before.Expectation.Objects[0])
			if err != nil || (converter(live)["caBundle"] == "YW4gYXV0aG9yaXR5") != tc.writes {
				t.Errorf("got %v, %v", live.Object, err)
			}
			said := reason.New(reason.DeployFailed, "%s", `CustomResourceDefinition.apiextensions.k8s.io "kits" is invalid: [spec.conversion.strategy: Required value, spec.conversion.webhookClientConfig: Forbidden: should not be set]`)
			if got := strings.Contains(strings.Join(result.VerdictOf(Failed(UpgradeFrom("main"), said, b, nil)).Details, "\n"), "CustomResourceDefinition kits: spec.conversion.webhook is not rendered any more (component b, b/templates/x.yaml), and its caBundle stays"); got != tc.writes {
				t.Errorf("it is explained: %t", got)
			}
		})
	}
}

// What a policy or a rule of the recipe itself does not let change is named.
func TestFailed_Transitions(t *testing.T) {
	b := Bundles{
		Before: bundleOf(t, `{apiVersion: x.y/v1, kind: Mode, metadata: {namespace: ns, name: one}, spec: {mode: fast}}`),
		Now: bundleOf(t, `{apiVersion: x.y/v1, kind: Mode, metadata: {namespace: ns, name: one}, spec: {mode: slow}}`,
			`a {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: no-fewer}}`),
	}
	for said, want := range map[string]string{
		`Mode.x.y "one" is invalid: spec.mode: Invalid value: "slow": mode cannot be changed`:                                            `Mode one: spec.mode cannot be changed; component b, template b/templates/x.yaml; it changes spec.mode: "fast", then "slow"; it must be deleted before the upgrade`,
		`Mode.x.y "one" is invalid: spec.mode: Invalid value: "slow": failed rule: self == oldSelf`:                                      `Mode one: spec.mode cannot be changed; component b`,
		`Mode.x.y "one" is invalid: spec.mode: Invalid value: "slow": mode is no word`:                                                   "",
		`deployments.apps "b" is forbidden: ValidatingAdmissionPolicy 'no-fewer' with binding 'no-fewer' denied request: fewer replicas`: "ValidatingAdmissionPolicy no-fewer is the recipe's own (component a, a/templates/x.yaml), and in force from before the upgrade",
	} {
		got := strings.Join(result.VerdictOf(Failed(UpgradeFrom("main"), reason.New(reason.DeployFailed, "%s", said), b, nil)).Details, "\n")
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", said, got, want)
		}
	}
}

// What waits is no longer waited for once a definition that another release has now was deleted.
func TestLane_Deleted(t *testing.T) {
	b := Bundles{Before: bundleOf(t, "a "+definition), Now: bundleOf(t, "crds "+definition)}
	for name, tc := range map[string]struct {
		live []string
		want lane.ItemState
	}{
		"gone":       {nil, lane.ItemSuspect},
		"made again": {[]string{strings.Replace(definition, "uid: u", "uid: v", 1)}, lane.ItemSuspect},
		"it stays":   {[]string{definition}, lane.ItemWaiting},
	} {
		l := &recordLane{}
		l.Says = func(time.Duration) (lane.State, error) {
			return lane.State{Items: []lane.Item{{ID: "Release a", State: lane.ItemWaiting}}}, nil
		}
		state, err := (&Lane{Lane: l, Bundles: b, Was: func(result.Ref) types.UID { return "u" }}).Poll(context.Background(), envWith(t, tc.live...))
		if err != nil || state.Items[0].State != tc.want || tc.want == lane.ItemSuspect && state.Items[0].Reason != reason.DeployFailed {
			t.Errorf("%s: got %+v, %v", name, state.Items[0], err)
		}
	}
}

// A token Secret that gets another account is deleted: that is said of it, and not waited for.
func TestLane_TokenDeleted(t *testing.T) {
	token := func(account string) string {
		return `{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {namespace: ns, name: token, annotations: {kubernetes.io/service-account.name: ` + account + `}}}`
	}
	for name, tc := range map[string]struct {
		now  string
		live []string
		want bool
	}{
		"gone":             {token("two"), nil, true},
		"not yet":          {token("two"), []string{token("two")}, false},
		"the same account": {token("one"), nil, false},
	} {
		b := Bundles{Before: bundleOf(t, token("one")), Now: bundleOf(t, tc.now)}
		l := &recordLane{}
		l.Says = func(time.Duration) (lane.State, error) {
			return lane.State{Items: []lane.Item{{ID: "HelmRelease b", State: lane.ItemWaiting}}}, nil
		}
		state, err := (&Lane{Lane: l, Bundles: b, Was: func(result.Ref) types.UID { return "u" }}).Poll(t.Context(), envWith(t, tc.live...))
		if it := state.Items[0]; err != nil || (it.State == lane.ItemSuspect) != tc.want || tc.want && !strings.Contains(it.Text, "makes it the token of ServiceAccount two, and it has the UID of ServiceAccount one") {
			t.Errorf("%s: got %+v, %v", name, it, err)
		}
		ref := b.Now.Expectation.Objects[0].Ref()
		missing := &reason.Error{Reason: reason.DeployFailed, Err: result.NewFailure(result.Finding{Object: &ref, Cause: "does not exist"})}
		if got := strings.Contains(strings.Join(result.VerdictOf(Failed(UpgradeFrom("main"), missing, b, nil)).Details, "\n"), "token controller"); got != (tc.now != token("one")) {
			t.Errorf("%s: the reason of what is missing: %v", name, got)
		}
	}
}

// A port of the nodes, or an address, that the old Service of another name has still is named with it.
func TestFailed_Allocated(t *testing.T) {
	service := func(name, spec string) string {
		return `{apiVersion: v1, kind: Service, metadata: {namespace: ns, name: ` + name + `}, spec: {` + spec + `}}`
	}
	const port, address = `ports: [{port: 80, nodePort: 30080}]`, `clusterIP: 10.0.0.50`
	for name, tc := range map[string]struct{ before, now, said, want string }{
		"removed": {service("web", port), service("b-web", port), `Service "b-web" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated`, "30080 still belongs to Service ns/web (component b, b/templates/x.yaml), which the upgrade removes only after Service b-web"},
		"address": {service("web", address), service("b-web", address), `Service "b-web" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.50"]: failed to allocate IP 10.0.0.50: provided IP is already allocated`, "10.0.0.50 still belongs to Service ns/web"},
		"kept":    {service("web", port), service("web", port), `Service "b-web" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated`, ""},
	} {
		got := strings.Join(result.VerdictOf(Failed(UpgradeFrom("main"), reason.New(reason.DeployFailed, "%s", tc.said), Bundles{Before: bundleOf(t, tc.before), Now: bundleOf(t, tc.now)}, nil)).Details, "\n")
		if !strings.Contains(got, tc.want) || tc.want == "" && strings.Contains(got, "still (component") {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// A workload lacks what the upgrade removed, since it is rendered at installations only: that is the
// upgrade's. What nothing renders, or was never there, is the recipe's.
func TestLost_InstalledOnly(t *testing.T) {
	const secret = `{apiVersion: v1, kind: Secret, metadata: {namespace: ns, name: pw}}`
	failed := &reason.Error{Reason: reason.WorkloadFailed, Err: result.NewFailure(result.Finding{Cause: "Deployment ns/web (b): takes P from Secret ns/pw, which does not exist, and nothing in the recipe makes it"})}
	for name, tc := range map[string]struct {
		now  string
		uid  types.UID
		want bool
	}{"rendered": {secret, "u", true}, "not there before": {secret, "", false}, "not rendered": {strings.Replace(secret, "pw", "other", 1), "u", false}, "a hook": {"hook-b " + secret, "u", false}} {
		err := Lost(t.Context(), "the upgrade from main", failed, envWith(t), Bundles{Before: bundleOf(t, secret), Now: bundleOf(t, tc.now)}, func(result.Ref) types.UID { return tc.uid })
		v := result.VerdictOf(err)
		if (v.Reason == reason.UpgradeFailed) != tc.want {
			t.Errorf("%s: got %v", name, err)
		}
		if tc.want {
			testkit.WantText(t, name, v.Cause+"\n"+strings.Join(v.Details, "\n"), "the upgrade from main: Secret ns/pw was deleted, and Deployment ns/web (b): takes P from Secret ns/pw, which does not exist", "Secret ns/pw is not rendered when a release is upgraded (component b, b/templates/x.yaml), so that Helm removes it")
			if strings.Contains(v.Cause, "nothing in the recipe") {
				t.Errorf("got %s", v.Cause)
			}
		}
	}
}

// A component is not removed while a hook of its removal has no node: that is said within seconds.
func TestLane_Farewell(t *testing.T) {
	pod := testkit.Pod("bye-1", "Job", "bye", "", testkit.Refused("0/6 nodes are available"))
	pod.Namespace, pod.Labels = "ns-d", map[string]string{"batch.kubernetes.io/job-name": "bye"}
	for name, tc := range map[string]struct {
		hook string
		now  string
		want bool
	}{
		"of a removal":        {"pre-delete", "b", true},
		"of an upgrade":       {"pre-upgrade", "b", false},
		"the component stays": {"pre-delete", "d", false},
	} {
		object := func(release string) string {
			return release + " {apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: x}}"
		}
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns-d", Name: "bye", Annotations: map[string]string{"helm.sh/hook": tc.hook}}}
		env := envWith(t)
		env.Clients.Kube = fake.NewClientset(job, pod)
		it := lane.Item{State: lane.ItemWaiting}
		Bundles{Before: bundleOf(t, object("b"), object("d")), Now: bundleOf(t, object(tc.now))}.farewell(t.Context(), env, &it)
		if (it.State == lane.ItemSuspect) != tc.want || tc.want && it.Text != "Job ns-d/bye, a hook (pre-delete) of release d, which the recipe has no more, cannot run: 0/6 nodes are available; so that component d is not removed" {
			t.Errorf("%s: got %+v", name, it)
		}
	}
}

// A volume that had no type, and has one now, has two for the API server: that is said of it.
func TestFailed_TwoTypes(t *testing.T) {
	with := func(volume string) *bundle.Bundle {
		return bundleOf(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: ns, name: web}, spec: {template: {spec: {volumes: [{name: v`+volume+`}]}}}}`)
	}
	for was, want := range map[string]bool{"": true, ", emptyDir: {}": false} {
		err := reason.New(reason.DeployFailed, "%s", `Deployment.apps "web" is invalid: [spec.template.spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type, spec.template.spec.containers[0].volumeMounts[0].name: Not found: "v"]`)
		got := strings.Join(result.VerdictOf(Failed(UpgradeFrom("main"), err, Bundles{Before: with(was), Now: with(", configMap: {name: c}")}, nil)).Details, "\n")
		if strings.Contains(got, "Deployment web: volume v had no type before the upgrade (component b, b/templates/x.yaml), and the API server made it an emptyDir") != want {
			t.Errorf("%q: got %q", was, got)
		}
	}
}
