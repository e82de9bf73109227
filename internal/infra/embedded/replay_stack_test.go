package embedded

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/clusterstate"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/testkit"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// hush is what no snapshot may have.
const hush = "tr0ub4dor-and-3-horses"

const replayed = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {colour: blue}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}, data: {key: value}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
---
apiVersion: v1
kind: Secret
metadata: {name: hush, annotations: {copy: ` + hush + `}}
stringData: {password: ` + hush + `}
---
apiVersion: v1
kind: Event
metadata: {name: happened}
involvedObject: {apiVersion: v1, kind: ConfigMap, name: plain, namespace: default}
reason: Happened
message: it happened
type: Warning
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: example.com/x:1}]
---
apiVersion: v1
kind: Pod
metadata: {name: stuck}
spec:
  nodeSelector: {disktype: ssd}
  containers: [{name: c, image: example.com/x:1}]
`

// TestReplay: the replay of a cluster has all of its objects, without the values of Secrets, and no
// object in it changes.
func TestReplay(t *testing.T) {
	t.Parallel()
	testskip.Short(t, "no real stack")
	infratest.Slots(t, 1)
	stack, root := realStack(t), infratest.ShortTempDir(t)
	red := newCluster(t, stack, root, "red")
	if err := red.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := simulate.EnsureNodes(t.Context(), red.clients, simulate.Nodes([]simulate.NodeGroup{{Profile: &infratest.Profiles(t)[0], Count: 2}})); err != nil {
		t.Fatal(err)
	}
	red.apply(t, replayed)
	storeRelease(t, red.clients)
	waitSettled(t, red)

	file := filepath.Join(t.TempDir(), "red"+clusterstate.FileSuffix)
	before := everything(t, red.clients)
	start := time.Now()
	if err := red.Snapshot(t.Context(), file, clusterstate.About{Cell: "eks-training/helm", Verdict: "failed SCHEDULING_FAILED"}); err != nil {
		t.Fatal(err)
	}
	t.Logf("snapshot: %s", time.Since(start))
	after := everything(t, red.clients)
	wantFileHushed(t, file)
	if err := red.Down(t.Context()); err != nil {
		t.Fatal(err)
	}

	snap, err := clusterstate.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if snap.Cluster != "red" || snap.Kubernetes != stack.KubeVersion() || snap.Cell != "eks-training/helm" || len(snap.LeftOut) > 0 || snap.Secrets != 2 {
		t.Errorf("the snapshot says %+v", snap.Info)
	}
	start = time.Now()
	again := newCluster(t, stack, root, "again")
	again.ControlPlane = NewControlPlane(ControlPlaneOptions{Name: "again", Paths: again.paths, Stack: stack, Ports: again.ports, Sup: again.sup, Replay: snap})
	if err := again.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("replay: %s", time.Since(start))
	pids := again.pids(t)
	if names := slices.Sorted(maps.Keys(pids)); !slices.Equal(names, []string{"etcd", "kube-apiserver"}) {
		t.Errorf("processes %v: something may move", names)
	}
	wantSame(t, before, after, everything(t, again.clients))
	wantRelease(t, again.clients)

	// A reviewer may create objects: a new Service gets an address that no other has.
	again.apply(t, "{apiVersion: v1, kind: Service, metadata: {name: another}, spec: {ports: [{port: 80}]}}")
	if err := again.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.WaitGone(t, values(pids)...)
}

// waitSettled waits until controllers, scheduler and kwok have nothing more to do.
func waitSettled(t *testing.T, c *testCluster) {
	t.Helper()
	testkit.Eventually(t, "the Deployment's pods, and the pod that fits nowhere", time.Minute, func() wait.Result {
		d, err := c.clients.Kube.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil || d.Status.ReadyReplicas != 2 {
			return wait.NotYet("%v: %v", err, d.Status)
		}
		p, err := c.clients.Kube.CoreV1().Pods("default").Get(t.Context(), "stuck", metav1.GetOptions{})
		if err != nil || len(p.Status.Conditions) == 0 {
			return wait.NotYet("%v: %v", err, p.Status)
		}
		return wait.Done()
	})
}

// everything lists every object of every kind that the API server serves.
func everything(t *testing.T, c *infra.Clients) map[string]map[string]any {
	t.Helper()
	lists, err := c.Discovery.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]any{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || r.Name == "componentstatuses" {
				continue
			}
			objs, err := c.Dynamic.Resource(gv.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("list %s: %v", r.Name, err)
			}
			for _, o := range objs.Items {
				o.SetResourceVersion("")
				all[strings.Join([]string{gv.Group, r.Name, o.GetNamespace(), o.GetName()}, "/")] = o.Object
			}
		}
	}
	return all
}

// wantSame compares the replay with the cluster, in everything that stood still while the snapshot
// was taken.
func wantSame(t *testing.T, before, after, got map[string]map[string]any) {
	t.Helper()
	compared := 0
	for id, want := range before {
		if !reflect.DeepEqual(want, after[id]) || ofTheAPIServer(id) {
			continue
		}
		compared++
		have, ok := got[id]
		switch {
		case !ok:
			t.Errorf("%s is not in the replay", id)
		case strings.HasPrefix(id, "/secrets/"):
			for key, value := range have["data"].(map[string]any) {
				if raw, err := base64.StdEncoding.DecodeString(value.(string)); err != nil || key != "release" && string(raw) != clusterstate.Redacted {
					t.Errorf("%s has %s: %q, %v", id, key, raw, err)
				}
			}
		case !reflect.DeepEqual(want, have):
			t.Errorf("%s: got\n%v\nwant\n%v", id, have, want)
		}
	}
	for id := range got {
		if before[id] == nil && after[id] == nil && !ofTheAPIServer(id) {
			t.Errorf("%s is new in the replay", id)
		}
	}
	for _, id := range []string{"example.com/widgets/default/w", "/configmaps/default/plain", "/events/default/happened", "apps/deployments/default/web", "/pods/default/stuck", "/secrets/default/hush"} {
		if got[id] == nil {
			t.Errorf("%s is not there", id)
		}
	}
	t.Logf("%d of %d objects compared", compared, len(before))
	if compared < 150 {
		t.Errorf("only %d objects were compared", compared)
	}
}

// ofTheAPIServer: what an API server writes about itself when it starts.
func ofTheAPIServer(id string) bool {
	return strings.HasPrefix(id, "coordination.k8s.io/leases/kube-system/apiserver-") || id == "/configmaps/kube-system/extension-apiserver-authentication"
}

func storeRelease(t *testing.T, c *infra.Clients) {
	t.Helper()
	now := helmtime.Now()
	err := storage.Init(driver.NewSecrets(c.Kube.CoreV1().Secrets("default"))).Create(&release.Release{
		Name: "app", Namespace: "default", Version: 1, Config: map[string]any{"password": hush},
		Info:  &release.Info{FirstDeployed: now, LastDeployed: now, Status: release.StatusDeployed, Notes: hush},
		Chart: &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "app", Version: "1.2.3"}},
		Manifest: fmt.Sprintf("---\n# Source: app/templates/secret.yaml\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {password: %s}\n",
			base64.StdEncoding.EncodeToString([]byte(hush))),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantRelease reads it as `helm list` does.
func wantRelease(t *testing.T, c *infra.Clients) {
	t.Helper()
	all, err := storage.Init(driver.NewSecrets(c.Kube.CoreV1().Secrets("default"))).ListDeployed()
	if err != nil || len(all) != 1 {
		t.Fatalf("releases: got %v, %v; want one", all, err)
	}
	r := all[0]
	if r.Name != "app" || r.Chart.Metadata.Version != "1.2.3" || r.Info.Notes != clusterstate.Redacted || strings.Contains(fmt.Sprint(r.Config, r.Manifest), hush) {
		t.Errorf("got %+v", r)
	}
}

// wantFileHushed fails the test if the file has the value, packed or unpacked, plain or in base64.
func wantFileHushed(t *testing.T, file string) {
	t.Helper()
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, unpacked %d", len(packed), len(unpacked))
	for _, form := range []string{hush, base64.StdEncoding.EncodeToString([]byte(hush))} {
		if bytes.Contains(packed, []byte(form)) || bytes.Contains(unpacked, []byte(form)) {
			t.Errorf("the file has %q", form)
		}
	}
}
