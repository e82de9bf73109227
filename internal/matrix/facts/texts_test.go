package facts

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
)

const (
	class  = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: disks.example.com}"
	held   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: b, name: class}\ndata:\n  class.yaml: |\n    # ours\n    " + class + "\n"
	script = "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: b, name: class}\ndata:\n  run.sh: |\n    set -e\n    kubectl apply -f - <<'EOF'\n    " + class + "\n    EOF\n    echo done\n"
	secret = "apiVersion: v1\nkind: Secret\nmetadata: {namespace: b, name: class}\nstringData:\n  class.yaml: '" + class + "'\n"
	role   = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: maker}\nrules: [{apiGroups: [storage.k8s.io], resources: [storageclasses], verbs: [create]}]\n"
	bound  = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: maker}\nroleRef: {kind: ClusterRole, name: maker}\nsubjects: [{kind: ServiceAccount, namespace: b, name: maker}]\n"
	admin  = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: maker}\nroleRef: {kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, namespace: b, name: maker}]\n"
)

func expectation(t *testing.T, account string, texts ...string) *bundle.Expectation {
	t.Helper()
	e := &bundle.Expectation{Workloads: []bundle.Workload{{Kind: "DaemonSet", Namespace: "b", Name: "manager"}}}
	e.Workloads[0].PodSpec.ServiceAccountName = account
	for _, text := range texts {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		e.Objects = append(e.Objects, bundle.Object{Component: "b", Object: o})
	}
	return e
}

// TestFind: a text counts if a program beside it may apply it, and what the bundle delivers is no text's.
func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		account string
		objects []string
		want    int
	}{
		"of an operator":     {"maker", []string{held, role, bound}, 1},
		"of a Secret":        {"maker", []string{secret, role, bound}, 1},
		"in a script":        {"maker", []string{script, role, bound}, 1},
		"of an admin":        {"maker", []string{held, admin}, 1},
		"nobody may":         {"maker", []string{held, role}, 0},
		"another account":    {"default", []string{held, role, bound}, 0},
		"a role for volumes": {"maker", []string{held, strings.Replace(role, "storageclasses", "volumeattachments", 1), bound}, 0},
		"delivered itself":   {"maker", []string{held, role, bound, class}, 0},
		"another namespace":  {"maker", []string{strings.Replace(held, "namespace: b", "namespace: x", 1), role, bound}, 0},
		"a mere mention":     {"maker", []string{strings.Replace(held, "kind: StorageClass", "kind: Widget, of: StorageClass", 1), role, bound}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := expectation(t, c.account, c.objects...)
			if got := FindManifests(e, "StorageClass", "fast"); len(got) != c.want {
				t.Errorf("got %d, want %d", len(got), c.want)
			}
			if got := FindManifests(e, "StorageClass", "slow"); len(got) != 0 {
				t.Errorf("got %d of another name", len(got))
			}
		})
	}
}

// TestCreateClasses: what simulated programs would make exists, and the result has a line for it.
func TestCreateClasses(t *testing.T) {
	cluster := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	for _, want := range []int{1, 0} { // the second time it exists
		lines, err := CreateClasses(context.Background(), expectation(t, "maker", held, role, bound), cluster)
		if err != nil || len(lines) != want {
			t.Fatalf("got %q, %v", lines, err)
		}
	}
	got, err := cluster.Resource(classes[0]).Get(context.Background(), "fast", metav1.GetOptions{})
	if err != nil || got.Object["provisioner"] != "disks.example.com" {
		t.Errorf("got %v, %v", got, err)
	}
}
