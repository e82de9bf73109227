package podrun

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
)

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "1", "B": "two"}
	for text, want := range map[string]string{
		"$(A)/$(B)": "1/two", "$$(A)": "$(A)", "$(UNKNOWN)": "$(UNKNOWN)", "$A": "$A", "cost: 5$": "cost: 5$", "$(A": "$(A", "": "",
	} {
		if got := expand(text, env); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A path of a mount is found where it is one, and nowhere else.
func TestWithin(t *testing.T) {
	m := &mounts{root: "/pod/root", paths: []string{"/etc/x/deep", "/etc/x"}}
	for text, want := range map[string]string{
		"/etc/x":                       "/pod/root/etc/x",
		"/etc/x/file":                  "/pod/root/etc/x/file",
		"--config=/etc/x/file":         "--config=/pod/root/etc/x/file",
		"/etc/x/deep/a:/etc/x/b":       "/pod/root/etc/x/deep/a:/pod/root/etc/x/b",
		"/etc/xy":                      "/etc/xy",
		"https://host/etc/x":           "https://host/etc/x",
		"/other/etc/x":                 "/other/etc/x",
		"{\"file\": \"/etc/x/f\"}":     "{\"file\": \"/pod/root/etc/x/f\"}",
		"../etc/x and relative/etc/x/": "../etc/x and relative/etc/x/",
	} {
		if got := m.within(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func podOf(change func(*corev1.PodSpec, *corev1.Container)) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Command: []string{"/app"}}}}}
	if change != nil {
		change(&p.Spec, &p.Spec.Containers[0])
	}
	return p
}

func hasProgram(c *corev1.Container) (infra.Program, bool) {
	return infra.Program{Image: c.Image}, c.Image == "i"
}

func TestUnsupported(t *testing.T) {
	exec := func(command ...string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}}
	}
	mounted := func(at string, source corev1.VolumeSource) func(*corev1.PodSpec, *corev1.Container) {
		return func(s *corev1.PodSpec, c *corev1.Container) {
			s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}}
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: at})
		}
	}
	web := []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}
	http := func(port intstr.IntOrString, host string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: port, Host: host}}}
	}
	scratch := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
	for want, change := range map[string]func(*corev1.PodSpec, *corev1.Container){
		"":              nil,
		"it has 2 cont": func(s *corev1.PodSpec, c *corev1.Container) { s.Containers = append(s.Containers, *c) },
		"its init container c: its image other has": func(s *corev1.PodSpec, c *corev1.Container) {
			s.InitContainers = []corev1.Container{*c}
			s.InitContainers[0].Image = "other"
		},
		"it is to run beside the others": func(s *corev1.PodSpec, c *corev1.Container) {
			always := corev1.ContainerRestartPolicyAlways
			s.InitContainers = []corev1.Container{*c}
			s.InitContainers[0].RestartPolicy = &always
		},
		"its init container c: its command is": func(s *corev1.PodSpec, c *corev1.Container) {
			s.InitContainers = []corev1.Container{*c}
			s.InitContainers[0].Command = []string{"sh"}
		},
		"have the emptyDir v at different paths": func(s *corev1.PodSpec, c *corev1.Container) {
			s.InitContainers = []corev1.Container{*c}
			mounted("/a", scratch)(s, c)
			mounted("/b", scratch)(s, &s.InitContainers[0])
		},
		"have different volumes at /a": func(s *corev1.PodSpec, c *corev1.Container) {
			mounted("/a", scratch)(s, c)
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "w", VolumeSource: scratch})
			s.InitContainers = []corev1.Container{{Name: "init", Image: "i", VolumeMounts: []corev1.VolumeMount{{Name: "w", MountPath: "/a"}}}}
		},
		"names a port that": func(_ *corev1.PodSpec, c *corev1.Container) { c.ReadinessProbe = http(intstr.FromString("web"), "") },
		"asks \"example.com\"": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.ReadinessProbe = http(intstr.FromInt(80), "example.com")
		},
		"its command is": func(_ *corev1.PodSpec, c *corev1.Container) { c.Command = []string{"/bin/sh", "-c", "x"} },
		"LD_PRELOAD": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.Env = []corev1.EnvVar{{Name: "LD_PRELOAD", Value: "/x"}}
		},
		"not of the kind":                 func(_ *corev1.PodSpec, c *corev1.Container) { c.ReadinessProbe = &corev1.Probe{} },
		"runs cat, which":                 func(_ *corev1.PodSpec, c *corev1.Container) { c.ReadinessProbe = exec("cat", "/x") },
		"whole file system":               mounted("//", scratch),
		"the volume v is not a configMap": mounted("/v", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}),
		"mounted twice": func(s *corev1.PodSpec, c *corev1.Container) {
			mounted("/a", scratch)(s, c)
			mounted("/b", scratch)(s, c)
		},
	} {
		got := unsupported(podOf(change), hasProgram)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for name, change := range map[string]func(*corev1.PodSpec, *corev1.Container){
		"a probe of its program": func(s *corev1.PodSpec, c *corev1.Container) {
			mounted("/a", scratch)(s, c)
			c.ReadinessProbe = exec("app", "check")
		},
		"a probe of a port": func(_ *corev1.PodSpec, c *corev1.Container) { c.ReadinessProbe = http(intstr.FromInt(8080), "") },
		"a probe of a named port": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.ReadinessProbe, c.Ports = http(intstr.FromString("web"), "127.0.0.1"), web
		},
		"an init container with the same emptyDir": func(s *corev1.PodSpec, c *corev1.Container) {
			mounted("/a", scratch)(s, c)
			s.InitContainers = []corev1.Container{*c}
		},
	} {
		if why := unsupported(podOf(change), hasProgram); why != "" {
			t.Errorf("%s is refused: %s", name, why)
		}
	}
}

// KWOK's stages for pods, and no others, get an expression that leaves the images out.
func TestExclude(t *testing.T) {
	config := []byte(`kind: KwokctlConfiguration
---
kind: Stage
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .a, operator: Exists}]}
  next: {statusTemplate: "{{ $x := 1 }}"}
---
kind: Stage
spec: {resourceRef: {apiGroup: v1, kind: Node}}
`)
	got, err := Exclude(config, []infra.Program{{Image: "one:1"}, {Image: "two:2"}})
	if err != nil {
		t.Fatal(err)
	}
	testkit.WantText(t, "the configuration", string(got), "key: .spec.containers.[].image", "operator: NotIn", "- one:1", "- two:2", "key: .a", "{{ $x := 1 }}")
	if n := strings.Count(string(got), "NotIn"); n != 1 {
		t.Errorf("%d stages were changed, want 1:\n%s", n, got)
	}
	got, err = Exclude(config, []infra.Program{{Image: "one:1", Command: "master"}})
	if err != nil {
		t.Fatal(err)
	}
	testkit.WantText(t, "the configuration of a command", string(got), "- one:1 master", ".command")
	if strings.Contains(string(got), "- one:1\n") {
		t.Errorf("the image's other commands are left out:\n%s", got)
	}
	if same, err := Exclude(config, nil); err != nil || string(same) != string(config) {
		t.Errorf("without programs it became %v:\n%s", err, same)
	}
	if _, err := Exclude([]byte("kind: Stage\n"), []infra.Program{{Image: "one:1"}}); err == nil {
		t.Error("a configuration without stages for pods is taken")
	}
}

func TestCheckPrograms(t *testing.T) {
	dir := t.TempDir()
	program, text := filepath.Join(dir, "program"), filepath.Join(dir, "text")
	for file, mode := range map[string]os.FileMode{program: 0o755, text: 0o644} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for want, programs := range map[string][]infra.Program{
		"":                     {{Image: "a", Path: program}, {Image: "b", Path: program}},
		"has two programs":     {{Image: "a", Path: program}, {Image: "a", Path: program}},
		"does not exist":       {{Image: "a", Path: filepath.Join(dir, "no")}},
		"not an executable":    {{Image: "a", Path: text}},
		"is not an executable": {{Image: "a", Path: dir}},
		"want IMAGE=FILE":      {{Image: "", Path: program}},
	} {
		_, err := CheckPrograms(programs)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestSeekTail(t *testing.T) {
	for _, c := range []struct {
		content string
		lines   int64
		want    string
	}{
		{"a\nb\nc\n", 2, "b\nc\n"}, {"a\nb\nc", 2, "b\nc"}, {"a\nb\n", 9, "a\nb\n"}, {"a\n", 0, ""}, {"", 3, ""},
		{strings.Repeat("x", 70<<10) + "\nlast\n", 1, "last\n"}, {strings.Repeat("y\n", 50<<10) + "z\n", 2, "y\nz\n"},
	} {
		file := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := seekTail(f, c.lines); err != nil {
			t.Fatal(err)
		}
		rest := make([]byte, 1<<20)
		n, _ := f.Read(rest)
		if got := string(rest[:n]); got != c.want {
			t.Errorf("the last %d lines of %.20q: got %.40q, want %q", c.lines, c.content, got, c.want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A process that puts a symbolic link into its emptyDir does not make the volumes of its next start
// go elsewhere.
func TestMount_SymbolicLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if err := write(root, "/scratch", "", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "scratch", "conf")); err != nil {
		t.Fatal(err)
	}
	if err := write(root, "/scratch/conf", "", map[string][]byte{"file": []byte("x")}); err == nil {
		t.Error("a volume was written through the link")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside: %v", left)
	}
}

func TestWriteSubPath(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	files := map[string][]byte{"a": []byte("1"), "sub/b": []byte("2")}
	for at, sub := range map[string]string{"/all": "", "/one/file": "a", "/below": "sub"} {
		if err := write(root, at, sub, files); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err = filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, file)
			got = append(got, rel)
		}
		return err
	})
	if want := []string{"all/a", "all/sub/b", "below/b", "one/file"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestPhases(t *testing.T) {
	for want, s := range map[corev1.PodPhase]state{
		corev1.PodPending: {waiting: "ContainerCreating"}, corev1.PodSucceeded: {exited: true, final: true}, corev1.PodFailed: {exited: true, final: true, exitCode: 3},
		corev1.PodRunning: {exited: true, waiting: "CrashLoopBackOff", exitCode: 1},
	} {
		if got := s.phase(); got != want {
			t.Errorf("%+v: got %s, want %s", s, got, want)
		}
	}
}

// A probe of a port counts what a kubelet counts.
func TestProbes_Ports(t *testing.T) {
	var asked *http.Request
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Clone(context.Background())
		code, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
		w.Header().Set("Location", "http://example.invalid/")
		w.WriteHeader(code)
	}))
	defer server.Close()
	_, text, _ := net.SplitHostPort(server.Listener.Addr().String())
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	c := &corev1.Container{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: int32(port)}}}
	get := func(path string) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Port: intstr.FromString("web"), Scheme: corev1.URISchemeHTTPS, Path: path, HTTPHeaders: []corev1.HTTPHeader{{Name: "Host", Value: "a.example.com"}, {Name: "X-Mine", Value: "1"}},
		}}}
	}
	for path, want := range map[string]bool{"/200?a=b": true, "/302": true, "/400": false, "/503": false} {
		if got := probeHTTP(t.Context(), get(path), port) == nil; got != want {
			t.Errorf("%s: got %v", path, got)
		}
		if asked.Host != "a.example.com" || asked.Header.Get("X-Mine") != "1" || strings.Contains(path, "?") != (asked.URL.RawQuery == "a=b") {
			t.Errorf("%s: asked for %v", path, asked)
		}
	}
	plain := get("/200")
	plain.HTTPGet.Scheme = corev1.URISchemeHTTP
	if err := probeHTTP(t.Context(), get("/503"), port); err == nil || !strings.Contains(err.Error(), "/503: 503 Service Unavailable") {
		t.Errorf("an answer that is no success: %v", err)
	}
	if err := probeHTTP(t.Context(), plain, port); err == nil || !strings.Contains(err.Error(), "400 Bad Request") {
		t.Errorf("the wrong scheme: %v", err)
	}
	tcp := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(port)}}}
	c.ReadinessProbe = tcp
	w := newWorker(&Runner{}, podOf(nil))
	if probeTCP(t.Context(), w.probed(c)) != nil || w.portTaken(c) == nil {
		t.Error("somebody listens, and is not seen")
	}
	server.Close()
	if probeTCP(t.Context(), port) == nil || probeHTTP(t.Context(), get("/200"), port) == nil || w.portTaken(c) != nil {
		t.Error("nobody listens, and somebody is seen")
	}
}

// A container starts in the directory that it names: in a mount, or in one that is made for it and
// that it may write to. A link that the process has put there leads nowhere else.
func TestWorkDir(t *testing.T) {
	m := &mounts{root: t.TempDir(), paths: []string{"/etc/x/deep", "/etc/x"}}
	for asked, want := range map[string]struct {
		dir     string
		scratch bool
	}{
		"": {}, "/": {dir: "/"}, "/etc/x": {dir: "/etc/x"}, "/etc/x/below": {dir: "/etc/x/below"}, "/etc": {dir: "/etc"}, "/app": {dir: "/app", scratch: true}, "app/../b": {dir: "/b", scratch: true},
	} {
		m.scratch = nil
		got, err := m.workDir(asked)
		if want.dir != "" {
			want.dir = filepath.Join(m.root, want.dir)
		}
		if err != nil || got != want.dir || (len(m.scratch) > 0) != want.scratch {
			t.Errorf("%q: got %q, %v, to be written to: %q; want %q", asked, got, err, m.scratch, want.dir)
		}
		if info, err := os.Stat(got); asked != "" && (err != nil || !info.IsDir()) {
			t.Errorf("%q: it is no directory: %v", asked, err)
		}
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(m.root, "link")); err != nil {
		t.Fatal(err)
	}
	if dir, err := m.workDir("/link/made"); err == nil {
		t.Errorf("through a link that leads outside: got %q", dir)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("something was made outside: %v, %v", entries, err)
	}
}

// A program that no pod needed is named; an image that was pulled, with its two names, once.
func TestUnused(t *testing.T) {
	pulled, other := &infra.Unpacked{}, &infra.Unpacked{}
	given := []infra.Program{{Image: "a:1", Path: "/a"}, {Image: "b:1", Path: "/b"}, {Image: "c:1@sha256:1", Unpacked: pulled}, {Image: "c:1", Unpacked: pulled}, {Image: "d:1@sha256:1", Unpacked: other}, {Image: "d:1", Unpacked: other}}
	r := &Runner{used: map[use]int{{image: "a:1"}: 2, {image: "c:1"}: 1}, images: map[string]bool{"b:2": true, "somewhere/else:3": true}}
	got := r.Unused(given)
	if len(got) != 2 || got[0].Image != "b:1" || !strings.HasPrefix(got[0].Text, "no pod has the image b:1,") || !strings.HasSuffix(got[0].Text, "; did you mean b:2?") || !strings.HasPrefix(got[1].Text, "no pod has the image d:1@sha256:1,") || strings.Contains(got[1].Text, "did you mean") {
		t.Errorf("got %+v, want b and d", got)
	}
}
