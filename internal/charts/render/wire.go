package render

import (
	"encoding/gob"
	"encoding/json"
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
)

// wireRequest and wireAnswer are what goes through the pipes.
type wireRequest struct {
	Chart           *WireChart
	Values          map[string]any
	Name, Namespace string
	KubeVersion     string
	APIVersions     []string
	Post            Post
	// Kustomization is what is to be built, in place of a chart.
	Kustomization *KustomizationInput
}

// WireChart is a chart on its way into another process: what Helm renders and installs of it.
type WireChart struct {
	Metadata         *chart.Metadata
	Lock             *chart.Lock
	Templates, Files []*chart.File
	Schema           []byte
	Values           map[string]any
	Dependencies     []*WireChart
}

type wireAnswer struct {
	Manifest string
	Hooks    []*helmrelease.Hook
	Skipped  []string
	Built    *KustomizationOutput
	// Unmatched are those of a release.
	Unmatched []Unmatched
	// Err is Helm's or Kustomize's error; Limit is that of a limit.
	Err, Limit string
}

// emptyList stands for a list without elements. Gob would decode it as nil, and a template can see
// the difference.
type emptyList struct{}

// Register makes the types known that values may have.
var Register = sync.OnceFunc(func() {
	gob.Register(map[string]any{})
	gob.Register([]any{})
	gob.Register(emptyList{})
	gob.Register(json.Number(""))
})

func encode(r Request) wireRequest {
	return wireRequest{
		Chart: EncodeChart(r.Chart), Values: EncodeValues(r.Values), Name: r.Name, Namespace: r.Namespace, KubeVersion: r.KubeVersion, APIVersions: r.APIVersions, Post: r.Post,
	}
}

// EncodeChart prepares a chart for gob; Chart is the way back.
func EncodeChart(ch *chart.Chart) *WireChart {
	w := &WireChart{Metadata: ch.Metadata, Lock: ch.Lock, Templates: ch.Templates, Files: ch.Files, Schema: ch.Schema, Values: asMap(encodeValue(ch.Values))}
	for _, d := range ch.Dependencies() {
		w.Dependencies = append(w.Dependencies, EncodeChart(d))
	}
	return w
}

// Chart is the chart that EncodeChart was given.
func (w *WireChart) Chart() *chart.Chart {
	ch := &chart.Chart{Metadata: w.Metadata, Lock: w.Lock, Templates: w.Templates, Files: w.Files, Schema: w.Schema, Values: asMap(decodeValue(w.Values))}
	for _, d := range w.Dependencies {
		ch.AddDependency(d.Chart())
	}
	return ch
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// asFile gives a number of values the form that it has in a file of values for Helm, which reads that as JSON: all are of
// floating point, so that a template prints 1000000 as 1e+06, and neither compares one with a whole number nor formats it with %d.
func asFile(leaf any) any {
	switch v := leaf.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return leaf
}

// EncodeValues prepares values for gob, with the numbers of a file of values; DecodeValues is the way back.
func EncodeValues(values map[string]any) map[string]any {
	return asMap(walk(values, encodeList, asFile))
}

// DecodeValues are the values that EncodeValues was given.
func DecodeValues(values map[string]any) map[string]any { return asMap(decodeValue(values)) }

func encodeValue(v any) any { return walk(v, encodeList, asItIs) }

func encodeList(list []any) any {
	if len(list) == 0 {
		return emptyList{}
	}
	return list
}

func asItIs(leaf any) any { return leaf }

func decodeValue(v any) any { return walk(v, func(list []any) any { return list }, asItIs) }

// walk copies a value, with every list and every leaf as the functions have them.
func walk(v any, ofList func([]any) any, ofLeaf func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, child := range v {
			m[key] = walk(child, ofList, ofLeaf)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, child := range v {
			list[i] = walk(child, ofList, ofLeaf)
		}
		return ofList(list)
	case emptyList:
		return []any{}
	default:
		return ofLeaf(v)
	}
}
