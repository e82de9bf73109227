package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// mostPods is the largest number of pods of one probe.
const mostPods = 1 << 16

// mostText is how long the objects of a probe may become, in bytes.
const mostText = 8 << 20

// rendered is one object of a probe, and its first line in the probe's file.
type rendered struct {
	object *unstructured.Unstructured
	line   int
}

// values are what the templates see.
func (v Values) values() map[string]any {
	return map[string]any{"Namespace": v.Namespace, "Nodes": v.Nodes, "GPUs": v.GPUs, "GPUsPerNode": v.GPUsPerNode}
}

// renderOnce is render in a new process.
func (p *Probe) renderOnce(ctx context.Context, v Values) ([]rendered, int, error) {
	with := &texttemplate.Renderer{}
	defer with.Close()
	return p.render(ctx, with, v)
}

// render gives the probe's objects, and how many pods must be placed. Errors have file and line.
func (p *Probe) render(ctx context.Context, with *texttemplate.Renderer, v Values) ([]rendered, int, error) {
	at := func(line int, format string, args ...any) error {
		return &recipe.FileError{File: p.File, Line: line, Err: fmt.Errorf(format, args...)}
	}
	text, err := with.Execute(ctx, p.pods, v.values())
	if err != nil {
		return nil, 0, at(p.Line-1, "spec.pods: %w", err)
	}
	pods, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || pods < 0 || pods > mostPods {
		return nil, 0, at(p.Line-1, "spec.pods: want a number from 0 to %d; got %q", mostPods, text)
	}
	if text, err = with.Execute(ctx, p.objects, v.values()); err != nil {
		return nil, 0, at(p.Line, "spec.objects: %w", err)
	}
	docs, err := yamlx.Documents([]byte(text))
	if err != nil {
		problem := yamlx.Problems(err)[0]
		return nil, 0, at(p.Line+max(0, problem.Line-1), "spec.objects, rendered: %s", problem.Text)
	}
	var all []rendered
	for _, d := range docs {
		line := p.Line + lineOf(d) - 1
		var content map[string]any
		if err := d.Decode(&content); err != nil {
			return nil, 0, at(line, "spec.objects, rendered: %s", yamlx.Problems(err)[0].Text)
		}
		raw, err := json.Marshal(content)
		if err != nil {
			return nil, 0, at(line, "spec.objects, rendered: %w", err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(raw); err != nil {
			return nil, 0, at(line, "spec.objects, rendered: %w", err)
		}
		if o.GetName() == "" {
			return nil, 0, at(line, "spec.objects: %s has no name", o.GetKind())
		}
		if ns := o.GetNamespace(); ns != "" && ns != v.Namespace {
			return nil, 0, at(line, "spec.objects: %s %s: the namespace of probes is {{ .Namespace }}, and is removed after them; got %s", o.GetKind(), o.GetName(), ns)
		}
		all = append(all, rendered{o, line})
	}
	if len(all) == 0 {
		return nil, 0, at(p.Line, "spec.objects has no object: the probe would check nothing")
	}
	return all, pods, nil
}

func (r rendered) String() string {
	return r.object.GetKind() + " " + infra.NamespacedName(r.object.GetNamespace(), r.object.GetName())
}
