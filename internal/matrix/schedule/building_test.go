package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra"
)

// steps is a platform whose preparations end when the test says so.
type steps struct {
	mu    sync.Mutex
	asked []string
	let   map[string]chan error
}

func newSteps(names ...string) *steps {
	s := &steps{let: map[string]chan error{}}
	for _, n := range names {
		s.let[n] = make(chan error, 1)
	}
	return s
}

func (s *steps) needs(ctx context.Context, kinds ...infra.ControllerKind) error {
	name := strings.Trim(fmt.Sprint(kinds), "[]")
	s.mu.Lock()
	s.asked = append(s.asked, name)
	s.mu.Unlock()
	select {
	case err := <-s.let[name]:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func nothing(context.Context) {}

var (
	helm   = BuildingSet{}
	argocd = BuildingSet{infra.ArgoCDControllers}
	flux   = BuildingSet{infra.FluxControllers}
)

// A set is ready as soon as it is, whatever comes after it; one that fails takes no other with it.
func TestBuild(t *testing.T) {
	s := newSteps("", "argocd", "flux")
	fetched := make(chan struct{})
	b := StartBuilding(t.Context(), s.needs, func(context.Context) { close(fetched) }, []BuildingSet{argocd, helm, flux})
	<-fetched // while nothing is ready
	if done, _ := b.Done(helm); done {
		t.Error("ready before anything was prepared")
	}
	s.let[""] <- nil
	if err := b.AwaitFirst(t.Context(), []BuildingSet{argocd, helm, flux}); err != nil {
		t.Fatal(err)
	}
	if done, err := b.Done(helm); !done || err != nil {
		t.Errorf("the control plane is there, and its set is ready: %t, %v", done, err)
	}
	if done, _ := b.Done(argocd); done {
		t.Error("a set is ready that is still prepared")
	}
	broken := errors.New("does not compile")
	changed := b.Changed()
	s.let["argocd"] <- broken
	<-changed
	s.let["flux"] <- nil
	if err := b.AwaitFirst(t.Context(), []BuildingSet{argocd, flux}); err != nil {
		t.Errorf("one of two sets can be had: %v", err)
	}
	if done, err := b.Done(argocd); !done || !errors.Is(err, broken) {
		t.Errorf("got %t, %v; want the error of the set", done, err)
	}
	b.Stop()
}

// Without what every cell needs there is no use in preparing the rest.
func TestBuild_NoBase(t *testing.T) {
	s := newSteps("", "argocd", "flux")
	broken := errors.New("no space left")
	s.let[""] <- broken
	b := StartBuilding(t.Context(), s.needs, nothing, []BuildingSet{argocd, helm, flux})
	if err := b.AwaitFirst(t.Context(), []BuildingSet{argocd, helm, flux}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	b.Stop()
	if !slices.Equal(s.asked, []string{""}) {
		t.Errorf("prepared %q after the base had failed", s.asked)
	}
}

func TestBuild_Interrupted(t *testing.T) {
	why := errors.New("interrupted by a test")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := StartBuilding(ctx, newSteps("").needs, nothing, []BuildingSet{helm})
	cancel(why)
	if err := b.AwaitFirst(ctx, []BuildingSet{helm}); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	b.Stop()
}

// A run that is over does not go on compiling.
func TestStop(t *testing.T) {
	s := newSteps("", "argocd")
	b := StartBuilding(t.Context(), s.needs, nothing, []BuildingSet{argocd})
	s.let[""] <- nil
	b.Stop()
	if done, err := b.Done(argocd); !done || !errors.Is(err, context.Canceled) {
		t.Errorf("got %t, %v", done, err)
	}
}

func TestNoBuild(t *testing.T) {
	var b *Build
	b.Stop()
	if done, err := b.Done(argocd); !done || err != nil {
		t.Errorf("got %t, %v: everything is there", done, err)
	}
}
