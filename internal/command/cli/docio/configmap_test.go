package docio

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

func inCluster(objects ...runtime.Object) (Places, *fake.Clientset) {
	client := fake.NewClientset(objects...)
	p := places()
	p.Client = func() (kubernetes.Interface, error) { return client, nil }
	return p, client
}

func configMap(labels map[string]string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "gpu", Name: "recipe", Labels: labels, Annotations: map[string]string{"kept": "yes"}}, Data: data}
}

// What is written can be read back, and is written over what was written before.
func TestConfigMaps(t *testing.T) {
	p, client := inCluster()
	ctx := t.Context()
	for _, w := range []struct{ format, content string }{{"yaml", "a: 1\n"}, {"json", "{}\n"}} {
		if err := p.Write(ctx, "recipe", "cm://gpu/recipe", w.format, []byte(w.content)); err != nil {
			t.Fatal(err)
		}
		if data, called, err := p.Read(ctx, "recipe", "cm://gpu/recipe"); err != nil || string(data) != w.content || called != "cm://gpu/recipe" {
			t.Errorf("got %q, %q, %v", data, called, err)
		}
	}
	m, err := client.CoreV1().ConfigMaps("gpu").Get(ctx, "recipe", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (map[string]string{"recipe.json": "{}\n", "format": "json"}); !reflect.DeepEqual(m.Data, want) || m.Labels["app.kubernetes.io/name"] != "aicr" || m.Labels["app.kubernetes.io/component"] != "recipe" {
		t.Errorf("got %v, labels %v", m.Data, m.Labels)
	}
}

// AICR's own ConfigMap is replaced, with what others wrote on it kept; another program's never is.
func TestConfigMap_OtherFormats(t *testing.T) {
	p, client := inCluster(configMap(map[string]string{"app.kubernetes.io/name": "aicr", "own": "x"}, map[string]string{"recipe.yaml": "old", "timestamp": "x"}))
	if err := p.Write(t.Context(), "recipe", "cm://gpu/recipe", "yaml", []byte("new")); err != nil {
		t.Fatal(err)
	}
	m, err := client.CoreV1().ConfigMaps("gpu").Get(t.Context(), "recipe", metav1.GetOptions{})
	if err != nil || m.Labels["own"] != "x" || m.Annotations["kept"] != "yes" || m.Data["recipe.yaml"] != "new" {
		t.Errorf("got %+v, %v", m, err)
	}
	p, client = inCluster(configMap(nil, map[string]string{"ca.crt": "x"}))
	wantError(t, "another's", p.Write(t.Context(), "recipe", "cm://gpu/recipe", "yaml", []byte("new")), reason.Usage, "was not written by aicr")
	if m, err := client.CoreV1().ConfigMaps("gpu").Get(t.Context(), "recipe", metav1.GetOptions{}); err != nil || m.Data["ca.crt"] != "x" {
		t.Errorf("another program's ConfigMap was changed: %+v, %v", m, err)
	}
}

func TestReadConfigMapKeys(t *testing.T) {
	for name, c := range map[string]struct {
		data map[string]string
		want string
		fail string
	}{
		"own key":       {map[string]string{"recipe.yaml": "r", "snapshot.yaml": "s"}, "r", ""},
		"json":          {map[string]string{"recipe.json": "r", "format": "json"}, "r", ""},
		"any other one": {map[string]string{"mine.yaml": "r", "note": "x"}, "r", ""},
		"two others":    {map[string]string{"a.yaml": "r", "b.yaml": "x"}, "", "has no key recipe.yaml; it has a.yaml, b.yaml"},
		"none":          {nil, "", "it has no keys"},
	} {
		p, _ := inCluster(configMap(nil, c.data))
		data, _, err := p.Read(t.Context(), "recipe", "cm://gpu/recipe")
		if c.fail != "" {
			wantError(t, name, err, reason.Usage, c.fail)
		} else if err != nil || string(data) != c.want {
			t.Errorf("%s: got %q, %v", name, data, err)
		}
	}
}

func TestConfigMapTooLarge(t *testing.T) {
	p, client := inCluster()
	wantError(t, "too large", p.Write(t.Context(), "recipe", "cm://gpu/recipe", "yaml", make([]byte, 1<<20)), reason.Usage, "has 1025 KiB, and a ConfigMap holds at most 1024 KiB; write it to a file")
	if len(client.Actions()) > 0 {
		t.Errorf("the cluster was asked: %v", client.Actions())
	}
}

func TestConfigMapRefused(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	forbidden := apierrors.NewForbidden(resource, "recipe", errors.New(`User "dev" cannot do that`))
	for name, c := range map[string]struct {
		verb   string
		err    error
		read   bool
		reason reason.Reason
		want   string
	}{
		"no right to read":   {"get", forbidden, true, reason.ClusterAccess, "read the recipe from cm://gpu/recipe: not allowed: "},
		"which right":        {"get", forbidden, true, reason.ClusterAccess, "check `kubectl auth can-i get configmaps -n gpu`"},
		"no right to create": {"create", forbidden, false, reason.ClusterAccess, "check `kubectl auth can-i create configmaps -n gpu`"},
		"no login":           {"get", apierrors.NewUnauthorized("Unauthorized"), true, reason.ClusterAccess, "does not accept the login"},
		"no namespace":       {"create", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "gpu"), false, reason.Usage, "the namespace gpu does not exist; create it with `kubectl create namespace gpu`"},
		"anything else":      {"get", errors.New("connection refused"), true, reason.ClusterAccess, "get configmap gpu/recipe: connection refused"},
	} {
		p, client := inCluster()
		client.PrependReactor(c.verb, "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
		var err error
		if c.read {
			_, _, err = p.Read(t.Context(), "recipe", "cm://gpu/recipe")
		} else {
			err = p.Write(t.Context(), "recipe", "cm://gpu/recipe", "yaml", []byte("x"))
		}
		wantError(t, name, err, c.reason, c.want)
	}
	p, _ := inCluster()
	_, _, err := p.Read(t.Context(), "recipe", "cm://gpu/recipe")
	wantError(t, "not there", err, reason.Usage, "there is no such ConfigMap; check the name with `kubectl get configmaps -n gpu`")
}

// Another client writes the ConfigMap at the same time: the write is repeated on the new version.
func TestConfigMapConflict(t *testing.T) {
	p, client := inCluster(configMap(map[string]string{"app.kubernetes.io/name": "aicr"}, nil))
	conflicts := 2
	client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts--; conflicts < 0 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "recipe", errors.New("changed"))
	})
	if err := p.Write(t.Context(), "recipe", "cm://gpu/recipe", "yaml", []byte("x")); err != nil {
		t.Error(err)
	}
}

// A cluster that takes the connection and says nothing.
func TestClusterHangs(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	p := places()
	p.Timeout = 200 * time.Millisecond
	p.Client = func() (kubernetes.Interface, error) { return kubernetes.NewForConfig(&rest.Config{Host: server.URL}) }
	_, _, err := p.Read(t.Context(), "recipe", "cm://gpu/recipe")
	wantError(t, "hangs", err, reason.ClusterAccess, "the cluster did not answer within 200ms")
}

func TestNewClient(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := NewClient("")
	wantError(t, "no kubeconfig", err, reason.ClusterAccess, "no cluster is configured: name a kubeconfig with --kubeconfig or in KUBECONFIG")
	_, err = NewClient(filepath.Join(t.TempDir(), "none"))
	wantError(t, "no such file", err, reason.ClusterAccess, "no such file")
	broken := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(broken, []byte("clusters: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = NewClient(broken)
	wantError(t, "broken", err, reason.ClusterAccess, "read the kubeconfig")
	p := places()
	_, _, err = p.Read(t.Context(), "recipe", "cm://gpu/recipe")
	wantError(t, "no client", err, reason.ClusterAccess, "no cluster")
	if strings.Contains(err.Error(), "%!") {
		t.Error(err)
	}
}
