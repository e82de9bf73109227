package bundle

import "context"

// argoGit makes a root Application and an Application per release, to be pushed to a Git repository.
// The values of a remote chart are a file there, which its Application has as a second source.
type argoGit struct{}

var _ Deployer = argoGit{}

func (argoGit) Name() string { return ArgoCDGit }

func (d argoGit) Bundle(ctx context.Context, in Input) (*Bundle, error) {
	return build(ctx, in, d.Name(), func(p *plan, in Input, s *fileSet, e *Expectation) error {
		if err := needGit(in); err != nil {
			return err
		}
		return argoHalves(p, in, s, e, hasGitValues, func(r *release, wave int, dir string) map[string]any {
			return gitApplication(r, wave, dir, in)
		})
	})
}

// hasGitValues reports whether a release has its values from a file of the Git repository. Those of a
// chart in the bundle are its own.
func hasGitValues(r *release) bool { return !r.Local && len(r.values) > 0 }

// gitApplication is childApplication for a bundle in a Git repository: values are in a file of it,
// which the source of the chart names by the reference to the second source.
func gitApplication(r *release, wave int, dir string, in Input) map[string]any {
	if !hasGitValues(r) {
		return childApplication(r, wave, in.Project, in.RepoURL, in.TargetRevision, dir+r.Name+"/chart")
	}
	source := remoteSource(r)
	source["helm"] = map[string]any{"releaseName": r.Name, "valueFiles": []any{"$values/" + dir + r.Name + "/values.yaml"}}
	app := childApplication(r, wave, in.Project, "", "", "")
	spec := app["spec"].(map[string]any)
	delete(spec, "source")
	spec["sources"] = []any{source, map[string]any{"repoURL": in.RepoURL, "targetRevision": in.TargetRevision, "ref": "values"}}
	return app
}
