package podrun

import (
	"bytes"
	"maps"
	"net"
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

// A program whose ports are in its configuration file gets free ones there: in the container's own
// file, or in one that is made for it. An argument goes before the file, and what cannot be read is
// left to the program.
func TestListens_Configure(t *testing.T) {
	ports := host.NewPorts(t.TempDir())
	program := infra.Program{
		Config:  &infra.ConfigFile{Flag: "config", APIVersion: "config.example/v1", Kind: "Configuration", Hosts: []string{"webhook.host"}},
		Listens: []infra.Listen{{Setting: "webhook.port", Default: "9443"}, {Setting: "metrics.bindAddress", Default: ":8443"}, {Flag: "health", Setting: "health.bind", Default: ":8081"}},
	}
	for _, c := range []struct {
		name, at, have string
		args           []string
		want           string
	}{
		{"none", "", "", nil, "apiVersion: config.example/v1\nhealth:\n  bind: 127.0.0.1:P8081\nkind: Configuration\nmetrics:\n  bindAddress: 127.0.0.1:P8443\nwebhook:\n  host: 127.0.0.1\n  port: P9443\n"},
		{"own", "", "kind: X\nleader: true\nwebhook: {port: 7000, host: \"\"}\nmetrics: {bindAddress: \"0\"}\n", []string{"--health=:5", "--config=/etc/own/c.yaml"},
			"kind: X\nleader: true\nmetrics:\n  bindAddress: \"0\"\nwebhook:\n  host: 127.0.0.1\n  port: P7000\n"},
		{"below the root", "ROOT", "kind: X\n", []string{"--config", "ROOT/etc/own/c.yaml"}, "health:\n  bind: 127.0.0.1:P8081\nkind: X\nmetrics:\n  bindAddress: 127.0.0.1:P8443\nwebhook:\n  host: 127.0.0.1\n  port: P9443\n"},
		{"not YAML", "", "{", []string{"--config=/etc/own/c.yaml"}, "{"},
		{"not a mapping where one is needed", "", "webhook: 5\n", []string{"--config=/etc/own/c.yaml"}, "webhook: 5\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &mounts{root: t.TempDir()}
			c.at = strings.Replace(c.at, "ROOT", m.root, 1)
			file := ownConfig
			if c.have != "" {
				file = "/etc/own/c.yaml"
				if err := os.MkdirAll(filepath.Join(m.root, "etc/own"), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(m.root, file), []byte(c.have), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for i := range c.args {
				c.args[i] = strings.Replace(c.args[i], "ROOT", m.root, 1)
			}
			l := listens{of: map[int]int{}}
			defer l.release(ports)
			args, err := l.configure(ports, program, m, c.at, c.args)
			if err != nil {
				t.Fatal(err)
			}
			if _, named := flagIn(args, "config"); named != c.at+file || (len(m.made) == 1) != (c.have == "") {
				t.Errorf("the program reads %q, made were %q; want %s", args, m.made, c.at+file)
			}
			raw, err := os.ReadFile(filepath.Join(m.root, file))
			got := string(raw)
			for meant, on := range l.of {
				got = strings.Replace(got, strconv.Itoa(on), "P"+strconv.Itoa(meant), 1)
			}
			if err != nil || got != c.want {
				t.Errorf("%v: the file is\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
	missing := []string{"--config=/etc/none.yaml"}
	if args, err := (&listens{of: map[int]int{}}).configure(ports, program, &mounts{root: t.TempDir()}, "", missing); err != nil || !slices.Equal(args, missing) {
		t.Errorf("a file that is not there: %q, %v", args, err)
	}
}

// A server whose port has no setting is switched off where the container's other features are set: the
// program rejects both places at once.
func TestSwitchOff(t *testing.T) {
	off := []infra.Off{{Gate: "Extra", Port: 8082}}
	for _, c := range []struct {
		have, want []string
		inFile     bool
	}{
		{[]string{"--config=c"}, []string{"--config=c"}, true},
		{[]string{"--feature-gates=A=true,Extra=true", "--config=c"}, []string{"--feature-gates=A=true,Extra=true,Extra=false", "--config=c"}, false},
		{[]string{"--feature-gates", "A=true"}, []string{"--feature-gates", "A=true,Extra=false"}, false},
	} {
		config := map[string]any{"featureGates": map[string]any{"B": true}}
		args, err := switchOff(off, c.have, config)
		gates, _ := config["featureGates"].(map[string]any)
		if _, set := gates["Extra"]; err != nil || !slices.Equal(args, c.want) || set != c.inFile || gates["B"] != true || set && gates["Extra"] != false {
			t.Errorf("%q: %v, %q, %v", c.have, err, args, config)
		}
	}
	if _, err := switchOff(off, nil, map[string]any{"featureGates": "none"}); err == nil {
		t.Error("featureGates that are no mapping: no error")
	}
}

// A volume has what its Secret has, also what comes and goes while the program runs, as a kubelet
// does it; another volume's files stay.
func TestUpdate(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "certs"}}
	kube := fake.NewClientset(secret)
	pod := podOf(func(s *corev1.PodSpec, c *corev1.Container) {
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "certs"}}}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/certs"}}
	})
	pod.Namespace = "n"
	w := &worker{r: &Runner{Options: Options{Clients: &infra.Clients{Kube: kube}}}, pod: pod, dir: t.TempDir()}
	c := &pod.Spec.Containers[0]
	m, err := w.mount(t.Context(), c)
	if err != nil || !w.followed() {
		t.Fatalf("%v; it is followed: %t", err, w.followed())
	}
	for _, data := range []map[string][]byte{{"tls.crt": []byte("1"), "tls.key": []byte("k")}, {"tls.crt": []byte("2")}, {}} {
		secret = secret.DeepCopy()
		secret.Data = data
		if _, err := kube.CoreV1().Secrets("n").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := w.update(t.Context(), m, "/certs", volume(pod, "v"), c); err != nil {
			t.Fatal(err)
		}
		got := map[string][]byte{}
		entries, err := os.ReadDir(filepath.Join(m.root, "certs"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if got[e.Name()], err = os.ReadFile(filepath.Join(m.root, "certs", e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		if !maps.EqualFunc(got, data, bytes.Equal) {
			t.Errorf("the volume has %q, want %q", got, data)
		}
	}
	away := t.TempDir()
	if err := os.RemoveAll(filepath.Join(m.root, "certs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, filepath.Join(m.root, "certs")); err != nil {
		t.Fatal(err)
	}
	secret.Data = map[string][]byte{"tls.key": []byte("k")}
	if _, err := kube.CoreV1().Secrets("n").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.update(t.Context(), m, "/certs", volume(pod, "v"), c); err == nil {
		t.Error("a Secret is written where a link of the process leads")
	}
	c.VolumeMounts[0].SubPath = "tls.crt"
	if w.followed() {
		t.Error("a mount with a subPath is followed; a kubelet never changes one")
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
	// One without a readiness probe is, once it listens.
	w.runs.Store(true)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	on := listener.Addr().(*net.TCPAddr).Port
	w.listens.of[10250] = on
	if to, ok, err := r.Route("web.n.svc:443"); !ok || to != loopback(on) {
		t.Errorf("without a readiness probe, once it listens: %q, %t, %v", to, ok, err)
	}
	w.pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
	if _, ok, _ := r.Route("web.n.svc:443"); ok {
		t.Error("with a readiness probe that has not passed, it has a route")
	}
	w.pod.Spec.Containers[0].ReadinessProbe = nil
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := r.Route("web.n.svc:443"); ok {
		t.Error("it does not listen any more, and has a route")
	}
	w.runs.Store(false)
	w.listens.of[10250] = 4711
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
	r.Programs = []infra.Program{{Image: p.Spec.Containers[0].Image, Off: []infra.Off{{Gate: "Extra", Port: 8080}}}}
	if got, ok, err := r.Route("10.0.0.1:80"); ok || err != nil {
		t.Errorf("a server that is switched off, which a stand-in answers for: %q, %t, %v", got, ok, err)
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
		"ts=1 level=info msg=x\nts=2 level=error err=\"y is forbidden\"\nts=3 level=info msg=z\n": `level=error err="y is forbidden"`,
		"E1126 01:00:00 x.go:1] broken\nE1126 01:00:01 x.go:1] err=\"Operation cannot be fulfilled on secrets \\\"a\\\": the object has been modified; please apply your changes to the latest version and try again\"\n": "E1126 01:00:00 x.go:1] broken",
		"ts=1 level=info msg=\"invalid rule\" err=\"unclosed left parenthesis\"\nts=2 level=info msg=x\n":                                                                                                                 "level=info msg=\"invalid rule\" err=\"unclosed left parenthesis\"",
		"ts=2026-11-28T10:56:39Z level=error caller=/src/a.go:691 msg=x err=y\n":                                                                                                                                          "level=error msg=x err=y",
		"level=warn msg=\"missing permission on resource prometheuses\" reason=\"missing update\"\nlevel=info msg=x\n":                                                                                                    "level=warn msg=\"missing permission on resource prometheuses\" reason=\"missing update\"",
		`{"level":"error","ts":"1","caller":"x.go:1","msg":"Reconciler error","controller":"c","namespace":"n","name":"m","error":"no room","stacktrace":"y"}`:                                                            "Reconciler error: no room (c, n/m)",
		"E1126 01:00:00 x.go:1] broken\nI1126 01:00:01 x.go:2] fine\n":                                                                                                                                                    "E1126 01:00:00 x.go:1] broken",
		"E1126 " + strings.Repeat("x", 500) + "the cause":                                                                                                                                                                 "E1126 " + strings.Repeat("x", 194) + " … " + strings.Repeat("x", 191) + "the cause",
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
