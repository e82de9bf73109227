package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nvidia/aicr-action/internal/infra"
)

// matrix why explains the failures on the kept cluster of a failed run. Its explanations agree with
// the real scheduler's messages, and name the recipe's file and line.
func TestWhy_KeptCluster(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	dir := recipesCopy(t)
	file := filepath.Join(dir, "components", "cert-manager", "values.yaml")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(raw, "\nnodeSelector:\n  disktype: ssd\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	edit(t, file, "    cpu: 20m\n", "    cpu: 20\n") // cert-manager's webhook: a system node has 16
	p.run(t, 10*time.Minute, nil, "run", "eks-training", "--deployer", "helm", "--recipes-dir", dir, "--keep").want(t, 1)
	kept := clustersOf(t, p)
	if len(kept) != 1 {
		t.Fatalf("got %d kept clusters, want one", len(kept))
	}
	t.Cleanup(func() { p.run(t, time.Minute, nil, "cluster", "down", "--name", kept[0].Name).want(t, 0) })
	kubeconfig := filepath.Join(paths.Clusters(), kept[0].Name, "kubeconfig.yaml")
	why := func(args ...string) *process {
		return p.run(t, time.Minute, nil, append([]string{"why", "--kubeconfig", kubeconfig}, args...)...)
	}

	at := func(text string) string { return fmt.Sprintf("%s:%d", file, lineOf(t, file, text)) }
	why("cert-manager/deployment/cert-manager").want(t, 0, "of Deployment cert-manager/cert-manager (cert-manager): Pending, without a node", "didn't match Pod's node affinity/selector",
		"edit: remove `disktype: ssd` at nodeSelector.disktype in "+at("disktype: ssd"))
	why("cert-manager/deployment/cert-manager-webhook").want(t, 0, "Insufficient cpu", "asks for 20 cpu, has 16, of which", "cpu: value path webhook.resources.requests.cpu, set in "+at("cpu: 20"), "edit: ask for at most ")
	why("cert-manager/deployment/cert-manager-cainjector").want(t, 0, "Running on system-", "2 system nodes (m7i.4xlarge)", "fits")

	clients, err := infra.NewClients(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]corev1.PodSpec{
		"taint": {},
		"gpus":  {Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("16")}}}}},
	} {
		if len(spec.Containers) == 0 {
			spec.Containers = []corev1.Container{{}}
		}
		spec.Containers[0].Name, spec.Containers[0].Image = "c", "example.com/none"
		made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: spec}
		eventually(t, "pod "+name+" to be accepted", 2*time.Minute, func() error { // its service account is made in its own time
			_, err := clients.Kube.CoreV1().Pods("default").Create(t.Context(), made, metav1.CreateOptions{})
			return err
		})
	}
	for name, want := range map[string][]string{
		"taint": {"untolerated taint", "taint kwok.x-k8s.io/node=fake:NoSchedule not tolerated", "tolerate every taint (`operator: Exists`) in its pod template"},
		"gpus":  {"Insufficient nvidia.com/gpu", "asks for 16 nvidia.com/gpu, has 8", "ask for at most "},
	} {
		var text string
		eventually(t, "the scheduler's word on pod "+name, 3*time.Minute, func() error {
			r := why("default/"+name, "-o", "json")
			r.want(t, 0)
			text = r.stdout.String()
			if !strings.Contains(text, `"scheduler"`) {
				return fmt.Errorf("the scheduler has said nothing: %s", text)
			}
			return nil
		})
		var answer struct {
			Cell         string
			Explanations []any
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Cell != "eks-training/helm" || len(answer.Explanations) != 1 {
			t.Errorf("%s: got %+v, %v", name, answer, err)
		}
		wantText(t, name, text, want...)
		// Eight, less what the driver's validators have while they run.
		if name == "gpus" && !regexp.MustCompile(`ask for at most [678] nvidia\.com/gpu`).MatchString(text) {
			t.Errorf("%s: want the GPUs that a node has left in the edit:\n%s", name, text)
		}
	}
	why("cert-manager/cert-manager").want(t, 2, "the cluster has no pod cert-manager/cert-manager; did you mean cert-manager/cert-manager-")
}
