package matrix

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
)

// maker is a program whose recipes and bundles are as these say, by recipe.
type maker struct {
	likeness, digest map[string]string
	mu               sync.Mutex
	made             []string
	dirs             map[string]bool
}

func (m *maker) enter(what, dir string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.made = append(m.made, what)
	if m.dirs == nil {
		m.dirs = map[string]bool{}
	}
	m.dirs[dir] = true
}

func (m *maker) Likeness(_ context.Context, in bundle.Input, dir string) (string, error) {
	m.enter("recipe "+in.Recipe.Metadata.Name, dir)
	if m.likeness[in.Recipe.Metadata.Name] == "" {
		return "", errors.New("no such recipe")
	}
	return m.likeness[in.Recipe.Metadata.Name], nil
}

func (m *maker) Digest(_ context.Context, d bundle.Deployer, in bundle.Input, dir string) (string, error) {
	m.enter(d.Name()+" "+in.Recipe.Metadata.Name, dir)
	if m.digest[in.Recipe.Metadata.Name] == "" {
		return "", errors.New("no bundle")
	}
	return d.Name() + " " + m.digest[in.Recipe.Metadata.Name], nil
}

// Bundles are made only of recipes that another one is like; each call has a directory of its own, and
// what fails has no digest.
func TestMade(t *testing.T) {
	lanes, err := bundle.ByName([]string{bundle.Helm, bundle.FluxOCI})
	if err != nil {
		t.Fatal(err)
	}
	m := &maker{likeness: map[string]string{"a": "1", "b": "2", "c": "1", "d": "1", "f": "2"}, digest: map[string]string{"a": "x", "b": "y", "c": "x", "f": "y"}}
	var cells []equalCell
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		for _, d := range lanes {
			cells = append(cells, equalCell{name, d, bundle.Input{Recipe: equalNamed(name)}, name == "f"})
		}
	}
	got := madeEqual(t.Context(), m, cells, t.TempDir(), 3)
	if want := []string{"helm x", "flux-oci x", "", "", "helm x", "flux-oci x", "", "", "", "", "", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	slices.Sort(m.made)
	if want := []string{"flux-oci a", "flux-oci c", "flux-oci d", "helm a", "helm c", "helm d", "recipe a", "recipe b", "recipe c", "recipe d", "recipe e"}; !slices.Equal(m.made, want) {
		t.Errorf("made %q", m.made)
	}
	if len(m.dirs) != len(m.made) {
		t.Errorf("%d directories for %d commands", len(m.dirs), len(m.made))
	}
	for dir := range m.dirs {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s exists", dir)
		}
	}
	m.made = nil
	if got := madeEqual(t.Context(), m, cells[:2], t.TempDir(), 3); len(m.made) > 0 || !slices.Equal(got, []string{"", ""}) {
		t.Errorf("one recipe: %q, made %q", got, m.made)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if madeEqual(ctx, m, cells, t.TempDir(), 3); len(m.made) > 0 {
		t.Errorf("after the end of the run: made %q", m.made)
	}
}

func equalNamed(name string) *recipe.Result {
	r := &recipe.Result{}
	r.Metadata.Name = name
	return r
}
