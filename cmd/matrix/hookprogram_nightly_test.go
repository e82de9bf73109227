//go:build nightly

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/testkit"
)

// The programs of a hook Job.
const (
	hookFails  = "hook-fails"
	hookLeaves = "hook-leaves"
)

func init() {
	podPrograms[hookFails] = func([]string) int {
		fmt.Println("the schema is of version 7, and this program knows 5")
		return 3
	}
	podPrograms[hookLeaves] = func(args []string) int {
		if err := deleteNamespace(args[0]); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
}

// deleteNamespace deletes the namespace of a ServiceAccount, whose files are in this directory.
func deleteNamespace(account string) error {
	file := map[string]string{}
	for _, name := range []string{"token", "ca.crt", "namespace"} {
		text, err := os.ReadFile(filepath.Join(account, name))
		if err != nil {
			return err
		}
		file[name] = string(text)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(file["ca.crt"]))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: 30 * time.Second}
	at := "https://" + os.Getenv("KUBERNETES_SERVICE_HOST") + ":" + os.Getenv("KUBERNETES_SERVICE_PORT") + "/api/v1/namespaces/" + file["namespace"]
	req, err := http.NewRequest(http.MethodDelete, at, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(file["token"]))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		text, err := io.ReadAll(resp.Body)
		return fmt.Errorf("%s: %s %w", resp.Status, text, err)
	}
	return nil
}

// hookJob is added to ownRecipe: a Job that does this, as a hook, and the rights that it has.
const hookJob = `---
apiVersion: v1
kind: ServiceAccount
metadata: {name: hook}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: own-hook}
rules:
- {apiGroups: [""], resources: [namespaces], verbs: [delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: own-hook}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: own-hook}
subjects:
- {kind: ServiceAccount, name: hook, namespace: app}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: hook
  annotations: {helm.sh/hook: post-install}
spec:
  backoffLimit: 0
  template:
    spec:
      serviceAccountName: hook
      restartPolicy: Never
      tolerations: [{operator: Exists}]
      containers:
      - name: main
        image: registry.example.com/hook:1
        command: [/hook]
        args: [DOES, /var/run/secrets/kubernetes.io/serviceaccount]
`

// TestNightlyHookProgram: a hook Job whose program deletes its own namespace is red (F252), and one
// whose program fails is red with its last words (F253), in each family of lanes.
func TestNightlyHookProgram(t *testing.T) {
	t.Parallel()
	paths, _ := needStack(t)
	bin := buildProgram(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for does, want := range map[string]struct {
		code int
		text []string
	}{
		hookFails:  {1, []string{"Job app/hook", "exit code 3", "the schema is of version 7, and this program knows 5"}},
		hookLeaves: {51, []string{"Namespace app", "is being deleted"}},
	} {
		for _, lane := range []string{"helm", "argocd-oci", "flux-oci"} {
			t.Run(does+"/"+lane, func(t *testing.T) {
				t.Parallel()
				p := newProgram(t, bin, paths)
				dir := ownRecipe(t, "8080")
				file := filepath.Join(dir, "components/app/manifests/app.yaml")
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, append(text, strings.ReplaceAll(hookJob, "DOES", does)...), 0o644); err != nil {
					t.Fatal(err)
				}
				ran := p.run(t, 10*time.Minute, []string{"AICR_ACTION_RECIPES_DIR="}, "run", "own", "--recipes-dir", dir, "--deployer", lane, "--program", "registry.example.com/hook:1="+self)
				ran.want(t, want.code)
				testkit.WantText(t, does+" in "+lane, ran.stdout.String(), want.text...)
			})
		}
	}
}
