package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// podPrograms are what this test binary is as the program of a recipe, by its first argument.
var podPrograms = map[string]func(args []string) int{podProgram: runPodProgram}

const podProgram = "pod-program"

// runPodProgram takes a port and the file of a token: it says that it has started, and answers its
// readiness probe once it has read the token.
func runPodProgram(args []string) int {
	port, token := args[0], args[1]
	text, err := os.ReadFile(token)
	if err != nil || len(text) == 0 {
		fmt.Println("read the token:", err)
		return 1
	}
	fmt.Println("the recipe's program serves port", port)
	http.HandleFunc("/ready", func(http.ResponseWriter, *http.Request) {})
	fmt.Println(http.ListenAndServe(":"+port, nil))
	return 1
}

// ownRecipe is a directory with one recipe, of one component: a Deployment with an image of the
// recipe's own.
func ownRecipe(t *testing.T, port string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"registry.yaml": `apiVersion: aicr.nvidia.com/v1alpha1
kind: ComponentRegistry
components:
  - name: app
    displayName: App
    helm: {defaultNamespace: app}
`,
		"overlays/base.yaml": `apiVersion: aicr.nvidia.com/v1alpha1
kind: RecipeMetadata
metadata: {name: base}
spec:
  componentRefs:
    - name: app
      namespace: app
      type: Helm
      manifestFiles: [components/app/manifests/app.yaml]
`,
		"overlays/own.yaml": "apiVersion: aicr.nvidia.com/v1alpha1\nkind: RecipeMetadata\nmetadata: {name: own}\nspec: {criteria: {service: kind}}\n",
		"components/app/manifests/app.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      tolerations: [{operator: Exists}]
      containers:
        - name: app
          image: registry.example.com/own:1
          command: [/app]
          args: [` + podProgram + `, "` + port + `", /var/run/secrets/kubernetes.io/serviceaccount/token]
          readinessProbe: {httpGet: {path: /ready, port: ` + port + `}, periodSeconds: 1, timeoutSeconds: 10}
`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A cell passes when the recipe's own program, which --program names, is ready; the result says
// that it ran, and its log is among the artifacts.
func TestRun_Program(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	p := newProgram(t, buildProgram(t), paths)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	artifacts := t.TempDir()
	ran := p.run(t, 5*time.Minute, []string{"AICR_ACTION_RECIPES_DIR="}, "run", "own", "--recipes-dir", ownRecipe(t, port), "--deployer", "helm",
		"--program", "registry.example.com/own:1="+self, "--artifacts", artifacts, "-o", "json")
	ran.want(t, 0)
	var report struct {
		Results []struct {
			Status   string
			StandIns []string
		}
	}
	if err := json.Unmarshal([]byte(ran.stdout.String()), &report); err != nil || len(report.Results) != 1 {
		t.Fatalf("got %v\n%s", err, ran.stdout)
	}
	if want := "runs for the image registry.example.com/own:1 (pods: 1)"; !strings.Contains(strings.Join(report.Results[0].StandIns, "\n"), want) {
		t.Errorf("want %q among the stand-ins %q", want, report.Results[0].StandIns)
	}
	logs, err := filepath.Glob(filepath.Join(artifacts, "*", "logs", "pod-app-app-*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("the logs of the pod: %q, %v", logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	testkit.WantText(t, "the pod's log", string(text), "the recipe's program serves port "+port)
}
