package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/bundles"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/intake"
	appdir "github.com/nvidia/aicr-action/internal/intake/app"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/lists"
)

// sinceFlag names the state that apps must have changed since to run.
const sinceFlag = "changed-since"

// mostNamed is how many apps a line names.
const mostNamed = 20

// unchanged leaves out of an app, and of its bundle, what has not changed since the state that --changed-since names, and
// does not depend on what has. nothing is why no cell runs, if all of it is the same.
func (a *app) unchanged(ctx context.Context, f *bundlerFlags, d bundle.Deployer, read **intake.Bundle) (nothing, err error) {
	if f.since == "" {
		return nil, nil
	}
	ctx, end := a.buildingShown(ctx)
	defer func() { end(err) }()
	now := *read
	components, _ := now.Components()
	changed, removed, why, err := a.changedApps(ctx, f, d, now)
	if err != nil {
		return nil, err
	}
	say := func(format string, args ...any) {
		_, _ = fmt.Fprintln(a.Stderr, cli.Inert(fmt.Sprintf("--%s %s: "+format, append([]any{sinceFlag, f.since}, args...)...)))
	}
	if len(removed) > 0 {
		say("no longer there, and not run: %s", strings.Join(lists.AtMost(removed, mostNamed), ", "))
	}
	if why != "" {
		say("each app counts as changed, since %s", why)
		return nil, nil
	}
	others := now.Dependents(changed)
	if len(changed) == 0 {
		return reason.New(reason.NothingSelected, "--%s %s: none of the %s of %s has changed: nothing was checked", sinceFlag, f.since, lists.Count(len(components), "app"), f.app), nil
	}
	text := fmt.Sprintf("%d of %s changed: ", len(changed), lists.Count(len(components), "app")) + strings.Join(lists.AtMost(changed, mostNamed), ", ")
	if len(others) > 0 {
		text += "; these depend on them: " + strings.Join(lists.AtMost(others, mostNamed), ", ")
	}
	say("%s", text)
	f.found.Changed, f.found.Since = slices.Concat(changed, others), f.since
	if len(f.found.Changed) == len(components) {
		f.found.Changed = nil
		return nil, nil
	}
	*read, err = f.found.Open(ctx, d)
	return nil, reason.Wrap(reason.Usage, err)
}

// changedApps are the apps that have changed. why is not empty if that cannot be told: then each counts.
func (a *app) changedApps(ctx context.Context, f *bundlerFlags, d bundle.Deployer, now *intake.Bundle) (changed, removed []string, why string, err error) {
	into, err := os.MkdirTemp("", "matrix-since-")
	if err != nil {
		return nil, nil, "", reason.Wrap(reason.Internal, err)
	}
	defer func() { _ = os.RemoveAll(into) }() // a leftover in the directory for temporary files
	source, err := matrix.FromRequest{Text: f.since, RecipesDir: bundles.AppDirectory(f.app), App: f.app, Into: into, Base: f.base, Getenv: a.Getenv}.Open(ctx)
	var isNew *matrix.NewAppError
	switch {
	case errors.As(err, &isNew):
		return nil, nil, "there was no " + f.app, nil
	case err != nil:
		return nil, nil, "", cli.Usagef("%s", strings.ReplaceAll(err.Error(), "--from", "--"+sinceFlag))
	case source.App == "":
		return nil, nil, "", cli.Usagef("--%s %s: give a Git ref, base, or the path of an older state of the app", sinceFlag, f.since)
	}
	old, err := f.found.Before(ctx, source.App)
	if err != nil {
		return nil, nil, "its older state cannot be read: " + result.FirstLine(err.Error()), nil
	}
	if source.Commit != "" {
		if file := f.otherFile(old); file != "" {
			return nil, nil, file + " changed", nil
		}
	}
	old.Select = nil
	then, err := old.Open(ctx, d)
	if err == nil {
		changed, removed, err = now.Changed(then)
	}
	if err != nil {
		return nil, nil, "its older state cannot be laid out: " + result.FirstLine(err.Error()), nil
	}
	if len(f.selects) > 0 {
		removed = nil // it may only not be selected
	}
	return changed, removed, "", nil
}

// otherFile is a file that another flag names, and that has changed in the repository with the app: it may be of any app.
func (f *bundlerFlags) otherFile(old *appdir.App) string {
	for _, name := range slices.Concat(f.values, []string{f.existing.file}, f.existing.with) {
		if at, ok := f.found.At(name); ok && name != "" && !f.found.Same(old, at) {
			return name
		}
	}
	return ""
}
