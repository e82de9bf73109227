package helminstall

import (
	"encoding/json"
	"errors"
	"fmt"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	rcommon "helm.sh/helm/v4/pkg/release/common"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// run4 is run with Helm 4, with the defaults of its command line: objects are applied on the server side,
// a release that client-side apply made stays with that, and of everything only hooks are waited for.
// The chart is never pulled: the one release that needs it is the wrapper of an Argo CD lane, which
// upstream installs with Helm 3.
func (s *server) run4(req wireRelease) error {
	cfg, err := s.client.Config4(req.Namespace)
	if err != nil {
		return err
	}
	switch {
	case req.Uninstall:
		uninstall := action.NewUninstall(cfg)
		uninstall.IgnoreNotFound, uninstall.Timeout, uninstall.WaitStrategy = true, lane.HookTimeout, kube.HookOnlyStrategy
		_, err := uninstall.Run(req.Name)
		return err
	case req.Rollback > 0:
		return rollBack4(cfg, req)
	case req.Pull != nil:
		return fmt.Errorf("release %s: Helm 4 installs charts of the bundle only", req.Name)
	}
	last, err := last4(cfg, req.Name)
	if err != nil {
		return err
	}
	if req.Again && last != nil && last.Info.Status == rcommon.StatusFailed {
		if _, err := cfg.Releases.Delete(req.Name, last.Version); err != nil {
			return fmt.Errorf("remove the failed revision %d of release %s from Helm's storage: %w", last.Version, req.Name, err)
		}
		if last, err = last4(cfg, req.Name); err != nil {
			return err
		}
	}
	ch, err := chart4(req.Chart)
	if err != nil {
		return err
	}
	values := render.DecodeValues(req.Values)
	if values == nil {
		values = map[string]any{}
	}
	if last != nil {
		up := action.NewUpgrade(cfg)
		up.Namespace, up.SkipSchemaValidation, up.Timeout, up.WaitStrategy = req.Namespace, req.SkipSchemaValidation, lane.HookTimeout, kube.HookOnlyStrategy
		up.MaxHistory, up.ForceConflicts = maxHistory, req.ForceConflicts
		s.client.Forces = req.ForceConflicts && last.ApplyMethod == string(helmrelease.ApplyMethodServerSideApply)
		_, err = up.Run(req.Name, ch, values)
		s.client.Forces = false
		return err
	}
	install := action.NewInstall(cfg)
	install.ReleaseName, install.Namespace, install.WaitStrategy = req.Name, req.Namespace, kube.HookOnlyStrategy
	install.CreateNamespace, install.SkipSchemaValidation, install.Timeout = req.CreateNamespace, req.SkipSchemaValidation, lane.HookTimeout
	install.ForceConflicts = req.ForceConflicts
	_, err = install.Run(ch, values)
	return err
}

// last4 is the newest revision of a release; nil if Helm's storage has none.
func last4(cfg *action.Configuration, name string) (*helmrelease.Release, error) {
	last, err := cfg.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for release %s in Helm's storage: %w", name, err)
	}
	rel, ok := last.(*helmrelease.Release)
	if !ok || rel.Info == nil {
		return nil, fmt.Errorf("release %s in Helm's storage is a %T, or has no status", name, last)
	}
	return rel, nil
}

func rollBack4(cfg *action.Configuration, req wireRelease) error {
	last, err := last4(cfg, req.Name)
	if err != nil {
		return err
	}
	if last == nil || last.Version <= req.Rollback {
		return fmt.Errorf("release %s has no revision %d before its newest", req.Name, req.Rollback)
	}
	rollback := action.NewRollback(cfg)
	rollback.Version, rollback.WaitStrategy, rollback.ForceConflicts = last.Version-req.Rollback, kube.HookOnlyStrategy, req.ForceConflicts
	rollback.Timeout, rollback.MaxHistory = lane.HookTimeout, maxHistory
	return rollback.Run(req.Name)
}

// chart4 is a chart in the types of Helm 4, whose Chart.yaml has the same form.
func chart4(w *render.WireChart) (*chart.Chart, error) {
	ch := &chart.Chart{Schema: w.Schema, Values: render.DecodeValues(w.Values)}
	for _, f := range w.Templates {
		ch.Templates = append(ch.Templates, &common.File{Name: f.Name, Data: f.Data})
	}
	for _, f := range w.Files {
		ch.Files = append(ch.Files, &common.File{Name: f.Name, Data: f.Data})
	}
	for from, to := range map[any]any{w.Metadata: &ch.Metadata, w.Lock: &ch.Lock} {
		text, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return nil, fmt.Errorf("read the Chart.yaml of chart %s for Helm 4: %w", w.Metadata.Name, err)
		}
	}
	for _, d := range w.Dependencies {
		dependency, err := chart4(d)
		if err != nil {
			return nil, err
		}
		ch.AddDependency(dependency)
	}
	return ch, nil
}
