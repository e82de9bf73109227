package app

import (
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/bundle/checkout"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// split gives an Application for each source of one that makes objects.
func (l *layout) split(o object) []object {
	all, names := []object{}, []string{}
	for _, n := range argoapi.SplitSources(o.Node, func(s *yamlv3.Node) bool {
		return yamlx.Text(s, "chart") != "" || l.repo.Has(strings.TrimPrefix(yamlx.Text(s, "path")+"/"+chartFile, "/"))
	}) {
		part := checkout.New(o.File, n)
		l.After[part.Name()] = slices.Clone(l.After[o.Name()])
		all, names = append(all, part), append(names, part.Name())
	}
	if len(all) == 0 {
		return nil
	}
	for name, before := range l.After {
		if slices.Contains(before, o.Name()) {
			l.After[name] = append(before, names[1:]...)
		}
	}
	l.override("Application %s (%s) has %d sources that make objects: each is an Application of its own (%s), without the order of sync waves and hooks between them", o.Name(), l.repo.At(o), len(all), strings.Join(names, ", "))
	return all
}
