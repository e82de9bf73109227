package podrun

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
)

func TestListens_Place(t *testing.T) {
	ports := host.NewPorts(t.TempDir())
	flags := []infra.Listen{{Flag: "web.listen-address", Default: ":8080"}, {Flag: "secure-port", Default: "6443"}, {Flag: "metrics"}}
	for _, c := range []struct{ args, want []string }{
		{nil, []string{"--web.listen-address=127.0.0.1:P8080", "--secure-port=P6443"}},
		{[]string{"--web.listen-address=:10250", "-x", "-secure-port", "1"}, []string{"--web.listen-address=127.0.0.1:P10250", "-x", "-secure-port", "P1"}},
		{[]string{"--secure-port=0", "--web.listen-address=[::]:7", "--metrics=0.0.0.0:9"}, []string{"--secure-port=0", "--web.listen-address=127.0.0.1:P7", "--metrics=127.0.0.1:P9"}},
	} {
		l := listens{of: map[int]int{}}
		got, err := l.place(ports, flags, c.args)
		if err != nil {
			t.Fatal(err)
		}
		again, err := l.place(ports, flags, c.args)
		if err != nil || !slices.Equal(got, again) {
			t.Errorf("%q, started again: %q, %v; want %q", c.args, again, err, got)
		}
		for meant, on := range l.of {
			if meant == on {
				t.Errorf("port %d is not another one", meant)
			}
			for i := range got {
				got[i] = strings.Replace(got[i], strconv.Itoa(on), "P"+strconv.Itoa(meant), 1)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.args, got, c.want)
		}
		l.release(ports)
	}
	l := listens{of: map[int]int{}}
	if _, err := l.place(ports, flags, []string{"--secure-port=https"}); err == nil || !strings.Contains(err.Error(), "--secure-port=https: want a port") {
		t.Errorf("a port that is none: %v", err)
	}
}

// The API server finds the process of a pod behind its Service, only while the pod is ready, and no
// process behind other Services.
func TestRoute(t *testing.T) {
	service := func(namespace, name, ip string, selector map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{
			ClusterIP: ip, Selector: selector, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromString("https")}, {Port: 80, TargetPort: intstr.FromInt(8080)}},
		}}
	}
	app := map[string]string{"app": "x"}
	r := &Runner{Options: Options{Clients: &infra.Clients{Kube: fake.NewClientset(
		service("n", "web", "10.0.0.1", app), service("m", "web", "10.0.0.2", app), service("n", "none", "10.0.0.3", nil), service("n", "other", "10.0.0.4", map[string]string{"app": "y"}))}}, pods: map[types.UID]*worker{}}
	p := podOf(func(_ *corev1.PodSpec, c *corev1.Container) {
		c.Ports = []corev1.ContainerPort{{Name: "https", ContainerPort: 10250}}
	})
	p.Namespace, p.Name, p.Labels = "n", "web-1", app
	w := newWorker(r, p)
	w.listens.of[10250] = 4711
	r.pods["1"] = w
	if _, ok, err := r.Route("web.n.svc:443"); ok || err == nil || !strings.Contains(err.Error(), "no pod of Service n/web is ready") {
		t.Errorf("before the pod is ready: %t, %v", ok, err)
	}
	w.ready.Store(true)
	for address, want := range map[string]string{
		"web.n.svc:443": "127.0.0.1:4711", "web.n.svc.cluster.local:443": "127.0.0.1:4711", "10.0.0.1:443": "127.0.0.1:4711",
		"10.0.0.1:81": "", "10.0.0.2:443": "", "web.m.svc:443": "", "10.0.0.3:443": "", "10.0.0.4:443": "", "gone.n.svc:443": "", "10.0.0.9:443": "", "nonsense": "",
	} {
		got, ok, err := r.Route(address)
		if got != want || ok != (want != "") || err != nil {
			t.Errorf("%s: got %q, %t, %v; want %q", address, got, ok, err, want)
		}
	}
	// The process has not got port 8080 from here: another program of the machine may listen there.
	if got, ok, err := r.Route("10.0.0.1:80"); ok || err == nil {
		t.Errorf("a port that the process does not own: %q, %t, %v", got, ok, err)
	}
	w.stop()
	if _, ok, err := r.Route("web.n.svc:443"); ok || err != nil {
		t.Errorf("once the pod is to end: %t, %v", ok, err)
	}
}

// The call of a webhook that fails open waits for its program, since nothing else would say that
// the webhook has not seen an object. One that fails closed does not: a deployer tries again.
func TestRoute_FailsOpen(t *testing.T) {
	app := map[string]string{"app": "x"}
	for name, c := range map[string]struct {
		policy  admissionv1.FailurePolicyType
		timeout int32
		when    []admissionv1.MatchCondition
		waits   bool
	}{
		"fails open": {admissionv1.Ignore, 30, nil, true}, "fails closed": {admissionv1.Fail, 30, nil, false}, "no time": {admissionv1.Ignore, 2, nil, false},
		"never called": {admissionv1.Ignore, 30, []admissionv1.MatchCondition{{Name: "n", Expression: "false"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Runner{Options: Options{Clients: &infra.Clients{Kube: fake.NewClientset(
				&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web"}, Spec: corev1.ServiceSpec{Selector: app, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt(10250)}}}},
				&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Webhooks: []admissionv1.ValidatingWebhook{{
					FailurePolicy: &c.policy, TimeoutSeconds: &c.timeout, MatchConditions: c.when, ClientConfig: admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "n", Name: "web"}},
				}}})}}, pods: map[types.UID]*worker{}}
			p := podOf(nil)
			p.Namespace, p.Name, p.Labels = "n", "web-1", app
			w := newWorker(r, p)
			w.listens.of[10250] = 4711
			r.pods["1"] = w
			time.AfterFunc(300*time.Millisecond, func() { w.ready.Store(true) })
			to, ok, err := r.Route("web.n.svc:443")
			if ok != c.waits || (err == nil) != c.waits || c.waits && to != "127.0.0.1:4711" {
				t.Errorf("got %q, %v, %v; want that it waits: %v", to, ok, err, c.waits)
			}
		})
	}
}

// Of a pod that runs the last error is told, unless simulated nodes are the reason.
func TestComplaints(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("level=error err=real\nlevel=error err=no-address\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &Runner{Options: Options{Programs: []infra.Program{{Image: "i", Noise: []string{"no-address"}}}}, pods: map[types.UID]*worker{}}
	p := podOf(nil)
	p.Namespace, p.Name = "n", "p"
	w := newWorker(r, p)
	w.log = file
	r.pods["1"] = w
	if got := r.Complaints("it failed"); len(got) != 1 || got[0] != "pod n/p says: level=error err=real" {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(file, []byte("level=error err=\"sync n/mine failed: bad version\"\nlevel=error err=\"sync n/other failed\"\nlevel=error err=no-address\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := r.Complaints("Deployment n/d (0/1 pods ready), not made yet from Prometheus n/mine"); len(got) != 1 || !strings.Contains(got[0], "bad version") {
		t.Errorf("about an object: got %q", got)
	}
	if got := r.Complaints("Prometheus n/third is not Available"); len(got) != 1 || !strings.Contains(got[0], "sync n/other failed") {
		t.Errorf("about none: got %q", got)
	}
}

// What a pod says of an error is found behind the usage that a program prints after it, and a log
// without one is quoted from its end.
func TestLastWords(t *testing.T) {
	usage := strings.Repeat("  -flag\n    \tdoes something\n", 80)
	for text, want := range map[string]string{
		"":             "",
		"a\nb\nc\nd\n": "b | c | d",
		"start\nflag provided but not defined: -x\nUsage:\n" + usage:                              "flag provided but not defined: -x",
		"ts=1 level=info msg=x\nts=2 level=error err=\"y is forbidden\"\nts=3 level=info msg=z\n": `ts=2 level=error err="y is forbidden"`,
		"E1126 01:00:00 x.go:1] broken\nE1126 01:00:01 x.go:1] err=\"Operation cannot be fulfilled on secrets \\\"a\\\": the object has been modified; please apply your changes to the latest version and try again\"\n": "E1126 01:00:00 x.go:1] broken",
		"ts=1 level=info msg=\"invalid rule\" err=\"unclosed left parenthesis\"\nts=2 level=info msg=x\n":                                                                                                                 "ts=1 level=info msg=\"invalid rule\" err=\"unclosed left parenthesis\"",
		"E1126 01:00:00 x.go:1] broken\nI1126 01:00:01 x.go:2] fine\n":                                                                                                                                                    "E1126 01:00:00 x.go:1] broken",
		"E1126 " + strings.Repeat("x", 500): "E1126 " + strings.Repeat("x", 394) + "…",
	} {
		file := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lastWords(file); got != want {
			t.Errorf("%.60q: got %.80q, want %.80q", text, got, want)
		}
	}
}
