package oracle

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// A kubelet starts the pods of which the rules say nothing, and none of which they say that it does not start.
func TestOracleKubelet(t *testing.T) {
	testskip.Short(t, "it compiles a kubelet")
	if runtime.GOOS != "linux" {
		testskip.Missing(t, "a kubelet is a program of Linux")
	}
	dir, version, _ := theStack(t)
	d := theProgram(t, "decides", version)
	o := &oracle{name: "kubelet", version: version, bases: readInputs(t, "testdata/pods/*.yaml"), asked: podsOf(checksCases(t)), prepare: placed}
	o.program = func(ctx context.Context, all []input) (map[string]verdict, error) {
		return d.kubelet(ctx, infratest.ShortTempDir(t), all)
	}
	o.compare = func(ctx context.Context, in *input, v *verdict) (*difference, error) {
		if v.Word == "invalid" || v.Word == "unread" {
			return nil, nil // the API server's matter
		}
		s, err := ours(ctx, in, true)
		if err != nil {
			return nil, err
		}
		if v.Word == "refused" && s.Level == "fault" || v.Word == "starts" && s.Level != "fault" {
			return nil, nil
		}
		return &difference{*in, v.String(), s.String()}, nil
	}
	o.run(t, theSchemas(t, dir))
}

// placed leaves out of a pod what the scheduler, the API server and drivers decide about.
func placed(in *input) {
	unstructured.RemoveNestedField(in.Subject, "metadata", "annotations", "helm.sh/hook") // a kubelet knows no hooks
	unstructured.RemoveNestedField(in.Subject, "metadata", "annotations", "argocd.argoproj.io/hook")
	spec, _, _ := unstructured.NestedMap(in.Subject, "spec")
	if spec == nil {
		return
	}
	for _, field := range []string{"nodeName", "nodeSelector", "affinity", "topologySpreadConstraints", "schedulerName", "priorityClassName", "priority", "runtimeClassName", "serviceAccountName", "serviceAccount", "resourceClaims", "schedulingGates", "readinessGates", "activeDeadlineSeconds"} {
		delete(spec, field)
	}
	volumes, _ := spec["volumes"].([]any)
	for _, v := range volumes {
		v, ok := v.(map[string]any)
		if ok && (v["persistentVolumeClaim"] != nil || v["ephemeral"] != nil) {
			delete(v, "persistentVolumeClaim")
			delete(v, "ephemeral")
			v["emptyDir"] = map[string]any{}
		}
		if projected, ok := v["projected"].(map[string]any); ok {
			sources, _ := projected["sources"].([]any)
			projected["sources"] = slices.DeleteFunc(sources, func(s any) bool { m, _ := s.(map[string]any); return m["clusterTrustBundle"] != nil })
		}
	}
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := spec[list].([]any)
		for _, c := range containers {
			if c, ok := c.(map[string]any); ok {
				for _, field := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
					delete(c, field)
				}
				unstructured.RemoveNestedField(c, "resources", "claims")
			}
		}
	}
	in.Subject["spec"] = spec
}

// kubelet asks about pods, each in a namespace of its own.
func (d *decider) kubelet(ctx context.Context, dir string, all []input) (map[string]verdict, error) {
	own := make([]input, len(all))
	for i := range all {
		own[i] = all[i].in(fmt.Sprintf("in-%d", i))
	}
	verdicts := map[string]verdict{}
	for len(own) > 0 { // on a busy machine it has no time for some of many, so that these are asked about once more
		a, err := d.ask(ctx, "kubelet", dir, own, 30+len(own)/10)
		if err != nil {
			return nil, err
		}
		maps.Copy(verdicts, a.Verdicts)
		asked := len(own)
		own = slices.DeleteFunc(own, func(in input) bool { return a.Verdicts[in.Name].Word != "undecided" })
		if len(own) == asked {
			break
		}
	}
	return verdicts, nil
}
