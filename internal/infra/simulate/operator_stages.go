package simulate

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
	"sigs.k8s.io/yaml"
)

// OperatorStage is a KWOK stage that simulates the operator of a custom resource: it writes the
// status that the operator would report.
//
// The kwok process cannot run it. With stages from a file, kwok reads their kinds from the API
// server when it starts, and exits if one does not exist, but charts install the CRDs later
// (pkg/kwok/controllers/controller.go, initStageController). So OperatorStandIns match and render
// the stage with kwok's own library. They watch a kind as soon as its CRD is established.
type OperatorStage struct {
	Kind schema.GroupVersionKind

	stage *internalversion.Stage
}

// LoadOperatorStages reads the stages in dir of fsys, one per file and kind. A stage may only patch
// the status: objects that an operator creates must be in the expectation too (package operators).
func LoadOperatorStages(fsys fs.FS, dir string) ([]OperatorStage, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var all []OperatorStage
	seen := map[schema.GroupVersionKind]string{}
	for _, f := range files {
		raw, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, fmt.Errorf("read operator stage %s: %w", f, err)
		}
		s, err := parseOperatorStage(raw)
		if err != nil {
			return nil, fmt.Errorf("operator stage %s: %w", f, err)
		}
		if first, ok := seen[s.Kind]; ok {
			return nil, fmt.Errorf("operator stage %s: %s already has the stage %s; merge the two", f, s.Kind, first)
		}
		seen[s.Kind] = f
		all = append(all, s)
	}
	return all, nil
}

func parseOperatorStage(raw []byte) (OperatorStage, error) {
	var v v1alpha1.Stage
	if err := yaml.UnmarshalStrict(raw, &v); err != nil {
		return OperatorStage{}, err
	}
	stage, err := internalversion.ConvertToInternalStage(&v)
	if err != nil {
		return OperatorStage{}, err
	}
	gv, err := schema.ParseGroupVersion(stage.Spec.ResourceRef.APIGroup)
	if err != nil || gv.Group == "" || stage.Spec.ResourceRef.Kind == "" {
		return OperatorStage{}, fmt.Errorf("resourceRef %q %q: want the apiVersion and kind of a custom resource", stage.Spec.ResourceRef.APIGroup, stage.Spec.ResourceRef.Kind)
	}
	if stage.Spec.Selector == nil || len(stage.Spec.Selector.MatchExpressions) == 0 {
		return OperatorStage{}, fmt.Errorf("without selector.matchExpressions it would never end: say when the status has yet to be written")
	}
	if stage.Spec.Delay != nil || len(stage.Spec.Steps) != 1 {
		return OperatorStage{}, fmt.Errorf("want one step and no delay")
	}
	p := stage.Spec.Steps[0].Patch
	if p == nil || p.Subresource != "status" || p.Root != "status" || p.Type == nil || *p.Type != internalversion.StagePatchTypeMergePatch {
		return OperatorStage{}, fmt.Errorf("want a step with a patch: subresource status, root status, type merge")
	}
	if err := checkFunctions(p.Template); err != nil {
		return OperatorStage{}, err
	}
	return OperatorStage{Kind: gv.WithKind(stage.Spec.ResourceRef.Kind), stage: stage}, nil
}

// stagePlayer runs the stages of one cluster. Clusters do not share it, since kwok compiles a stage
// on first use, without a lock.
type stagePlayer struct {
	lifecycles map[schema.GroupVersionKind]lifecycle.Lifecycle
	renderer   gotpl.Renderer
}

func newStagePlayer(stages []OperatorStage) *stagePlayer {
	p := &stagePlayer{lifecycles: map[schema.GroupVersionKind]lifecycle.Lifecycle{}, renderer: gotpl.NewRenderer(gotpl.FuncMap{})}
	for _, s := range stages {
		p.lifecycles[s.Kind] = lifecycle.Lifecycle{lifecycle.NewStage(s.stage)}
	}
	return p
}

func (p *stagePlayer) kinds() []schema.GroupVersionKind {
	return slices.Collect(maps.Keys(p.lifecycles))
}

// patch returns the merge patch of the resource's stage, or nil if no stage applies or its status
// is already written.
func (p *stagePlayer) patch(ctx context.Context, cr *unstructured.Unstructured) ([]byte, error) {
	lc, ok := p.lifecycles[cr.GroupVersionKind()]
	if !ok {
		return nil, nil
	}
	stage, err := lc.Match(ctx, &lifecycle.Event{Labels: cr.GetLabels(), Annotations: cr.GetAnnotations(), Data: cr})
	if err != nil || stage == nil {
		return nil, err
	}
	var data []byte
	_, err = stage.DoSteps(0, cr.GetFinalizers(), cr.Object, p.renderer, nil, nil, func(patch *lifecycle.Patch) error {
		data = patch.Data
		return nil
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("render stage %s: %w", stage.Name(), err)
	}
	return data, nil
}

// play writes the status of the resource's stage, if one applies, and reports whether it did.
func (o *OperatorStandIns) play(ctx context.Context, gvr schema.GroupVersionResource, cr *unstructured.Unstructured) (answered bool, err error) {
	data, err := o.player.patch(ctx, cr)
	if err != nil || data == nil {
		return false, err
	}
	return true, o.patchStatus(ctx, gvr, cr, data)
}
