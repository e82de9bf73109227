package daytwo

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// inNoOrder are the functions of templates that return a list in another order each time.
var inNoOrder = regexp.MustCompile(`(?:^|[\s(|{-])(keys|values)\s`)

// counts are those for which the order of a list does not matter.
var counts = regexp.MustCompile(`\b(len|has)\b`)

// orderOf is such a function in an action that does not put its list in order, or only counts it; empty if
// there is none.
func orderOf(action string) string {
	m := inNoOrder.FindStringSubmatch(action)
	if m == nil || strings.Contains(action, "sortAlpha") || counts.MatchString(action) {
		return ""
	}
	return m[1] + ", a list in another order each time (sortAlpha)"
}

// mostRenderings bounds how often charts are rendered to see two orders: a list of two is in the same order
// seven times of eight.
const mostRenderings = 8

// unordered lists the objects whose template has nothing that changes at each rendering but an order.
func unordered(b *bundle.Bundle) (all []*bundle.Object) {
	for i := range b.Installs {
		in := &b.Installs[i]
		if in.Chart == nil {
			continue
		}
		var names []string
		templatesOf(in, func(name string, t *chart.File) {
			uses := usesIn(string(t.Data))
			if len(uses) > 0 && !slices.ContainsFunc(uses, func(u use) bool { return orderOf("{{ "+u.what) == "" && !strings.Contains(u.what, "sortAlpha") }) {
				names = append(names, name)
			}
		})
		for j := range b.Expectation.Objects {
			if o := &b.Expectation.Objects[j]; o.Release == in.Release.Name && !o.Hook && slices.Contains(names, o.Template) {
				all = append(all, o)
			}
		}
	}
	return all
}

// disordered is the first of these objects that another rendering has otherwise; nil if there is none.
func disordered(objects []*bundle.Object, again []bundle.Object) *bundle.Object {
	for _, o := range objects {
		i := slices.IndexFunc(again, func(other bundle.Object) bool { return other.Ref() == o.Ref() })
		if i >= 0 && !reflect.DeepEqual(o.Object.Object, again[i].Object.Object) {
			return o
		}
	}
	return nil
}

// byLuck is the failure of a second delivery that changed nothing only because its charts happened to be
// rendered in the same order; nil if no rendering has another one. Reasons: NEVER_SETTLES, INTERNAL.
func (r *SecondDelivery) byLuck(ctx context.Context) error {
	objects := unordered(r.Env.Bundle)
	if r.Again == nil || len(objects) == 0 {
		return nil
	}
	again, err := r.Again(ctx)
	if err != nil {
		return reason.Wrap(reason.Internal, err)
	}
	o := disordered(objects, again)
	if o == nil {
		return nil
	}
	ref := o.Ref()
	f := result.Finding{Check: otherOrder.ID, Object: &ref, Component: o.Component, Cause: fmt.Sprintf("%s is rendered otherwise each time, though the second delivery happened to be the same", ref)}
	i := slices.IndexFunc(r.Env.Bundle.Installs, func(in bundle.Install) bool { return in.Release.Name == o.Release })
	for _, use := range usesOf(&r.Env.Bundle.Installs[i], o.Template) {
		f.Story = append(f.Story, "likely cause: "+use)
	}
	return &reason.Error{Reason: reason.NeverSettles, Component: o.Component, Err: result.NewFailure(f)}
}
