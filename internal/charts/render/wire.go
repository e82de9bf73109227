package render

import (
	"encoding/gob"
	"encoding/json"
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/nvidia/aicr-action/internal/charts/kustomize"
)

// wireRequest and wireAnswer are what goes through the pipes.
type wireRequest struct {
	Chart           *wireChart
	Values          map[string]any
	Name, Namespace string
	KubeVersion     string
	APIVersions     []string
	// Kustomization is what is to be built, in place of a chart.
	Kustomization *kustomize.Input
}

// wireChart is what Helm renders of a chart.
type wireChart struct {
	Metadata         *chart.Metadata
	Templates, Files []*chart.File
	Schema           []byte
	Values           map[string]any
	Dependencies     []*wireChart
}

type wireAnswer struct {
	Manifest string
	Hooks    []*helmrelease.Hook
	Built    *kustomize.Output
	// Err is Helm's or Kustomize's error; Limit is that of a limit.
	Err, Limit string
}

// emptyList stands for a list without elements, which gob would turn into none at all; to a template they are not the same.
type emptyList struct{}

// register makes the types known that values may have.
var register = sync.OnceFunc(func() {
	gob.Register(map[string]any{})
	gob.Register([]any{})
	gob.Register(emptyList{})
	gob.Register(json.Number(""))
})

func encode(r Request) wireRequest {
	return wireRequest{
		Chart: encodeChart(r.Chart), Values: asMap(encodeValue(r.Values)), Name: r.Name, Namespace: r.Namespace, KubeVersion: r.KubeVersion, APIVersions: r.APIVersions,
	}
}

func encodeChart(ch *chart.Chart) *wireChart {
	w := &wireChart{Metadata: ch.Metadata, Templates: ch.Templates, Files: ch.Files, Schema: ch.Schema, Values: asMap(encodeValue(ch.Values))}
	for _, d := range ch.Dependencies() {
		w.Dependencies = append(w.Dependencies, encodeChart(d))
	}
	return w
}

func (w *wireChart) chart() *chart.Chart {
	ch := &chart.Chart{Metadata: w.Metadata, Templates: w.Templates, Files: w.Files, Schema: w.Schema, Values: asMap(decodeValue(w.Values))}
	for _, d := range w.Dependencies {
		ch.AddDependency(d.chart())
	}
	return ch
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func encodeValue(v any) any {
	return walk(v, func(list []any) any {
		if len(list) == 0 {
			return emptyList{}
		}
		return list
	})
}

func decodeValue(v any) any { return walk(v, func(list []any) any { return list }) }

// walk copies a value, with every list as the function has it.
func walk(v any, ofList func([]any) any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, child := range v {
			m[key] = walk(child, ofList)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, child := range v {
			list[i] = walk(child, ofList)
		}
		return ofList(list)
	case emptyList:
		return []any{}
	default:
		return v
	}
}
