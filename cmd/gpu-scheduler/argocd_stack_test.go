package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// upstream is the repository in the files of argocd/, which say that it is to be replaced by one's
// own.
const upstream = "https://github.com/nvidia/aicr-action.git"

// publish pushes the charts to the cell's registry, with the directories that they have here, and
// gives the address for repoURL.
func (s stackTest) publish() string {
	s.t.Helper()
	b := &bundle.Bundle{Deployer: bundle.ArgoCDOCI}
	charts := os.DirFS(filepath.Join(repository, "charts"))
	for _, dir := range []string{"gpu-scheduler-chart", "gpu-scheduler-check-chart"} {
		err := fs.WalkDir(charts, dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(charts, name)
			b.Files = append(b.Files, bundle.File{Path: "charts/" + name, Content: data, Mode: 0o644})
			return err
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := publish.PublishBundle(s.t.Context(), b, s.cluster.Registry().PushHost()+"/gpu-scheduler:main", publish.Own()); err != nil {
		s.t.Fatal(err)
	}
	return "oci://" + s.cluster.Registry().PullHost() + "/gpu-scheduler"
}

func (s stackTest) application(name string) *unstructured.Unstructured {
	s.t.Helper()
	list, err := s.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace).List(s.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// wantApplication waits until an Application says each part in its status.
func (s stackTest) wantApplication(name string, parts ...string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%q in the status of Application %s", parts, name), func() wait.Result {
		app := s.application(name)
		if app == nil {
			return wait.NotYet("it does not exist")
		}
		text := fmt.Sprint(app.Object["status"])
		for _, p := range parts {
			if !strings.Contains(text, p) {
				return wait.NotYet("it is %s", text)
			}
		}
		return wait.Done()
	})
}

// healthy waits until an Application is Synced and Healthy.
func (s stackTest) healthy(name string) {
	s.t.Helper()
	s.eventually("Application "+name+" to be Synced and Healthy", func() wait.Result {
		app := s.application(name)
		if app == nil {
			return wait.NotYet("it does not exist")
		}
		sync, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(app.Object, "status", "health", "status")
		if sync != "Synced" || health != "Healthy" {
			return wait.NotYet("%s, %s: %v", sync, health, app.Object["status"])
		}
		return wait.Done()
	})
}

// sync does what `argocd app sync` does, once a change of its ApplicationSet has made an
// Application OutOfSync. RollingSync does not: it sees the change before Argo CD has compared,
// takes the Application as Synced still, and a step that has been synced is not synced again.
func (s stackTest) sync(name string) {
	s.t.Helper()
	s.eventually("Application "+name+" to be OutOfSync", func() wait.Result {
		app := s.application(name)
		if status, _, _ := unstructured.NestedString(app.Object, "status", "sync", "status"); status != "OutOfSync" {
			return wait.NotYet("it is %s", status)
		}
		return wait.Done()
	})
	const operation = `{"operation": {"initiatedBy": {"username": "admin"}, "sync": {"syncOptions": ["ServerSideApply=true"]}}}`
	applications := s.Dynamic.Resource(infra.ApplicationGVR).Namespace(infra.ArgoCDNamespace)
	if _, err := applications.Patch(s.t.Context(), name, types.MergePatchType, []byte(operation), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// controllerLog waits until the log of a controller has a text.
func (s stackTest) controllerLog(component, text string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%q in the log of %s", text, component), func() wait.Result {
		log, err := s.cluster.Tail(s.t.Context(), component, 1000)
		if err != nil {
			return wait.NotYet("%v", err)
		}
		if !strings.Contains(string(log), text) {
			return wait.NotYet("it is not there")
		}
		return wait.Done()
	})
}

// rolling waits until the ApplicationSet says of an Application that it is in a step with a status.
func (s stackTest) rolling(application, status string) {
	s.t.Helper()
	s.eventually("RollingSync to have "+application+" as "+status, func() wait.Result {
		set, err := s.Dynamic.Resource(infra.ApplicationSetGVR).Namespace(infra.ArgoCDNamespace).Get(s.t.Context(), "gpu-scheduler-complete", metav1.GetOptions{})
		if err != nil {
			return wait.Never(err)
		}
		list, _, _ := unstructured.NestedSlice(set.Object, "status", "applicationStatus")
		for _, one := range list {
			m, _ := one.(map[string]any)
			if m["application"] == application && m["status"] == status {
				return wait.Done()
			}
		}
		return wait.NotYet("%v", list)
	})
}

// denied applies a copy of the AppProject, and of the ApplicationSet of the scheduler alone, under
// another name.
func (s stackTest) denied(name, repoURL string, project func(text string) string) {
	s.t.Helper()
	text := strings.ReplaceAll(s.file("argocd/gpu-scheduler-project.yaml"), upstream, repoURL)
	changed := project(text)
	if changed == text {
		s.t.Fatalf("%s changes nothing in the AppProject: fix this test", name)
	}
	s.applyText(strings.NewReplacer("  name: gpu-scheduler\n", "  name: "+name+"\n", "proj:gpu-scheduler:", "proj:"+name+":", " gpu-scheduler/*", " "+name+"/*").Replace(changed))
	set := strings.ReplaceAll(s.file("argocd/gpu-scheduler-applicationset.yaml"), upstream, repoURL)
	s.applyText(strings.NewReplacer("  name: gpu-scheduler\n", "  name: "+name+"\n", "{{ end }}gpu-scheduler'", "{{ end }}"+name+"'", "project: gpu-scheduler\n", "project: "+name+"\n",
		"releaseName: gpu-scheduler\n", "releaseName: "+name+"\n").Replace(set))
}

// testArgoCD is "ApplicationSet Not Creating Applications" and "Sync Failures", and then all is
// well, with the files of argocd/.
func testArgoCD(s stackTest) {
	for _, kind := range []infra.ControllerKind{infra.ArgoCDControllers, infra.ApplicationSetControllers} {
		c, err := s.cluster.Controllers(kind, infra.ControllerOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		if err := c.Install(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(c.Stop)
		if err := c.Start(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
	repoURL := s.publish()
	file := func(name string) string { return strings.ReplaceAll(s.file("argocd/"+name), upstream, repoURL) }
	all := file("gpu-scheduler-complete-applicationset.yaml")

	// No registered cluster has the label. The scheduler of wave 1 has a mistake in its map.
	s.applyText(file("gpu-scheduler-project.yaml"))
	s.applyText(strings.ReplaceAll(all, "podIndex: 2", "podIndex: 1"))
	s.controllerLog(infra.ArgoCDApplicationSets, "generated 0 applications")
	if app := s.application("gpu-scheduler"); app != nil {
		s.t.Errorf("an Application without a cluster: %v", app.Object)
	}
	s.quota()
	s.applyText(file("local-cluster-secret.yaml"))

	// What a project forbids, and a repository that is not there.
	s.denied("deny-repository", repoURL, func(text string) string { return strings.Replace(text, "- "+repoURL, "- oci://elsewhere.example", 1) })
	s.denied("deny-destination", repoURL, func(text string) string {
		return strings.Replace(text, "namespace: gpu-scheduler-system", "namespace: elsewhere", 1)
	})
	s.denied("deny-kinds", repoURL, func(text string) string {
		return strings.Replace(text, "    - {group: rbac.authorization.k8s.io, kind: ClusterRole}\n", "", 1)
	})
	s.denied("no-repository", repoURL+"-nowhere", func(text string) string { return strings.Replace(text, "The GPU scheduler and", "It, and", 1) })

	// Wave 2 waits for the health of wave 1, which has a reason in its pod's log.
	s.wantLog("gpu-scheduler-system-gpu-scheduler-*", "map.yaml:8: podIndex 1 has two entries")
	s.rolling("gpu-scheduler-check", "Waiting")
	if _, began, _ := unstructured.NestedMap(s.application("gpu-scheduler-check").Object, "status", "operationState"); began {
		s.t.Error("wave 2 was synced although wave 1 is not Healthy")
	}
	s.wantApplication("deny-repository", "InvalidSpecError", "application repo "+repoURL+" is not permitted in project 'deny-repository'")
	s.wantApplication("deny-destination", "InvalidSpecError", "namespace 'gpu-scheduler-system' do not match any of the allowed destinations in project 'deny-destination'")
	s.wantApplication("deny-kinds", "resource rbac.authorization.k8s.io:ClusterRole is not permitted in project deny-kinds")
	s.wantApplication("no-repository", "ComparisonError", "gpu-scheduler-nowhere")

	// The right map: wave 1 becomes Healthy, and wave 2 meets a quota, which is tried again.
	s.rolling("gpu-scheduler", "Progressing")
	s.applyText(all)
	s.sync("gpu-scheduler")
	s.healthy("gpu-scheduler")
	s.wantApplication("gpu-scheduler-check", "exceeded quota: none, requested: count/statefulsets.apps=1")
	if err := s.Kube.CoreV1().ResourceQuotas("gpu-scheduler-tests").Delete(s.t.Context(), "none", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.healthy("gpu-scheduler-check")
	for i, on := range []string{"node1", "node2", "node3"} {
		s.wantReady("gpu-scheduler-tests", fmt.Sprintf("gpu-scheduler-check-%d", i), on)
	}
	s.wantLog("gpu-scheduler-tests-gpu-scheduler-check-0", "pod gpu-scheduler-check-0 (podIndex 0) runs on node node1 with CUDA_VISIBLE_DEVICES=0,1, as the scheduling map says")
}

// quota forbids StatefulSets in the namespace of the check.
func (s stackTest) quota() {
	s.t.Helper()
	const namespace = "gpu-scheduler-tests"
	if _, err := s.Kube.CoreV1().Namespaces().Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/statefulsets.apps": resource.MustParse("0")}}}
	if _, err := s.Kube.CoreV1().ResourceQuotas(namespace).Create(s.t.Context(), q, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// The alternative files differ from the complete one in nothing but what there is to choose.
func TestAlternativesAgree(t *testing.T) {
	s := stackTest{t: t}
	spec := func(file string) (*unstructured.Unstructured, map[string]any) {
		objs, err := infra.DecodeObjects([]byte(s.file("argocd/" + file)))
		if err != nil || len(objs) != 1 {
			t.Fatalf("%s: %d objects, %v", file, len(objs), err)
		}
		template, _, _ := unstructured.NestedMap(objs[0].Object, "spec", "template", "spec")
		return objs[0], template
	}
	_, complete := spec("gpu-scheduler-complete-applicationset.yaml")
	for _, component := range []string{"gpu-scheduler", "gpu-scheduler-check"} {
		set, one := spec(component + "-applicationset.yaml")
		if set.GetName() != component {
			t.Errorf("%s is called %s", component, set.GetName())
		}
		for _, field := range [][]string{{"project"}, {"syncPolicy"}, {"source", "repoURL"}, {"source", "targetRevision"}, {"source", "helm", "values"}} {
			a, _, _ := unstructured.NestedFieldNoCopy(complete, field...)
			b, _, _ := unstructured.NestedFieldNoCopy(one, field...)
			if fmt.Sprint(a) != fmt.Sprint(b) || a == nil {
				t.Errorf("%s: %v is %v, and %v in the complete one", component, field, b, a)
			}
		}
		if path, _, _ := unstructured.NestedString(one, "source", "path"); path != "charts/"+component+"-chart" {
			t.Errorf("%s: the path is %s", component, path)
		}
	}
}
