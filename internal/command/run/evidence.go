package run

import (
	"context"
	"path/filepath"
	"time"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/discover"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/evidence"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// evidenceFile is what --evidence writes, again after every cell: a run that is killed leaves one in
// which its last upgrades are not run.
type evidenceFile struct {
	path     string
	document evidence.Document
	criteria evidence.Criteria
}

// openEvidence says what the upgrades of a run are from and to; nil without --evidence.
func (a *app) openEvidence(ctx context.Context, f runFlags, this *prepared, r *reporter) *evidenceFile {
	if f.before.evidence == "" {
		return nil
	}
	runner := this.runner
	e := &evidenceFile{path: f.before.evidence, document: evidence.Document{
		Run:  evidence.Run{ID: runner.RunID, URL: r.meta.CI.URL, Tool: "matrix", Version: r.meta.Tool},
		From: evidence.Source{Name: runner.From.Name, Commit: runner.From.Commit}, To: evidence.Source{Name: runner.RecipesName},
		Charts: runner.Charts.Name(), Cluster: runner.Platform.Kind(), Operators: f.platform.Operators, // prepareRun has checked it
	}}
	a.locate(ctx, a.RecipesDirectory(f.recipes.Recipes), &e.document.To)
	if runner.From.Commit == "" && runner.From.Bundle == nil {
		a.locate(ctx, runner.From.RecipesName, &e.document.From)
	}
	e.criteria = func(name string) map[string]string {
		o, ok := runner.Store.Overlay(name)
		if !ok {
			return nil
		}
		return o.Effective.ByName()
	}
	return e
}

// locate adds the commit of a recipes directory; none if it is in no repository.
func (a *app) locate(ctx context.Context, dir string, s *evidence.Source) {
	if dir == "" {
		return
	}
	workspace := ""
	if a.Getenv("GITHUB_ACTIONS") == "true" {
		workspace = a.Getenv("GITHUB_WORKSPACE")
	}
	repo, err := discover.OpenRepo(ctx, dir, workspace)
	if err != nil {
		return
	}
	if s.Commit, s.Modified, err = repo.Head(ctx, dir); err != nil {
		s.Commit = ""
	}
}

// write replaces the file. Reason: NO_SPACE, USAGE.
func (e *evidenceFile) write(results []result.Result) error {
	if e == nil {
		return nil
	}
	e.document.Run.Written = time.Now().UTC().Round(time.Second)
	e.document.Of(results, e.criteria)
	data, err := e.document.Encode()
	if err != nil {
		return err
	}
	err = filesys.WriteFile(filepath.Clean(e.path), data, 0o644)
	return reason.Wrap(infra.DiskReason(err, reason.Usage), err)
}
