package infratest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// webhooks: the server of a recipe's webhook is a simulated pod. One that fails closed holds up
// nothing, is kept, and is named as not called.
func (c *contract) webhooks(t *testing.T) {
	const hook = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: refuse-everything}
webhooks:
- name: refuse.example.com
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 30
  clientConfig: {service: {namespace: default, name: nobody, path: /}}
  rules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [configmaps], scope: '*'}]
`
	c.apply(t, hook)
	objs, err := infra.DecodeObjects([]byte(hook + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: default, name: write}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // the API server needs a moment to see a webhook
		if err := c.clients.Apply(t.Context(), infra.ConfigMapGVR, objs[1]); err != nil {
			t.Fatal(err)
		}
	}
	if lines := c.platform.Simulates([]bundle.Object{{Component: "comp", Object: objs[0]}, {Component: "comp", Object: objs[1]}}); len(lines) != 1 || !strings.Contains(lines[0], "refuse-everything (comp): not called") {
		t.Errorf("the results would say %q", lines)
	}
}

// pods checks that pods with any owner and any scheduler's name run on simulated nodes, and that a
// DaemonSet has one on each of those.
func (c *contract) pods(t *testing.T) {
	c.apply(t, contractPod("default", "alone", "")+"---"+contractPod("default", "scheduled", "schedulerName: "+scheduler)+`---
apiVersion: apps/v1
kind: DaemonSet
metadata: {namespace: default, name: everywhere}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec: {tolerations: [{operator: Exists}], containers: [{name: c, image: example.com/x:1}]}
`)
	c.simulatedNode(t, "default", "alone")
	c.simulatedNode(t, "default", "scheduled")
	testkit.Eventually(t, "the DaemonSet's pods", patience, func() wait.Result {
		d, err := c.clients.Kube.AppsV1().DaemonSets("default").Get(t.Context(), "everywhere", metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if want := int32(len(c.spec.Nodes)); d.Status.DesiredNumberScheduled != want || d.Status.NumberReady != want {
			return wait.NotYet("want %d, and %d are ready: %+v", want, d.Status.NumberReady, d.Status)
		}
		return wait.Done()
	})
	list, err := c.clients.Kube.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=everywhere"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		c.wantSimulated(t, "pod "+p.Name, p.Spec.NodeName)
	}
}

// storage: a claim that names no class gets a volume.
func (c *contract) storage(t *testing.T) {
	c.apply(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: default, name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 50Gi}}}
---`+contractPod("default", "with-data", "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"))
	c.simulatedNode(t, "default", "with-data")
}

// aggregatedAPI: its server is a simulated pod; a stand-in answers, and results name it.
func (c *contract) aggregatedAPI(t *testing.T) {
	c.apply(t, contractPod("default", "adapter", "")+`---
apiVersion: v1
kind: Service
metadata: {namespace: default, name: adapter}
spec: {selector: {app: adapter}, ports: [{port: 443, targetPort: 6443}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.custom.metrics.k8s.io}
spec:
  group: custom.metrics.k8s.io
  version: v1beta1
  insecureSkipTLSVerify: true
  groupPriorityMinimum: 100
  versionPriority: 100
  service: {namespace: default, name: adapter}
`)
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	c.condition(t, services, "", "v1beta1.custom.metrics.k8s.io", "Available")
	if lines := c.cluster.StandIns(); !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "custom.metrics.k8s.io") }) {
		t.Errorf("the results would say %q", lines)
	}
}

func (c *contract) condition(t *testing.T, gvr schema.GroupVersionResource, namespace, name, condition string) {
	t.Helper()
	testkit.Eventually(t, gvr.Resource+" "+name+" to be "+condition, patience, func() wait.Result {
		o, err := c.clients.Dynamic.Resource(gvr).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if status, message := infra.Condition(o, condition); status != "True" {
			return wait.NotYet("%s %s", status, message)
		}
		return wait.Done()
	})
}

// artifact is what the contract pushes, under the address that this program uses.
const artifact = "/contract/artifact:v1"

// registry: what is pushed is there, is not served while the registry is stopped, and is there
// again afterwards.
func (c *contract) registry(t *testing.T) {
	var tgz bytes.Buffer
	zipped := gzip.NewWriter(&tgz)
	packed := tar.NewWriter(zipped)
	content := []byte("apiVersion: v1\n")
	if err := packed.WriteHeader(&tar.Header{Name: "file.yaml", Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := packed.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, static.NewLayer(tgz.Bytes(), types.DockerLayer))
	if err != nil {
		t.Fatal(err)
	}
	host := c.cluster.Registry().PushHost()
	ref, err := name.ParseReference(host+artifact, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	get := func() (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/v2/contract/artifact/manifests/v1", nil)
		if err != nil {
			return 0, err
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	if code, err := get(); code != http.StatusOK {
		t.Fatalf("what was pushed is not there: %d, %v", code, err)
	}
	c.cluster.Registry().Stop()
	testkit.Eventually(t, "the registry to be gone", patience, func() wait.Result {
		if code, err := get(); err == nil {
			return wait.NotYet("it answers %d", code)
		}
		return wait.Done()
	})
	if err := c.cluster.Registry().Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "what was pushed to be served again", patience, func() wait.Result {
		if code, err := get(); err != nil || code != http.StatusOK {
			return wait.NotYet("%d, %v", code, err)
		}
		return wait.Done()
	})
}

// controllers: they start, and reach the registry by the name that bundles give it. What they may
// not do is rejected.
func (c *contract) controllers(t *testing.T) {
	flux, err := c.cluster.Controllers(infra.FluxControllers, infra.ControllerOptions{Root: "contract"})
	if err != nil {
		t.Fatal(err)
	}
	if err := flux.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := flux.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	source := func(name, url string) string {
		return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {namespace: flux-system, name: " + name + "}\nspec: {interval: 1h, insecure: true, url: 'oci://" + url + "', ref: {tag: v1}}\n"
	}
	c.apply(t, source("contract", c.cluster.Registry().PullHost()+strings.TrimSuffix(artifact, ":v1")))
	c.condition(t, infra.OCIRepositoryGVR, infra.FluxNamespace, "contract", "Ready")
	elsewhere, err := infra.DecodeObjects([]byte(source("elsewhere", "registry.example.com/contract/artifact")))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.clients.Apply(t.Context(), infra.OCIRepositoryGVR, elsewhere[0]); err == nil || !strings.Contains(err.Error(), "a recipe may not configure") {
		t.Errorf("a source outside the cell's registry: got %v", err)
	}
	flux.Stop()
	if err := flux.Start(t.Context()); err != nil {
		t.Errorf("started again: %v", err)
	}
}

// awayFromTheHost: a recipe's pods in a namespace of the harness's own, or with a label of the
// cluster's, get simulated nodes, too. There is one pod more than those have room for: were another
// node open to them, it would have it.
func (c *contract) awayFromTheHost(t *testing.T) {
	room := len(c.spec.Nodes)
	for _, namespace := range []string{"kube-system", infra.FluxNamespace} {
		c.apply(t, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %s, name: strangers}
spec:
  replicas: %d
  selector: {matchLabels: {app: strangers}}
  template:
    metadata: {labels: {app: strangers, k8s-app: kube-dns}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: example.com/x:1}]
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: strangers}}}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {namespace: %s, name: kindnet-of-a-stranger}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere, k8s-app: kindnet}}
    spec: {tolerations: [{operator: Exists}], containers: [{name: c, image: example.com/x:1}]}
`, namespace, room+1, namespace))
		testkit.Eventually(t, "pods on every simulated node", patience, func() wait.Result {
			list, err := c.clients.Kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app in (strangers, everywhere)"})
			if err != nil {
				return wait.NotYet("%v", err)
			}
			placed, left := 0, 0
			for _, p := range list.Items {
				switch {
				case p.Spec.NodeName != "":
					c.wantSimulated(t, "pod "+namespace+"/"+p.Name, p.Spec.NodeName)
					placed++
				case slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
					return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
				}):
					left++
				}
			}
			if t.Failed() {
				return wait.Done()
			}
			if placed != 2*room || left != 1 {
				return wait.NotYet("%d placed and %d without a node, want %d and 1", placed, left, 2*room)
			}
			return wait.Done()
		})
	}
}

// logs: each component has one, by the same name on every platform.
func (c *contract) logs(t *testing.T) {
	components := []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller", infra.FluxSourceController}
	for _, component := range []string{"kube-apiserver", infra.FluxSourceController} {
		if tail, err := c.cluster.Tail(t.Context(), component, 5); err != nil || len(bytes.TrimSpace(tail)) == 0 || bytes.Count(tail, []byte("\n")) > 5 {
			t.Errorf("the end of the log of %s: %q, %v", component, tail, err)
		}
	}
	if _, err := c.cluster.Tail(t.Context(), "no-such-component", 5); err == nil {
		t.Error("a component that does not exist has a log")
	}
	dir := filepath.Join(t.TempDir(), "logs")
	if err := c.cluster.CollectLogs(t.Context(), dir); errors.As(err, new(*infra.UnreadError)) {
		t.Log(err) // it is said in the file's place
	} else if err != nil {
		t.Error(err)
	}
	for _, component := range components {
		if info, err := os.Stat(filepath.Join(dir, component+".log")); err != nil {
			t.Error(err)
		} else if info.Size() == 0 && !slices.Contains([]string{"etcd", "kwok-controller"}, component) { // which may log errors only
			t.Errorf("the log of %s is empty", component)
		}
	}
}

// keep: the cluster outlives Down, at the same address and with its objects, until the user removes
// it.
func (c *contract) keep(t *testing.T, remove func(context.Context, string) error) {
	if err := c.cluster.Keep(t.Context(), map[string][]byte{"note.txt": []byte("kept")}); err != nil {
		t.Fatal(err)
	}
	if err := c.cluster.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if note, err := os.ReadFile(filepath.Join(filepath.Dir(c.cluster.Kubeconfig()), "note.txt")); err != nil || string(note) != "kept" {
		t.Errorf("the file that was left with it: %q, %v", note, err)
	}
	kept, err := infra.NewClients(c.cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := kept.Kube.CoreV1().Pods("default").Get(ctx, "alone", metav1.GetOptions{}); err != nil {
		t.Errorf("its objects: %v", err)
	}
	if err := remove(t.Context(), c.spec.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Discovery.ServerVersion(); err == nil {
		t.Error("it answers although it was removed")
	}
	if _, err := os.Stat(c.cluster.Kubeconfig()); err == nil {
		t.Error("its kubeconfig is left")
	}
}
