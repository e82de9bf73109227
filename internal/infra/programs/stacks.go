package programs

import (
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

// Stacks are what the operators of the table are compiled from. Nothing is compiled before
// Set.Build.
func Stacks(paths host.Paths) ([]*stack.Stack, error) {
	sources, err := stack.Sources(kwok.CertManagerSources, "embedded/cert-manager")
	if err != nil {
		return nil, err
	}
	var all []*stack.Stack
	for _, list := range []struct {
		group    stack.Group
		mod, sum []byte
		sources  map[string][]byte
	}{
		{stack.GroupPrometheusOperator, kwok.PrometheusOperatorMod, kwok.PrometheusOperatorSum, nil},
		{stack.GroupNFD, kwok.NFDMod, kwok.NFDSum, nil},
		{stack.GroupCertManager, kwok.CertManagerMod, kwok.CertManagerSum, sources},
	} {
		s, err := stack.NewOperator(paths, string(list.group), list.group, list.mod, list.sum, list.sources)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Fingerprint is what a verdict depends on: the mode, and what the programs are compiled from.
func (s *Set) Fingerprint() string {
	text := "operators=" + string(s.Mode)
	if s.Mode == Auto || s.Mode == Real {
		for _, of := range s.Stacks {
			text += "," + of.Identity()
		}
	}
	return text
}
