// Package helm has the lanes without controllers, in which this program delivers the releases
// itself: helm, with Helm's SDK in a process of its own, and helm-template, with server-side apply.
// It must not know what the gate makes of their states.
package helm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/matrix/lane/helminstall"
	"github.com/nvidia/aicr-action/internal/util/wait"
)

// helmLane installs the releases one after another in deploymentOrder with Helm's SDK, without
// waiting for readiness: what the bundle's deploy.sh does (a test runs that too).
type helmLane struct {
	d         bundle.Deployer
	installer *helminstall.Installer
	// upgrades is how often the bundle of an upgrade was delivered: each is a revision.
	upgrades int
	lane.InOrder
}

// New returns the lane helm, for one cell.
func New(d bundle.Deployer) lane.Lane { return &helmLane{d: d} }

var _ lane.Lane = (*helmLane)(nil)

func (l *helmLane) Deployer() bundle.Deployer { return l.d }

// Deploy starts installing.
func (l *helmLane) Deploy(ctx context.Context, env *lane.Env) error {
	installs := map[string]bundle.Install{}
	var releases []bundle.Release
	for _, in := range env.Bundle.Installs {
		installs[in.Release.Name] = in
		releases = append(releases, in.Release)
	}
	if env.Before != nil {
		l.upgrades++
	}
	l.Stop() // an earlier delivery, or a removal
	l.installer, l.BestEffort = installer(env), env.BestEffort
	l.Start(ctx, releases, func(ctx context.Context, r bundle.Release) error {
		if err := l.installPatiently(ctx, env, installs[r.Name]); err != nil {
			return fmt.Errorf("install chart %s %s: %s", r.Chart, r.ChartVersion, helmError(err))
		}
		removedKinds(ctx, env, r.Name)
		if r.Name == releases[len(releases)-1].Name {
			l.installer.Close() // its memory is the cell's
		}
		return nil
	}, "deployed")
	return nil
}

// installer is the Helm of the bundle's scripts. Helm 4 rolls back what Helm 3 delivered, and the other way round.
func installer(env *lane.Env) *helminstall.Installer {
	i := helminstall.New(env, false)
	i.Helm = env.Bundle.Helm
	return i
}

// Again is a second run of deploy.sh, which upgrades each release to itself.
func (l *helmLane) Again(ctx context.Context, env *lane.Env, budget time.Duration) error {
	l.Stop()
	if err := l.Deploy(ctx, env); err != nil {
		return err
	}
	return l.Finished(ctx, budget)
}

// RollBack is `helm rollback` of each release of the old bundle that the new one has upgraded. One
// that the upgrade left alone is as it was.
func (l *helmLane) RollBack(ctx context.Context, env *lane.Env) error {
	l.Stop()
	var releases []bundle.Release
	back := l.upgrades
	upgraded := map[string]bool{}
	for _, in := range env.Before.Installs {
		upgraded[in.Release.Namespace+"/"+in.Release.Name] = true
	}
	for _, in := range env.Bundle.Installs {
		releases = append(releases, in.Release)
	}
	l.installer = installer(env)
	l.Start(ctx, releases, func(ctx context.Context, r bundle.Release) error {
		if !upgraded[r.Namespace+"/"+r.Name] {
			return nil
		}
		if err := l.installer.RollBack(ctx, r.Name, r.Namespace, back); err != nil {
			return fmt.Errorf("helm rollback %s: %s", r.Name, helmError(err))
		}
		return nil
	}, "rolled back")
	return nil
}

var _ lane.RollsBack = (*helmLane)(nil)

// Remove is the bundle's undeploy.sh: `helm uninstall` of each release, the last one first.
func (l *helmLane) Remove(ctx context.Context, env *lane.Env, budget time.Duration) error {
	l.Stop()
	var releases []bundle.Release
	for _, in := range slices.Backward(env.Bundle.Installs) {
		releases = append(releases, in.Release)
	}
	l.installer = installer(env)
	l.Start(ctx, releases, func(ctx context.Context, r bundle.Release) error {
		if err := l.installer.Uninstall(ctx, r.Name, r.Namespace); err != nil {
			return fmt.Errorf("helm uninstall %s: %s", r.Name, helmError(err))
		}
		return nil
	}, "removed")
	return l.Finished(ctx, budget)
}

// Order is that of deploy.sh: one release after the other.
func (l *helmLane) Order(*lane.Env) lane.Order { return lane.Order{InOrder: true, Uninstalls: true} }

// Stop kills Helm's process, whatever it is doing.
func (l *helmLane) Stop() {
	l.InOrder.Stop()
	if l.installer != nil {
		l.installer.Close()
	}
}

// errorList matches the head that Helm puts before the errors of several objects, or of one.
var errorList = regexp.MustCompile(`\d+ errors? occurred:\s*\n\s*\* `)

// helmError starts with the API server's error: people read the first line of a failure (faults
// F37).
func helmError(err error) string {
	lines := strings.Split(strings.TrimSpace(errorList.ReplaceAllString(err.Error(), "")), "\n")
	for i, l := range lines {
		lines[i] = lane.WithoutObject(strings.TrimPrefix(strings.TrimSpace(l), "* "))
	}
	return strings.Join(lines, "\n")
}

// kindBudget is how long to wait for a kind whose CRD an earlier release installs. The API server
// serves it a second or two after the CRD was created.
const kindBudget = 60 * time.Second

// installPatiently installs a release, and tries again, as upstream's deploy.sh does, while the API
// server does not serve a kind whose CRD an earlier release has in its templates, or does not reach
// a webhook of an earlier release or of its own, whose program still starts. Helm waits for neither.
func (l *helmLane) installPatiently(ctx context.Context, env *lane.Env, in bundle.Install) error {
	a := attempts{release: in.Release.Name, of: env.Bundle.Expectation, lane: &l.InOrder, install: func(ctx context.Context, again bool) error { return l.install(ctx, env, in, again) }}
	return wait.For(ctx, "the kinds and webhooks of earlier releases", wait.Options{Budget: lane.HookTimeout + max(kindBudget, lane.WebhookPatience), Interval: 500 * time.Millisecond}, a.try)
}

// attempts are the tries to install one release.
type attempts struct {
	release string
	of      bundle.Expectation
	lane    *lane.InOrder
	install func(ctx context.Context, again bool) error

	tries int
	// noKind and noWebhook are when each of the two errors was first seen.
	noKind, noWebhook time.Time
}

func (a *attempts) try(ctx context.Context) wait.Result {
	err := a.install(ctx, a.tries > 0)
	if err == nil {
		return wait.Done()
	}
	a.tries++
	if lane.ComesFromEarlier(err.Error(), a.of, a.release) && within(&a.noKind, kindBudget) {
		return wait.NotYet("%v", err)
	}
	if webhook, of, ok := lane.StartingUpTo(err.Error(), a.of, a.release); ok && within(&a.noWebhook, lane.WebhookPatience) {
		a.lane.TriesAgain(a.release, a.tries, webhook, of, err)
		return wait.NotYet("%v", err)
	}
	return wait.Never(err)
}

// within reports whether less than a budget has passed since the first call.
func within(first *time.Time, budget time.Duration) bool {
	if first.IsZero() {
		*first = time.Now()
	}
	return time.Since(*first) < budget
}

// install is `helm upgrade --install`; again, if a try before this one failed.
func (l *helmLane) install(ctx context.Context, env *lane.Env, in bundle.Install, again bool) error {
	before := env.Clients.Warnings.Len()
	err := l.installer.Install(ctx, helminstall.Release{
		Name: in.Release.Name, Namespace: in.Release.Namespace, Chart: in.Chart, Values: in.Values, CreateNamespace: true,
		// A chart's schema may name a file or an address, which Helm would read. The values were
		// checked when the bundle was rendered.
		SkipSchemaValidation: true, Again: again, ForceConflicts: in.ForceConflicts,
	})
	if err != nil {
		return err
	}
	return unknownFields(env.Clients.Warnings.Since(before))
}

// unknownFields returns an error for fields that the API server dropped. With Helm 3 it drops a
// field that it does not know, and warns. Argo CD, Flux and helm-template apply on the server side,
// where it rejects the object. One fault has one verdict, since without the field the object is not
// what the recipe says.
func unknownFields(warnings []infra.APIWarning) error {
	var lines []string
	for _, w := range warnings {
		if w.UnknownField() {
			lines = append(lines, w.String()+" (the API server dropped it)")
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "\n"))
}

// ReadBack reads Helm's storage in every namespace.
func (l *helmLane) ReadBack(ctx context.Context, env *lane.Env) (lane.Record, error) {
	rec := lane.Record{}
	for _, r := range env.Bundle.Expectation.Releases {
		rec.Want = append(rec.Want, lane.HelmDelivery(r.Namespace, r.Name, r.Chart, r.ChartVersion, string(helmrelease.StatusDeployed)))
	}
	return rec, lane.ReadHelmStorage(env, nil, &rec)
}
