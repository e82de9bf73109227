package charts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/charts/catalog"
)

// List is a chart source of several: the first that has a chart is where it comes from. A source
// that has it and cannot give it is an error, and so is one with an unreadable file, which may be
// the chart: the next source is asked only if a chart is not there.
type List []catalog.Source

var _ catalog.Source = List(nil)

// Name is the names of the sources.
func (l List) Name() string {
	var names []string
	for _, s := range l {
		names = append(names, s.Name())
	}
	return strings.Join(names, ", ")
}

// Load says where it found the chart, and which later source has other content under the same
// version.
func (l List) Load(ctx context.Context, ref catalog.Ref) (*chart.Chart, string, error) {
	var asked []error
	for i, s := range l {
		ch, from, err := s.Load(ctx, ref)
		var missing *catalog.NotFoundError
		if errors.As(err, &missing) && len(missing.Unreadable) == 0 {
			asked = append(asked, err)
			continue
		}
		if err != nil {
			return nil, "", err
		}
		if others := l[i+1:].differing(ctx, ref, ch); len(others) > 0 {
			from += fmt.Sprintf(" (not the one in %s, which has other content)", strings.Join(others, ", "))
		}
		return ch, from, nil
	}
	return nil, "", l.notFound(ref, asked)
}

// differing are the names of the sources that have another chart of that name and version. What
// only a download would show is left out.
func (l List) differing(ctx context.Context, ref catalog.Ref, ch *chart.Chart) []string {
	var names []string
	for _, s := range l {
		switch s.(type) {
		case *Upstream, *Unlocked:
			continue
		}
		other, _, err := s.Load(ctx, ref)
		if err == nil && other.Metadata.Version == ch.Metadata.Version && !archive.Same(ch, other) {
			names = append(names, s.Name())
		}
	}
	return names
}

func (l List) notFound(ref catalog.Ref, asked []error) error {
	e := &catalog.NotFoundError{Chart: ref.Name, Version: versionText(ref.Version), Source: l.Name()}
	for _, err := range asked {
		var one *catalog.NotFoundError
		if errors.As(err, &one) {
			for _, have := range one.Have {
				e.Have = append(e.Have, have+" ("+one.Source+")")
			}
		}
	}
	return e
}

// Find is nil if a source has a chart, and otherwise says why not, as Load does. Of charts that are
// downloaded it asks the lock only.
func Find(ctx context.Context, s catalog.Source, ref catalog.Ref) error {
	switch s := s.(type) {
	case *Upstream:
		e, err := s.Lock.Find(Pin{Ref: ref})
		if err == nil && e == nil {
			err = s.notFound(ref)
		}
		return err
	case List:
		var asked []error
		for _, one := range s {
			err := Find(ctx, one, ref)
			var missing *catalog.NotFoundError
			if !errors.As(err, &missing) || len(missing.Unreadable) > 0 {
				return err
			}
			asked = append(asked, err)
		}
		return s.notFound(ref, asked)
	}
	_, _, err := s.Load(ctx, ref)
	return err
}

// Downloads is the source of a list, or the source itself, that downloads charts; nil if none does.
func Downloads(s catalog.Source) *Upstream {
	switch s := s.(type) {
	case *Upstream:
		return s
	case List:
		for _, one := range s {
			if u := Downloads(one); u != nil {
				return u
			}
		}
	}
	return nil
}

// Ready makes sure, before anything is started, that a source has the charts of recipes: that the
// lock fits, and that what it names is downloaded. The pins are those of one recipe each. Sources
// that do not download have nothing to do.
func Ready(ctx context.Context, s catalog.Source, recipes [][]Pin, tell func(done, of int)) error {
	u := Downloads(s)
	if today, ok := s.(*Unlocked); ok {
		return today.pull(ctx, slices.Concat(recipes...), tell)
	}
	if u == nil {
		return nil
	}
	var errs []error
	var all []Pin
	for _, pins := range recipes {
		wanted, err := wantedOf(ctx, s, u, pins)
		if err == nil {
			err = u.Lock.Fits(wanted)
		}
		errs = append(errs, err)
		all = append(all, wanted...)
	}
	if err := errors.Join(errs...); err != nil {
		return unique(err)
	}
	return u.Pull(ctx, all, tell)
}

// wantedOf are the pins that a list has no other source for before the one that downloads, and
// after it none if the lock has no entry.
func wantedOf(ctx context.Context, s catalog.Source, u *Upstream, pins []Pin) ([]Pin, error) {
	list, ok := s.(List)
	if !ok {
		return pins, nil
	}
	var wanted []Pin
	for _, p := range pins {
		for _, one := range list {
			if one == catalog.Source(u) {
				e, err := u.Lock.Find(p)
				if err != nil {
					return nil, err
				}
				if e != nil || one == list[len(list)-1] {
					wanted = append(wanted, p)
					break
				}
				continue
			}
			_, _, err := one.Load(ctx, p.Ref)
			var missing *catalog.NotFoundError
			if !errors.As(err, &missing) || len(missing.Unreadable) > 0 {
				break // it has the chart, or its error ends the cell
			}
		}
	}
	return wanted, nil
}

// unique joins errors, each text once: recipes share components.
func unique(err error) error {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return err
	}
	seen := map[string]bool{}
	var once []error
	for _, e := range flat(err) {
		if !seen[e.Error()] {
			seen[e.Error()] = true
			once = append(once, e)
		}
	}
	return errors.Join(once...)
}

func flat(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, flat(e)...)
		}
		return all
	}
	return []error{err}
}
