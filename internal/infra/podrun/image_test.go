package podrun

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// A container's command and args go before the image's, as in Kubernetes.
func TestCommandOf(t *testing.T) {
	u := &infra.Unpacked{Entrypoint: []string{"/manager"}, Cmd: []string{"--default"}}
	for want, c := range map[string]corev1.Container{
		"/manager --default": {}, "/manager --mine": {Args: []string{"--mine"}}, "/other": {Command: []string{"/other"}}, "/other --mine": {Command: []string{"/other"}, Args: []string{"--mine"}},
	} {
		if got := strings.Join(commandOf(u, &c), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if u.Entrypoint[0] != "/manager" || len(u.Entrypoint) != 1 {
		t.Errorf("the image is %+v now", u)
	}
}

// What a kubelet would not start of an image is not started here, and each has its own message.
func TestUnsupported_Image(t *testing.T) {
	yes, zero, user := true, int64(0), int64(1000)
	image := func(change func(*infra.Unpacked)) *infra.Unpacked {
		u := &infra.Unpacked{Entrypoint: []string{"/manager"}, User: "65532"}
		if change != nil {
			change(u)
		}
		return u
	}
	nonRoot := func(s *corev1.PodSpec, _ *corev1.Container) {
		s.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &yes}
	}
	for want, c := range map[string]struct {
		image *infra.Unpacked
		pod   func(*corev1.PodSpec, *corev1.Container)
	}{
		"": {image(nil), nonRoot},
		"neither its image i nor the container names a command": {image(func(u *infra.Unpacked) { u.Entrypoint = nil }), func(_ *corev1.PodSpec, c *corev1.Container) { c.Command = nil }},
		"its image i runs as root, and runAsNonRoot forbids":    {image(func(u *infra.Unpacked) { u.User = "" }), nonRoot},
		"has the user \"app\", which is no number":              {image(func(u *infra.Unpacked) { u.User = "app:app" }), nonRoot},
		"runAsUser: 0": {image(nil), func(s *corev1.PodSpec, c *corev1.Container) {
			nonRoot(s, c)
			c.SecurityContext = &corev1.SecurityContext{RunAsUser: &zero}
		}},
		"it is to be privileged": {image(nil), func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext = &corev1.SecurityContext{Privileged: &yes}
		}},
		"it has 2 containers, of which only c has a program": {image(nil), func(s *corev1.PodSpec, _ *corev1.Container) {
			s.Containers = append(s.Containers, corev1.Container{Name: "proxy", Image: "other"})
		}},
	} {
		p := podOf(c.pod)
		got := unsupported(p, func(of *corev1.Container) (infra.Program, bool) {
			return infra.Program{Image: of.Image, Unpacked: c.image}, of.Image == "i"
		})
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// The image has the shell, and the probe's program; its user may be the pod's.
	p := podOf(func(s *corev1.PodSpec, c *corev1.Container) {
		nonRoot(s, c)
		s.SecurityContext.RunAsUser = &user
		c.Command = []string{"/bin/sh", "-c", "x"}
		c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/grpc_health_probe"}}}}
	})
	if got := unsupported(p, func(*corev1.Container) (infra.Program, bool) {
		return infra.Program{Unpacked: image(func(u *infra.Unpacked) { u.User = "" })}, true
	}); got != "" {
		t.Errorf("got %q", got)
	}
}

// A process of an image has its mounts in place, and none of the machine's paths.
func TestImageSpec(t *testing.T) {
	server, err := url.Parse("https://127.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Options: Options{Dir: t.TempDir(), Logs: t.TempDir(), Ports: host.NewPorts(t.TempDir()), Sandbox: &sandbox.Profile{Connect: []int{6443}, Read: []string{"/mine"}}}, server: server}
	yes := true
	p := podOf(func(s *corev1.PodSpec, c *corev1.Container) {
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, {Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/etc/x/deep"}, {Name: "c", MountPath: "/etc/x"}}
		c.Command, c.Args, c.WorkingDir = nil, []string{"--config=/etc/x/$(NAME)"}, "/work"
		c.Ports = []corev1.ContainerPort{{ContainerPort: 8080}}
		c.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: &yes}
	})
	w := newWorker(r, p)
	u := &infra.Unpacked{Root: "/images/1/root", Entrypoint: []string{"manager"}, Cmd: []string{"--default"}, Env: []string{"PATH=/opt", "A=image", "B=image"}, WorkDir: "/"}
	spec, err := w.imageSpec(&p.Spec.Containers[0], infra.Program{Unpacked: u, Args: []string{"--first"}}, &mounts{root: filepath.Join(w.dir, "root")}, map[string]string{"NAME": "file", "B": "pod"})
	if err != nil {
		t.Fatal(err)
	}
	if spec.Path != "manager" || !slices.Equal(spec.Args, []string{"--first", "--config=/etc/x/file"}) {
		t.Errorf("it runs %s %q", spec.Path, spec.Args)
	}
	for _, want := range []string{"PATH=/opt", "A=image", "B=pod", "HOME=/root", "TMPDIR=/tmp"} {
		if !slices.Contains(spec.Env, want) {
			t.Errorf("no %s in %q", want, spec.Env)
		}
	}
	s := spec.Sandbox
	if len(s.Read)+len(s.ReadWrite)+len(s.Execute)+len(s.Binds) > 0 || !slices.Equal(s.Connect, []int{6443}) || !slices.Equal(s.Bind, []int{8080}) {
		t.Errorf("it may: %+v", s)
	}
	var at []string
	for _, m := range s.Root.Mounts {
		if strings.HasPrefix(m.Target, "/etc/x") {
			at = append(at, m.Target)
			if m.Writable != (m.Target == "/etc/x/deep") || m.Source != filepath.Join(w.dir, "root", m.Target) {
				t.Errorf("%+v", m)
			}
		}
	}
	if !slices.Equal(at, []string{"/etc/x", "/etc/x/deep"}) || s.Root.Dir != u.Root || s.Root.WorkDir != "/work" || !s.Root.ReadOnly {
		t.Errorf("its root: %+v", s.Root)
	}
}
