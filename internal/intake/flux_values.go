package intake

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/strvals"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// fluxStore is a ConfigMap or a Secret that the bundle applies. used: a HelmRelease has its values.
type fluxStore struct {
	file string
	node *yamlv3.Node
	used bool
}

const kindSecret = "Secret"

// storeKey names a ConfigMap or a Secret in the namespace of the HelmReleases, which is the only one
// that they can read from; ok is false for any other object.
func storeKey(n *yamlv3.Node) (key string, ok bool) {
	kind := yamlx.Text(n, "kind")
	ok = yamlx.Text(n, "apiVersion") == "v1" && (kind == "ConfigMap" || kind == kindSecret) && yamlx.Text(n, "metadata", "namespace") == bundle.FluxNamespace
	return kind + " " + yamlx.Text(n, "metadata", "name"), ok
}

// valuesFrom reads the values that a HelmRelease takes from ConfigMaps and Secrets of the bundle, in
// the way of helm-controller: a later one is laid over an earlier one, and a value with targetPath is
// set as with --set. The inline values, which the caller has, are laid over all of them.
// https://fluxcd.io/flux/components/helm/helmreleases/#values-references
func (f *fluxForm) valuesFrom(file, release string, list *yamlv3.Node) (valueSet, error) {
	all := valueSet{values: map[string]any{}, origins: f.tree.noOrigins()}
	for i := 0; list != nil && i < len(list.Content); i++ {
		item := list.Content[i]
		bad := func(format string, args ...any) (valueSet, error) {
			return all, f.tree.bad(file, item.Line, "spec.valuesFrom of HelmRelease %s: %w", release, fmt.Errorf(format, args...))
		}
		for _, key := range yamlx.Keys(item) {
			if !slices.Contains([]string{"kind", "name", "valuesKey", "targetPath", "optional"}, key) {
				return bad("%s is not understood, and may change what is installed", key)
			}
		}
		called := yamlx.Text(item, "kind") + " " + yamlx.Text(item, "name")
		valuesKey, optional := cmp.Or(yamlx.Text(item, "valuesKey"), "values.yaml"), yamlx.Text(item, "optional") == "true"
		store := f.stores[called]
		if store == nil {
			if optional {
				continue
			}
			return bad("the bundle has no %s in the namespace %s, and the release waits for it", called, bundle.FluxNamespace)
		}
		store.used = true
		value, err := f.tree.stored(store, valuesKey)
		switch {
		case err != nil:
			return all, err
		case value == nil && optional:
			continue
		case value == nil:
			return bad("%s (%s) has no key %s", called, f.tree.at(store.file, store.node.Line), valuesKey)
		}
		place := func(line int) recipe.Origin { return f.tree.at(store.file, value.line+line) }
		f.tree.filledIn(place(0))
		if path := yamlx.Text(item, "targetPath"); path != "" {
			if err := setPath(all.values, path, value.text); err != nil {
				return bad("targetPath %s: %w", path, err)
			}
			all.origins[path], all.whole = place(0), place(0)
			continue
		}
		v, err := valuesIn(value.text, place)
		if err != nil {
			return all, f.tree.bad(store.file, value.line, "%s of %s is no YAML mapping of values: %w", valuesKey, called, err)
		}
		all.over(v)
	}
	return all, nil
}

// storedText is a text in a ConfigMap or a Secret, and the line in front of its own first one.
type storedText struct {
	text string
	line int
}

// stored gives the text under a key; nil if it is not there.
func (t *tree) stored(s *fluxStore, key string) (*storedText, error) {
	if yamlx.Find(s.node, "sops") != nil {
		return nil, t.bad(s.file, yamlx.LineOf(s.node, "sops"), "%s %s is encrypted by SOPS: its values are not known, and the lane has no key", yamlx.Text(s.node, "kind"), yamlx.Text(s.node, "metadata", "name"))
	}
	plain, coded := "data", ""
	if yamlx.Text(s.node, "kind") == kindSecret {
		plain, coded = "stringData", "data"
	}
	if n := yamlx.Find(s.node, plain, key); n != nil {
		line := n.Line
		if n.Style&(yamlv3.LiteralStyle|yamlv3.FoldedStyle) == 0 {
			line-- // the text begins beside its key
		}
		return &storedText{n.Value, line}, nil
	}
	n := yamlx.Find(s.node, coded, key)
	if coded == "" || n == nil {
		return nil, nil
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
	if err != nil {
		return nil, t.bad(s.file, n.Line, "data.%s of Secret %s is not base64: %w", key, yamlx.Text(s.node, "metadata", "name"), err)
	}
	return &storedText{string(data), n.Line - 1}, nil
}

// setPath sets a value as helm-controller does: in the notation of --set, and as text if it is in
// quotes.
func setPath(values map[string]any, path, value string) error {
	for _, quote := range []string{`"`, `'`} {
		if len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote) {
			return strvals.ParseIntoString(path+"="+strings.Trim(value, quote), values)
		}
	}
	return strvals.ParseInto(path+"="+value, values)
}

// valuesIn reads values that are a text in another file.
func valuesIn(content string, place func(line int) recipe.Origin) (valueSet, error) {
	docs, err := (&tree{files: map[string]bundle.File{"values.yaml": {Content: []byte(content)}}}).documents("values.yaml")
	switch {
	case err != nil:
		return valueSet{}, err
	case len(docs) > 1:
		return valueSet{}, fmt.Errorf("it has %d documents", len(docs))
	case len(docs) == 0:
		return valuesAt(nil, place)
	}
	return valuesAt(docs[0], place)
}

// filledIn notes a place whose values are to be filled in where the bundle is installed.
func (t *tree) filledIn(at recipe.Origin) {
	if !slices.Contains(t.filled, at.String()) {
		t.filled = append(t.filled, at.String())
	}
}
