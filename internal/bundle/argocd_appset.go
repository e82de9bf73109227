package bundle

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle/argoapi"
	"github.com/nvidia/aicr-action/internal/result"
)

// argoAppSet makes an AppProject, the Secret of a cluster, and an ApplicationSet that makes an
// Application per release and cluster (package argoapi). The charts of manifest-only components are
// published together as one OCI artifact.
type argoAppSet struct{}

var _ Deployer = argoAppSet{}

func (argoAppSet) Name() string { return ArgoCDAppSet }

func (d argoAppSet) Bundle(ctx context.Context, in Input) (*Bundle, error) {
	return build(ctx, in, d.Name(), func(p *plan, in Input, s *fileSet, e *Expectation) error {
		if err := needOCI(in); err != nil {
			return err
		}
		releases := inWaves(p.releases, in)
		for _, r := range p.releases {
			s.addDir(r.Name+"/chart", r.files)
		}
		if in.Project == "" {
			var objects []*unstructured.Unstructured
			for _, o := range p.expectation.Objects {
				objects = append(objects, o.Object)
			}
			if err := s.addYAML(argoapi.ProjectFile, argoapi.AppSetProject(releases, objects)); err != nil {
				return err
			}
		}
		if err := s.addYAML(argoapi.ClusterFile, argoapi.LocalCluster()); err != nil {
			return err
		}
		expectGenerated(releases, e)
		return s.addYAML(argoapi.AppSetFile, argoapi.ApplicationSet(releases, cmp.Or(in.Project, argoapi.AppSetName)))
	})
}

// inWaves gives each release the first wave, from 1 on, that comes after all that it depends on.
func inWaves(releases []*release, in Input) []argoapi.AppSetRelease {
	waves := map[string]int{}
	var all []argoapi.AppSetRelease
	for _, r := range releases { // in the order of deployment, so that what a release depends on has its wave
		wave := 1
		for _, on := range r.DependsOn {
			wave = max(wave, waves[on]+1)
		}
		waves[r.Name] = wave
		out := argoapi.AppSetRelease{Name: r.Name, Namespace: r.Namespace, Wave: wave, RepoURL: in.RepoURL, Revision: in.TargetRevision, Path: r.Name + "/chart"}
		if !r.Local {
			out.RepoURL, out.Revision, out.Path, out.Chart = r.source, r.ChartVersion, "", r.Chart
			if r.oci() {
				out.RepoURL, _ = r.ref()
				out.Revision, out.Path, out.Chart = r.Tag(), ".", ""
			}
			if len(r.values) > 0 {
				out.Values = string(r.valuesYAML)
			}
		}
		all = append(all, out)
	}
	return all
}

// expectGenerated: the ApplicationSet, and the Application of each release. The Applications of a
// wave wait for all of the wave before.
func expectGenerated(releases []argoapi.AppSetRelease, e *Expectation) {
	ref := func(kind, name string) result.Ref {
		return result.Ref{Group: "argoproj.io", Kind: kind, Namespace: ArgoNamespace, Name: name}
	}
	byWave := map[int][]result.Ref{}
	for _, r := range releases {
		byWave[r.Wave] = append(byWave[r.Wave], ref("Application", r.Name))
	}
	e.Delivered = []Delivered{{Ref: ref("ApplicationSet", argoapi.AppSetName), Root: true}}
	for _, r := range releases {
		e.Delivered = append(e.Delivered, Delivered{Ref: ref("Application", r.Name), DependsOn: byWave[r.Wave-1]})
	}
}
