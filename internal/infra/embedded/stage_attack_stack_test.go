package embedded

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kwok/pkg/consts"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// known are the variables that KWOK may have: those of every process of the stack, and what kwokctl
// and the harness set for it.
var known = []string{"KUBECONFIG", "GOMAXPROCS", "PATH", "GOROOT", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "GOGC", "GOMEMLIMIT", "RUNNER_TRACKING_ID", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}

// The template of a KWOK stage may read the variables of the process that renders it. KWOK renders
// no stage of a recipe that includes stages and the kind Stage. Its process has no variables of the
// job.
func testStageOfARecipe(t *testing.T, c *testCluster) {
	c.apply(t, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: stages.kwok.x-k8s.io}
spec:
  group: kwok.x-k8s.io
  names: {kind: Stage, listKind: StageList, plural: stages, singular: stage}
  scope: Cluster
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`)
	stages := schema.GroupVersionResource{Group: "kwok.x-k8s.io", Version: "v1alpha1", Resource: "stages"}
	testkit.Eventually(t, "the kind Stage to be served", time.Minute, func() wait.Result {
		if _, err := c.clients.Dynamic.Resource(stages).List(t.Context(), metav1.ListOptions{}); err != nil {
			return wait.NotYet("%v", err)
		}
		return wait.Done()
	})
	attack, err := infra.DecodeObjects([]byte(`apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: attack}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector: {matchExpressions: [{key: .metadata.name, operator: In, values: [staged]}]}
  weight: 1000000
  next:
    patches: [{root: metadata, type: merge, template: "annotations: {stolen: 'x{{ env \"PATH\" }}'}"}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.clients.Dynamic.Resource(stages).Create(t.Context(), attack[0], metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.apply(t, podYAML("staged", ""))
	waitPod(t, c, "staged")
	p, err := c.clients.Kube.CoreV1().Pods("default").Get(t.Context(), "staged", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if stolen, ok := p.Annotations["stolen"]; ok {
		t.Errorf("the recipe's stage was rendered: %q", stolen)
	}
	if runtime.GOOS != "linux" {
		return
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.pids(t)[consts.ComponentKwokController]))
	if err != nil || len(raw) == 0 {
		t.Fatalf("read KWOK's variables: %q, %v", raw, err)
	}
	for _, variable := range strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		if !slices.Contains(known, name) || (name == "KUBECONFIG" || name == "GOROOT") && !strings.Contains(value, c.Name()) {
			t.Errorf("KWOK has the variable %s", name)
		}
	}
}
