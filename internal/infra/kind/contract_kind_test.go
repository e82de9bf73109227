//go:build kind

package kind

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// realPlatform is the platform with the engine and the images that test/kindnode provides.
func realPlatform(t *testing.T) *Platform {
	t.Helper()
	node, images := os.Getenv("AICR_ACTION_KIND_NODE_IMAGE"), os.Getenv("AICR_ACTION_KIND_IMAGES")
	if node == "" || images == "" {
		t.Fatal("AICR_ACTION_KIND_NODE_IMAGE and AICR_ACTION_KIND_IMAGES are not set; run: make test-kind")
	}
	raw, err := os.ReadFile("../../../.settings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Kind struct{ RegistryImage string }
	}
	if err := yaml.Unmarshal(raw, &settings); err != nil {
		t.Fatal(err)
	}
	paths := infratest.Cache(t)
	return &Platform{
		Paths: paths, Ports: host.NewPorts(paths.Ports()), Engine: NewEngine(os.Getenv), NodeImage: node, RegistryImage: settings.Kind.RegistryImage, Archive: images,
		Version: infratest.Stack(t, paths).KubeVersion(), Stages: infratest.Stages(t), Operators: infratest.OperatorStages(t), Port: 5500,
	}
}

// The contract of a platform, which embedded is held to as well.
func TestContractInKind(t *testing.T) {
	p := realPlatform(t)
	infratest.Contract(t, p, fmt.Sprintf("contract-%d", os.Getpid()), func(ctx context.Context, name string) error { return p.Remove(ctx, name) }, testHostIsGuarded)
}

// testHostIsGuarded: the pods that are on the real node are the cluster's and the harness's, and
// none of them can be made to run anything else.
func testHostIsGuarded(t *testing.T, c infra.Cluster) {
	kube := c.Clients().Kube
	pods, err := kube.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var source *corev1.Pod
	here := map[string]int{}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.NodeSelector[simulatedLabel] == "" && p.Spec.NodeName != "" {
			here[p.Namespace]++
		}
		if componentOf(p) == infra.FluxSourceController {
			source = p
		}
	}
	if source == nil || here[infra.FluxNamespace] != 4 || here[registryNamespace] != 1 || here[kwokNamespace] != 1 || here["default"] != 0 {
		t.Fatalf("pods on the real node: %v", here)
	}
	container, image := source.Spec.Containers[0].Name, source.Spec.Containers[0].Image
	patch := func(text string, subresources ...string) error {
		_, err := kube.CoreV1().Pods(source.Namespace).Patch(t.Context(), source.Name, types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{}, subresources...)
		return err
	}
	for what, err := range map[string]error{
		"another image":             patch(fmt.Sprintf(`{"spec":{"containers":[{"name":%q,"image":"example.com/x:1"}]}}`, container)),
		"a container for debugging": patch(fmt.Sprintf(`{"spec":{"ephemeralContainers":[{"name":"debug","image":%q}]}}`, image), "ephemeralcontainers"),
	} {
		if err == nil || !strings.Contains(err.Error(), hostPolicyReason) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := patch(`{"metadata":{"labels":{"seen":"true"}}}`); err != nil {
		t.Errorf("a label, which changes no container: %v", err)
	}
	// A pod with an image of the harness's, in its namespace, but not of its workload; that it
	// calls itself a kubelet's own does not help.
	lone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: "lone", Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"}}, Spec: corev1.PodSpec{NodeName: source.Spec.NodeName, Containers: []corev1.Container{{Name: "c", Image: image}}}}
	made, err := kube.CoreV1().Pods(source.Namespace).Create(t.Context(), lone, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || made.Spec.NodeSelector[simulatedLabel] != "true" {
		t.Errorf("a pod beside the harness's: %v, %v", made.Spec.NodeSelector, err)
	}
}
