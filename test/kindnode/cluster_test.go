//go:build kind

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	"sigs.k8s.io/kind/pkg/cmd"
)

// The whole promise of the fixture: kind itself makes a cluster of the node image with a plain
// configuration, and a pod of an image of the archive answers through a Service, by DNS inside the
// cluster and by a node port from this machine.
func TestClusterFromTheNodeImage(t *testing.T) {
	image, archive := need(t, "AICR_ACTION_KIND_NODE_IMAGE"), need(t, "AICR_ACTION_KIND_IMAGES")
	port := freePort(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	name := need(t, testClusterEnv)
	provider := cluster.NewProvider(cluster.ProviderWithDocker(), cluster.ProviderWithLogger(cmd.NewLogger()))
	t.Cleanup(func() {
		start := time.Now()
		if err := provider.Delete(name, kubeconfig); err != nil {
			t.Errorf("delete the cluster: %v", err)
		}
		t.Logf("deleted in %s", time.Since(start).Round(time.Second))
		if left, err := provider.ListNodes(name); err != nil || len(left) != 0 {
			t.Errorf("nodes after the deletion: %v, %v", left, err)
		}
	})
	start := time.Now()
	config := fmt.Sprintf(clusterConfig, port)
	if err := provider.Create(name, cluster.CreateWithRawConfig([]byte(config)), cluster.CreateWithNodeImage(image), cluster.CreateWithKubeconfigPath(kubeconfig)); err != nil {
		t.Fatal(err)
	}
	t.Logf("kind create: %s", time.Since(start).Round(time.Second))
	rest, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "every pod of kube-system is Ready", func(ctx context.Context) error { return podsReady(ctx, client, "kube-system") })
	t.Logf("CoreDNS and the control plane Ready: %s after the start", time.Since(start).Round(time.Second))

	start = time.Now()
	nodes, err := provider.ListInternalNodes(name)
	if err != nil || len(nodes) != 1 {
		t.Fatalf("nodes: %v, %v", nodes, err)
	}
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := nodeutils.LoadImageArchive(nodes[0], file); err != nil {
		t.Fatal(err)
	}
	t.Logf("images loaded: %s", time.Since(start).Round(time.Second))
	deployRegistry(t, client)
	address := fmt.Sprintf("http://127.0.0.1:%d/v2/", port)
	eventually(t, "the registry answers on "+address, func(ctx context.Context) error { return get(ctx, address) })
	// No image here has a program that looks names up: the node asks CoreDNS, as a pod would.
	eventually(t, "CoreDNS resolves the Service", func(context.Context) error {
		var out bytes.Buffer
		dns, err := client.CoreV1().Services("kube-system").Get(t.Context(), "kube-dns", metav1.GetOptions{})
		if err != nil {
			return err
		}
		query := fmt.Sprintf("options timeout:2 attempts:1\nnameserver %s\n", dns.Spec.ClusterIP)
		if err := nodes[0].Command("cp", "/dev/stdin", "/run/resolv.conf").SetStdin(strings.NewReader(query)).Run(); err != nil {
			return err
		}
		err = nodes[0].Command("unshare", "--mount", "sh", "-c", "mount --bind /run/resolv.conf /etc/resolv.conf && getent ahostsv4 registry.aicr-registry.svc.cluster.local").SetStdout(&out).Run()
		service, getErr := client.CoreV1().Services("aicr-registry").Get(t.Context(), "registry", metav1.GetOptions{})
		if err != nil || getErr != nil {
			return fmt.Errorf("look up: %v, %v", err, getErr)
		}
		if !strings.Contains(out.String(), service.Spec.ClusterIP) {
			return fmt.Errorf("got %q, want %s", out.String(), service.Spec.ClusterIP)
		}
		return nil
	})
}

const clusterConfig = `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
- role: control-plane
  extraPortMappings:
  - {containerPort: 30500, hostPort: %d, listenAddress: 127.0.0.1}
`

func need(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set; run: go run ./test/kindnode test ./test/kindnode", name)
	}
	return value
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func eventually(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	if err := poll(t.Context(), 3*time.Minute, func() error { return ask(t.Context()) }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func podsReady(ctx context.Context, client kubernetes.Interface, namespace string) error {
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	dns := 0
	for _, p := range pods.Items {
		ready := false
		for _, c := range p.Status.Conditions {
			ready = ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		if !ready {
			return fmt.Errorf("pod %s is %s and not Ready", p.Name, p.Status.Phase)
		}
		if p.Labels["k8s-app"] == "kube-dns" {
			dns++
		}
	}
	if dns == 0 || len(pods.Items) < 6 {
		return fmt.Errorf("%d pods, %d of CoreDNS", len(pods.Items), dns)
	}
	return nil
}

func get(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return err
}
