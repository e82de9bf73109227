//go:build kind

package kind

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

// A cluster that is reused has the harness's workloads as they were installed, and nothing of the
// cell before.
func TestReusedCluster(t *testing.T) {
	p := realPlatform(t)
	p.Reuse = fmt.Sprintf("reused-%d", os.Getpid())
	if err := p.Needs(t.Context(), controllerKinds()...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Remove(context.WithoutCancel(t.Context()), p.Reuse); err != nil {
			t.Error(err)
		}
		if left, err := p.Engine.Nodes(context.WithoutCancel(t.Context()), p.Reuse); err != nil || len(left) > 0 {
			t.Errorf("left: %q, %v", left, err)
		}
	})
	ctx := t.Context()
	cell := func(accelerated int, project string) (infra.Cluster, map[string]appsv1.Deployment) {
		t.Helper()
		groups, err := simulate.ChooseProfiles(infratest.Profiles(t), "eks", "any", simulate.DefaultNodeGroups(2, accelerated))
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "cell")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		c, err := p.Cluster(infra.Spec{Name: "prefix-run-1", Dir: dir, Nodes: simulate.Nodes(groups), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err != nil {
			t.Fatal(err)
		}
		down := func() {
			if err := c.Down(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		}
		start := time.Now()
		if err := c.Up(ctx); err != nil {
			down()
			t.Fatal(err)
		}
		t.Cleanup(down)
		t.Logf("the cluster is ready after %s", time.Since(start).Round(100*time.Millisecond))
		settings, err := decode(fmt.Sprintf("{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: %s, namespace: argocd}, spec: {sourceRepos: ['*']}}", project))
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []infra.ControllerKind{infra.FluxControllers, infra.ArgoCDControllers, infra.ApplicationSetControllers} {
			start := time.Now()
			controllers, err := c.Controllers(kind, infra.ControllerOptions{Objects: settings})
			if err != nil {
				t.Fatal(err)
			}
			if err := controllers.Install(ctx); err != nil {
				t.Fatal(err)
			}
			if err := controllers.Start(ctx); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s after another %s", kind, time.Since(start).Round(100*time.Millisecond))
		}
		projects, err := c.Clients().Dynamic.Resource(infra.AppProjectGVR).Namespace(infra.ArgoCDNamespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(projects.Items) != 2 || !slices.ContainsFunc(projects.Items, func(p unstructured.Unstructured) bool { return p.GetName() == project }) {
			t.Errorf("%d AppProjects, want the default one and %s: %v, %v", len(projects.Items), project, projects.Items, err)
		}
		nodes, err := c.Clients().Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: simulatedLabel})
		if err != nil || len(nodes.Items) != 2+accelerated {
			t.Errorf("%d simulated nodes, want %d (%v)", len(nodes.Items), 2+accelerated, err)
		}
		all := map[string]appsv1.Deployment{}
		for _, namespace := range ownNamespaces() {
			list, err := c.Clients().Kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list.Items {
				all[namespace+"/"+d.Name] = d
			}
		}
		return c, all
	}
	first, installed := cell(2, "first")
	maps := first.Clients().Kube.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "of-the-first-cell"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := first.Clients().Kube.AppsV1().Deployments(infra.FluxNamespace).Delete(ctx, infra.FluxHelmController, metav1.DeleteOptions{}); err != nil { // a recipe may break anything
		t.Fatal(err)
	}
	if err := first.Down(ctx); err != nil {
		t.Fatal(err)
	}
	second, again := cell(4, "second")
	if _, err := second.Clients().Kube.CoreV1().ConfigMaps("default").Get(ctx, "of-the-first-cell", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object of the first cell: %v", err)
	}
	if len(installed) != 9 || len(again) != len(installed) {
		t.Errorf("%d Deployments of the harness, then %d", len(installed), len(again))
	}
	for name, d := range installed {
		if again[name].UID != d.UID || again[name].Generation != d.Generation {
			t.Errorf("%s was installed again", name)
		}
	}
	if all := p.Kept(ctx); len(all) != 1 || !all[0].Reused || !all[0].InUse || len(all[0].Containers) != 1 {
		t.Errorf("listed as %+v", all)
	}
}
