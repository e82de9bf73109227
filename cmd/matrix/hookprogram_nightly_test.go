//go:build nightly

package main

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

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
	namespace, err := os.ReadFile(filepath.Join(account, "namespace"))
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:            "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")),
		BearerTokenFile: filepath.Join(account, "token"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(account, "ca.crt")},
	})
	if err != nil {
		return err
	}
	return client.CoreV1().Namespaces().Delete(context.Background(), string(namespace), metav1.DeleteOptions{})
}

// hookJob is added to ownRecipe: a Job that does this, as a hook, and the rights that it has.
//
//go:embed testdata/objects/hook_job.yaml
var hookJob string

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
