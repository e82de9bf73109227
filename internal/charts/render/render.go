// Package render has Helm render a chart, or Kustomize build a kustomization, in a process of its
// own. A template is an untrusted program, and Helm can neither interrupt it nor limit its memory.
// A kustomization can make Kustomize download files and start programs. The process has a limit of
// time, of memory and of output, no files, no network and no environment, and it returns only text.
//
// It knows charts, values and kustomizations. It must not know recipes, or what the text means.
package render

import (
	"context"
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/nvidia/aicr-action/internal/util/confined"
)

// Limits bound one rendering. The zero value stands for Default.
type Limits struct {
	// Time from the request to the answer, of the wall clock.
	Time time.Duration
	// CPU time of the process in that time; 0: no limit.
	CPU time.Duration
	// Memory of the process, in bytes.
	Memory uint64
	// Text is all that the templates may make, in bytes; Values are the scalars, lists and maps in
	// it; Documents its YAML documents.
	Text, Values, Documents int
}

// Default is far above what a chart needs: the largest ones of the recipe set take 2 s, 200 MiB,
// and make 5 MiB in 300 documents. Helm itself cannot install what is packed to more than 1 MiB.
func Default() Limits {
	return Limits{Time: 2 * time.Minute, Memory: 1 << 30, Text: 32 << 20, Values: 4 << 20, Documents: 10_000}
}

// Request is a release to render, as `helm template` does: without a cluster.
type Request struct {
	Chart           *chart.Chart // it is not changed
	Values          map[string]any
	Name, Namespace string
	// KubeVersion that the templates see, e.g. v1.36.1; "" is Helm's default. APIVersions are all
	// the APIs that they see.
	KubeVersion string
	APIVersions []string
	Post        Post
}

// Post is what Kustomize does to the objects afterwards, in the way of Flux's postRenderers.
type Post struct {
	// Steps are kustomizations with patches and images, as JSON, one after another.
	Steps []string
	// At is where a person finds them: what objects have in place of a template that patches change.
	At string
	// Look: what they set for objects that the release does not have is wanted too.
	Look bool
}

// Release is what the templates have made.
type Release struct {
	Manifest string
	Hooks    []*helmrelease.Hook
	// Skipped are the hook annotations of objects that Helm leaves out, since one of the hooks in
	// them is none of Helm's.
	Skipped []string
	// Unmatched are entries of Post.Steps that select no object, if Post.Look.
	Unmatched []Unmatched
}

// LimitError is a rendering that went over one of the Limits.
type LimitError struct {
	What string
	// Kustomization: it was one and no chart.
	Kustomization bool
}

func (e *LimitError) Error() string {
	if e.Kustomization {
		return e.What + "; no kustomization needs that: look for a base that is named again and again, or a file that is none of its own"
	}
	return e.What + "; no chart needs that: look for a template that never ends or repeats itself"
}

// Renderer renders in a process that it starts when it is first needed, and once more after that
// process was ended by a limit. It is for one caller at a time. Close it.
type Renderer struct {
	Limits Limits

	process *confined.Process
}

// Release renders. Errors are a *LimitError, Helm's own words, or ctx's.
func (r *Renderer) Release(ctx context.Context, req Request) (*Release, error) {
	answer, err := r.answer(ctx, encode(req))
	if err != nil {
		return nil, err
	}
	return &Release{Manifest: answer.Manifest, Hooks: answer.Hooks, Skipped: answer.Skipped, Unmatched: answer.Unmatched}, nil
}

// Build builds a kustomization. Errors are a *LimitError, Kustomize's own words, or ctx's.
func (r *Renderer) Build(ctx context.Context, in KustomizationInput) (*KustomizationOutput, error) {
	answer, err := r.answer(ctx, wireRequest{Kustomization: &in})
	if limit := (*LimitError)(nil); errors.As(err, &limit) {
		limit.Kustomization = true
	}
	if err != nil {
		return nil, err
	}
	return answer.Built, nil
}

func (r *Renderer) answer(ctx context.Context, req wireRequest) (*wireAnswer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limits := r.Limits
	if limits == (Limits{}) {
		limits = Default()
	}
	if r.process == nil {
		p, err := start(limits)
		if err != nil {
			return nil, fmt.Errorf("start the process that renders charts: %w", err)
		}
		r.process = p
	}
	stop := context.AfterFunc(ctx, r.process.Kill)
	answer := &wireAnswer{}
	err := r.process.Ask("the process that renders charts", req, answer)
	if limit := (*confined.LimitError)(nil); errors.As(err, &limit) {
		err = &LimitError{What: limit.What}
	}
	if !stop() && ctx.Err() != nil || err != nil {
		r.Close()
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case answer.Limit != "":
		return nil, &LimitError{What: answer.Limit}
	case answer.Err != "":
		return nil, errors.New(answer.Err)
	}
	return answer, nil
}

// Close ends the process, if there is one.
func (r *Renderer) Close() {
	if r.process != nil {
		r.process.Close()
		r.process = nil
	}
}

// Pool is several Renderers, for goroutines that render side by side; each starts its process when
// it is first used.
type Pool []*Renderer

// NewPool is a pool of n. Close it.
func NewPool(n int) Pool {
	all := make(Pool, n)
	for i := range all {
		all[i] = &Renderer{}
	}
	return all
}

// Close ends all processes.
func (p Pool) Close() {
	for _, r := range p {
		r.Close()
	}
}
