package podrun

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A container that fails says in its status what its own log ends with, an init container too; one that
// succeeds says nothing.
func TestQuote(t *testing.T) {
	w := &worker{log: filepath.Join(t.TempDir(), "pod.log"), pod: &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "first"}}, Containers: []corev1.Container{{Name: "main"}}}}}
	for c, said := range map[*corev1.Container]string{&w.pod.Spec.Containers[0]: "no such program", &w.pod.Spec.InitContainers[0]: "no such host"} {
		if err := os.WriteFile(w.logOf(c.Name), []byte(said+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		failed, well := state{exited: true, final: true, exitCode: 3}, state{exited: true, final: true}
		w.quote(c, &failed)
		w.quote(c, &well)
		if got := failed.container(c).State.Terminated; got == nil || got.Message != said || got.ExitCode != 3 {
			t.Errorf("%s: %+v, want %q", c.Name, got, said)
		}
		if got := well.container(c).State.Terminated; got == nil || got.Message != "" {
			t.Errorf("%s, which succeeded: %+v", c.Name, got)
		}
	}
}
