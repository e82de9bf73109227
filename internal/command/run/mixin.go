package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// mixinFlags compose mixins into a recipe that does not name them. AICR's CLI has no flag for that: an overlay in a directory
// of --data does it, for the CLI and for this program alike.
type mixinFlags struct {
	names []string
	// data is the user's own directory of --data; composed: that of the flag is another one by now.
	data     string
	composed bool
}

func (f *mixinFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.names, "mixin", nil, "compose this `mixin` into the one recipe that is named, after its own (repeatable); RECIPE"+recipe.VariantMark+"MIXIN says the same, and is the name in results")
}

// dataOf is the directory of --data as the user knows it.
func (f mixinFlags) dataOf(flag string) string {
	if f.composed {
		return f.data
	}
	return flag
}

// compose writes an overlay for each recipe that is named with mixins, on top of that recipe and with its criteria, into a
// new directory that takes the place of --data. It returns the recipes' names, and what removes the directory.
func (f *mixinFlags) compose(a *app, args []string, dirs *cli.RecipeDirs) (names []string, remove func(), err error) {
	names, remove = cli.SplitList(args), func() {}
	if len(f.names) > 0 && len(names) == 0 {
		return nil, remove, cli.Usagef("--mixin is for the recipes that are named; name one")
	}
	if len(f.names) == 0 && !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, recipe.VariantMark) }) {
		return names, remove, nil
	}
	store, _, err := a.RecipesOrHeaders(*dirs)
	if err != nil {
		return nil, remove, err
	}
	overlays := map[string][]byte{}
	for i, name := range names {
		of, mixins := name, f.names
		if _, ok := store.Overlay(name); !ok {
			var more []string
			if of, more = mixedIn(store, name); of == "" {
				continue // an unknown recipe, which is said where it is resolved
			}
			mixins = slices.Concat(more, f.names)
		}
		if len(mixins) == 0 {
			continue
		}
		names[i] = of + recipe.VariantMark + strings.Join(mixins, recipe.VariantMark)
		if overlays[names[i]], err = composed(store, of, names[i], mixins); err != nil {
			return nil, remove, err
		}
	}
	if len(overlays) == 0 {
		return names, remove, nil
	}
	if len(names) > 1 { // their criteria may be met by what was composed for another one
		return nil, remove, cli.Usagef("a recipe with mixins is composed by an overlay that applies to others, too: name it alone; got %s", strings.Join(names, ", "))
	}
	into, err := os.MkdirTemp("", "matrix-mixins-")
	if err != nil {
		return nil, remove, err
	}
	remove = func() { _ = os.RemoveAll(into) } // a leftover in the directory for temporary files
	f.data, f.composed = dirs.Data, true
	if err := f.write(into, a.DataDirectory(dirs.Data), store, overlays); err != nil {
		remove()
		return nil, func() {}, err
	}
	dirs.Data = into
	return names, remove, nil
}

// mixedIn takes a recipe and mixins out of a name; no recipe if the name is not made of these.
func mixedIn(store *recipe.Store, name string) (of string, mixins []string) {
	parts := strings.Split(name, recipe.VariantMark)
	for n := len(parts) - 1; n > 0; n-- {
		of := strings.Join(parts[:n], recipe.VariantMark)
		if o, ok := store.Overlay(of); ok && o.Name == of && !slices.ContainsFunc(parts[n:], func(part string) bool { return !slices.Contains(store.Mixins(), part) }) {
			return of, parts[n:]
		}
	}
	return "", nil
}

// composed is the overlay of a recipe with mixins.
func composed(store *recipe.Store, of, name string, mixins []string) ([]byte, error) {
	o, _ := store.Overlay(of)
	if o.Name != of {
		return nil, cli.Usagef("--mixin: %q is a value of the profile of recipe %q; name the recipe, and the value with --profile", of, o.Name)
	}
	for i, mixin := range mixins {
		switch {
		case !slices.Contains(store.Mixins(), mixin):
			return nil, cli.Usagef("--mixin: there is no mixin %q%s; the recipes have %s", mixin, lists.Tail(mixin, store.Mixins()), lists.And(store.Mixins()))
		case slices.Contains(mixins[:i], mixin):
			return nil, cli.Usagef("--mixin: %s is named twice", mixin)
		}
	}
	return yaml.Marshal(map[string]any{
		"apiVersion": document.PartVersion(store.Newest()), "kind": document.OverlayKind, "metadata": map[string]string{"name": name},
		"spec": map[string]any{"base": of, "criteria": o.Effective, "mixins": mixins},
	})
}

// write fills the directory: with what the user's own has, and with the overlays.
func (f mixinFlags) write(into, data string, store *recipe.Store, overlays map[string][]byte) error {
	if data != "" {
		if err := os.CopyFS(into, os.DirFS(data)); err != nil {
			return cli.Usagef("--data %s: %w", data, err)
		}
	} else {
		overlays[recipe.RegistryFile] = fmt.Appendf(nil, "apiVersion: %s\nkind: %s\ncomponents: []\n", document.PartVersion(store.Newest()), document.RegistryKind)
	}
	var all error
	for name, text := range overlays {
		file := filepath.Join(into, name)
		if name != recipe.RegistryFile {
			file = filepath.Join(into, "overlays", name+".yaml")
		}
		all = errors.Join(all, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644))
	}
	return all
}
