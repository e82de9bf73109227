package agent_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// testPodThatRuns: a container's arguments, environment, mounts, token, sandbox, readiness probe
// and end are those of its process.
func testPodThatRuns(t *testing.T, c infra.Cluster) {
	kube := c.Clients().Kube
	maps := kube.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"file": "content", "key": "from-map"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "secret"}, StringData: map[string]string{"password": "hidden"}}
	if _, err := kube.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // another program's port on this machine
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shown", Labels: map[string]string{"tier": "gold"}}, Spec: corev1.PodSpec{
		Tolerations: tolerant(), RestartPolicy: corev1.RestartPolicyNever,
		Volumes: []corev1.Volume{
			{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		InitContainers: []corev1.Container{{
			Name: "prepare", Image: image, Command: []string{"/app/aicr", "write"}, Args: []string{"/scratch/prepared", "by init"},
			VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}},
		}},
		Containers: []corev1.Container{{
			Name: "main", Image: image, Command: []string{"/app/aicr", "show"},
			Args: []string{
				"env:LABEL", "env:FROM_MAP", "env:PASSWORD", "env:GREETING", "read:/etc/settings/file", "read:/var/run/secrets/kubernetes.io/serviceaccount/namespace", "read:/scratch/prepared", "incluster",
				"deny:/etc/passwd", "deny:" + c.Kubeconfig(), "dial:" + listener.Addr().String(), "dial:" + strings.TrimPrefix(c.Clients().Config.Host, "https://"),
			},
			Env: []corev1.EnvVar{
				{Name: "LABEL", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}},
				{Name: "FROM_MAP", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "key"}}},
				{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "secret"}, Key: "password"}}},
				{Name: "GREETING", Value: "hello $(LABEL)"}, {Name: "READY", Value: "/scratch/ready"},
			},
			VolumeMounts:   []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/settings"}, {Name: "scratch", MountPath: "/scratch"}},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 30, ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/app/aicr", "check", "/scratch/ready"}}}},
		}},
	}}
	pods := kube.CoreV1().Pods(namespace)
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the pod to be ready, by its probe", time.Minute, func() wait.Result {
		p, err := pods.Get(t.Context(), "shown", metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if s := p.Status.ContainerStatuses; p.Status.Phase != corev1.PodRunning || len(s) != 1 || !s[0].Ready {
			return wait.NotYet("%s %+v", p.Status.Phase, s)
		}
		if s := p.Status.InitContainerStatuses; len(s) != 1 || s[0].State.Terminated == nil || s[0].State.Terminated.ExitCode != 0 {
			return wait.Never(fmt.Errorf("it is ready, and its init container is %+v", s))
		}
		return wait.Done()
	})
	before, err := pods.GetLogs("shown", &corev1.PodLogOptions{Container: "prepare"}).DoRaw(t.Context())
	if err != nil || string(before) != "wrote /scratch/prepared\n" {
		t.Errorf("the log of the init container is %q, %v", before, err)
	}
	one := int64(1)
	last, err := pods.GetLogs("shown", &corev1.PodLogOptions{Container: "main", TailLines: &one}).DoRaw(t.Context())
	if err != nil || string(last) != "waiting\n" {
		t.Errorf("the last line of the log is %q, %v", last, err)
	}
	log, err := pods.GetLogs("shown", &corev1.PodLogOptions{Container: "main"}).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"LABEL=gold", "FROM_MAP=from-map", "PASSWORD=hidden", "GREETING=hello gold", "read: content <nil>", "read: " + namespace + " <nil>", "read: by init <nil>"}
	if sandbox.CanBind() {
		want = append(want, "incluster: <nil>")
	}
	if !strings.HasPrefix(sandbox.Support(), "none") {
		want = append(want, "deny: true\ndeny: true\n")
	}
	if strings.Contains(sandbox.Support(), "TCP") {
		want = append(want, "dial: false\ndial: true\n")
	}
	testkit.WantText(t, "the log", string(log), want...)
	pid, err := strconv.Atoi(strings.TrimPrefix(strings.SplitN(string(log), "\n", 2)[0], "pid "))
	if err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(t.Context(), "shown", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the pod to be gone, with its process", time.Minute, func() wait.Result {
		p, err := pods.Get(t.Context(), "shown", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return wait.Done()
		}
		return wait.NotYet("%v, deleted at %v, %v", p.Status.Phase, p.DeletionTimestamp, err)
	})
	testkit.WaitGone(t, pid)
	for _, err := range []error{maps.Delete(t.Context(), "settings", metav1.DeleteOptions{}), kube.CoreV1().Secrets(namespace).Delete(t.Context(), "secret", metav1.DeleteOptions{})} {
		if err != nil {
			t.Error(err)
		}
	}
}

// testPorts: a readiness probe of the kind httpGet is answered by the process. A pod whose port is
// another program's waits, and says so.
func testPorts(t *testing.T, c infra.Cluster) {
	pods := c.Clients().Kube.CoreV1().Pods(namespace)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := func(l net.Listener) intstr.IntOrString { return intstr.FromInt(l.Addr().(*net.TCPAddr).Port) }
	served := port(free)
	_ = free.Close()
	for name, at := range map[string]intstr.IntOrString{"serves": served, "waits": port(taken)} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Tolerations: tolerant(), Containers: []corev1.Container{{
			Name: "main", Image: image, Command: []string{"/app/aicr", "serve"}, Args: []string{at.String()},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 30, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: at, Path: "/ready"}}},
		}}}}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually := func(what, name string, is func(corev1.ContainerStatus) bool) {
		t.Helper()
		testkit.Eventually(t, what, time.Minute, func() wait.Result {
			p, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || len(p.Status.ContainerStatuses) != 1 || !is(p.Status.ContainerStatuses[0]) {
				return wait.NotYet("%+v, %v", p.Status.ContainerStatuses, err)
			}
			return wait.Done()
		})
	}
	eventually("the process to answer its probe", "serves", func(s corev1.ContainerStatus) bool { return s.Ready })
	theirs := port(taken)
	says := func(s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && strings.Contains(s.State.Waiting.Message, "another program of this machine listens on port "+theirs.String())
	}
	eventually("the pod to say whose port it is", "waits", says)
	for _, name := range []string{"serves", "waits"} {
		if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the pod to be gone", time.Minute, func() wait.Result {
			if _, err := pods.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return wait.NotYet("%v", err)
			}
			return wait.Done()
		})
	}
}

// testUnsupported: a pod that cannot run says why, and KWOK does not make it Running; it can be
// deleted.
func testUnsupported(t *testing.T, c infra.Cluster) {
	pods := c.Clients().Kube.CoreV1().Pods(namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "two"}, Spec: corev1.PodSpec{
		Tolerations: tolerant(), Containers: []corev1.Container{{Name: "main", Image: image}, {Name: "sidecar", Image: other}},
	}}
	if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the pod to say why it cannot run", time.Minute, func() wait.Result {
		p, err := pods.Get(t.Context(), "two", metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if s := p.Status.ContainerStatuses; p.Status.Phase != corev1.PodPending || len(s) == 0 || s[0].State.Waiting == nil || !strings.Contains(s[0].State.Waiting.Message, "it has 2 containers") {
			return wait.NotYet("%s %+v", p.Status.Phase, s)
		}
		return wait.Done()
	})
	if err := pods.Delete(t.Context(), "two", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the pod to be gone", time.Minute, func() wait.Result {
		if _, err := pods.Get(t.Context(), "two", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
}
