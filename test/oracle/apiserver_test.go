//go:build oracle

package oracle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nvidia/aicr-action/internal/bundle/podspec"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/testkit/embeddedtest"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// Of what the API server creates, it rejects an apply on its side or the pods of a workload just where a rule says so.
// What it does not create a cell quotes in its own words.
func TestOracleAPIServer(t *testing.T) {
	testskip.Short(t, "no real stack")
	dir, version, _ := theStack(t)
	c, _ := embeddedtest.Start(t, &embedded.Platform{}, nil)
	s := &server{Clients: c.Clients()}
	var err error
	if s.mapper, err = s.Mapper(); err != nil {
		t.Fatal(err)
	}
	o := &oracle{name: "apiserver", version: version, bases: s.known(checksCases(t)), program: s.ask}
	o.compare = func(ctx context.Context, in *input, v *verdict) (*difference, error) {
		if v.Word == "rejected" || v.Word == "unread" {
			return nil, nil
		}
		said, err := ours(ctx, in, false)
		if err != nil {
			return nil, err
		}
		claims := said.of("[MX125]", "[MX512]", "[MX525]", "names ServiceAccount ", "names PriorityClass ", "names RuntimeClass ")
		if (v.Word != "created") == (claims.Level != "silent") {
			return nil, nil
		}
		return &difference{*in, v.String(), claims.String()}, nil
	}
	o.run(t, theSchemas(t, dir))
}

// of are the lines that have one of the texts.
func (s *said) of(texts ...string) *said {
	out := &said{Level: "silent"}
	for _, line := range s.Lines {
		level, text, _ := strings.Cut(line, ": ")
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(text, t) }) {
			out.add(level, text)
		}
	}
	return out
}

// server is an API server that is asked and keeps nothing but what its admission plugins look up.
type server struct {
	*infra.Clients
	mapper meta.RESTMapper
	n      int
}

// known are the inputs whose subjects are of kinds that the API server has.
func (s *server) known(all []input) []input {
	return slices.DeleteFunc(all, func(in input) bool {
		_, err := s.mapping(&unstructured.Unstructured{Object: in.Subject})
		return err != nil || in.name() == ""
	})
}

func (s *server) mapping(o *unstructured.Unstructured) (*meta.RESTMapping, error) {
	return s.mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
}

func (s *server) ask(ctx context.Context, all []input) (map[string]verdict, error) {
	verdicts := map[string]verdict{}
	for i := range all {
		v, err := s.one(ctx, &all[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].Name, err)
		}
		verdicts[all[i].Name] = *v
	}
	return verdicts, nil
}

// one asks about an input in a namespace of its own: create, apply, and for a workload its pod, all as dry runs.
func (s *server) one(ctx context.Context, in *input) (*verdict, error) {
	s.n++
	name := fmt.Sprintf("in-%d", s.n)
	space := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	account := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default", "namespace": name}}}
	kept := []*unstructured.Unstructured{space, account}
	moved := in.copy()
	for _, o := range moved.all() {
		if u := (&unstructured.Unstructured{Object: o}); u.GetNamespace() != "" {
			u.SetNamespace(name)
		}
	}
	for _, o := range moved.Objects {
		if u := (&unstructured.Unstructured{Object: o}); slices.Contains([]string{"ServiceAccount", "PriorityClass", "RuntimeClass"}, u.GetKind()) {
			kept = append(kept, u)
		}
	}
	for _, o := range kept {
		if v, err := s.create(ctx, o, false); err != nil || v != nil {
			return v, err // a case that has no such context
		}
	}
	defer func() {
		for _, o := range append(kept[2:], space) {
			if m, err := s.mapping(o); err == nil {
				_ = s.Scoped(m, o.GetNamespace()).Delete(context.WithoutCancel(ctx), o.GetName(), metav1.DeleteOptions{})
			}
		}
	}()
	u := &unstructured.Unstructured{Object: moved.Subject}
	if v, err := s.create(ctx, u, true); err != nil || v != nil {
		return v, err
	}
	m, err := s.mapping(u)
	if err != nil {
		return nil, err
	}
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	force := true
	options := metav1.PatchOptions{FieldManager: "oracle", Force: &force, DryRun: []string{metav1.DryRunAll}}
	// A client's own Apply would reject some objects before the API server sees them.
	if _, err := s.Scoped(m, u.GetNamespace()).Patch(ctx, u.GetName(), types.ApplyPatchType, raw, options); err != nil {
		return answered(err, "apply")
	}
	if template, ok := podspec.Template(u); ok && u.GetKind() != "Pod" {
		p := podsOf([]input{moved})
		if template == nil || len(p) == 0 {
			return &verdict{Word: "created"}, nil
		}
		pod := &unstructured.Unstructured{Object: p[0].Subject}
		pod.SetNamespace(name)
		if v, err := s.create(ctx, pod, true); err != nil || v != nil {
			if v != nil {
				v.Word = "pods"
			}
			return v, err
		}
	}
	return &verdict{Word: "created"}, nil
}

// create creates an object; a verdict is the API server's rejection.
func (s *server) create(ctx context.Context, o *unstructured.Unstructured, dry bool) (*verdict, error) {
	m, err := s.mapping(o)
	if err != nil {
		return &verdict{Word: "unread", Message: err.Error()}, nil
	}
	var options metav1.CreateOptions
	if dry {
		options.DryRun = []string{metav1.DryRunAll}
	}
	if _, err := s.Scoped(m, o.GetNamespace()).Create(ctx, o.DeepCopy(), options); err != nil && !apierrors.IsAlreadyExists(err) {
		return answered(err, "rejected")
	}
	return nil, nil
}

// answered is an answer of the API server; an error if there was none.
func answered(err error, word string) (*verdict, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil, fmt.Errorf("ask the API server: %w", err)
	}
	return &verdict{Word: word, Reason: string(status.Status().Reason), Message: status.Status().Message}, nil
}
