package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// missingHistory says what a clone lacks for a comparison, and how to fetch it.
type missingHistory struct {
	Lacks   string
	Shallow bool
	Command string // a git command that gets it
	Depth   int    // the fetch-depth that actions/checkout needs; 0 is everything
}

// Error ends with the command.
func (e *missingHistory) Error() string {
	clone := "this clone"
	if e.Shallow {
		clone = "this clone is shallow, and"
	}
	advice := fmt.Sprintf("run `%s`, or give actions/checkout fetch-depth: %d", e.Command, e.Depth)
	if !e.Shallow {
		advice = "correct its name, or " + advice
	}
	return fmt.Sprintf("%s lacks %s; %s", clone, e.Lacks, advice)
}

// Base is the commit that the working tree is compared with.
type Base struct {
	Commit string `json:"commit"` // full id
	Of     string `json:"of"`     // how it was found, for people
}

// event is the part of GitHub's event file that determines the base.
type event struct {
	PullRequest *struct {
		Number int `json:"number"`
		Base   struct {
			SHA string `json:"sha"`
			Ref string `json:"ref"`
		} `json:"base"`
	} `json:"pull_request"`
	MergeGroup *struct {
		BaseSHA string `json:"base_sha"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
}

// maxEvent is the largest event file that is read, in bytes. GitHub sends events of at most 25 MB.
// https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap
const maxEvent = 32 << 20

func readEvent(getenv func(string) string) (event, error) {
	var e event
	file := getenv("GITHUB_EVENT_PATH")
	if file == "" {
		return e, nil
	}
	raw, err := filesys.File(file, maxEvent)
	if err != nil {
		return e, fmt.Errorf("read the event file that GITHUB_EVENT_PATH names: %w", err)
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, fmt.Errorf("read the event file %s: %w", file, err)
	}
	return e, nil
}

// AutoTiers returns the tiers for GitHub's event: 1 on everything, with 2 on pull requests and
// merge groups; 3, which contains 1, on a push to the default branch and nightly. Outside of GitHub
// it is 1, and 2 if there is a base to compare with.
func AutoTiers(getenv func(string) string, base string) ([]int, error) {
	e, err := readEvent(getenv)
	if err != nil {
		return nil, err
	}
	switch name := getenv("GITHUB_EVENT_NAME"); {
	case isPullRequest(name) || name == "merge_group" || base != "":
		return []int{1, 2}, nil
	case name == "schedule", name == "push" && getenv("GITHUB_REF") == "refs/heads/"+defaultBranch(e):
		return []int{3}, nil
	}
	return []int{1}, nil
}

func defaultBranch(e event) string {
	if e.Repository.DefaultBranch == "" {
		return "main"
	}
	return e.Repository.DefaultBranch
}

func isPullRequest(name string) bool {
	return slices.Contains([]string{"pull_request", "pull_request_target", "pull_request_review"}, name)
}

// mergeRef is where GitHub keeps a pull request merged into its base.
var mergeRef = regexp.MustCompile(`^refs/pull/\d+/merge$`)

// FindBase returns the commit to compare with: the merge base of HEAD and rev or, if rev is empty,
// the base in GitHub's event. For a checkout of refs/pull/N/merge, that is the merge commit's first
// parent. A *missingHistory says what the clone lacks.
func (r *Repo) FindBase(ctx context.Context, rev string, getenv func(string) string) (Base, error) {
	head, ok, err := r.commit(ctx, "HEAD")
	if err != nil {
		return Base{}, fmt.Errorf("find HEAD: %w", err)
	}
	if !ok {
		return Base{}, fmt.Errorf("the repository %s has no commit yet, so there is nothing to compare with", r.Top)
	}
	if rev != "" {
		return r.mergeBaseWith(ctx, rev, "--base "+rev, branchOf(rev))
	}
	e, err := readEvent(getenv)
	if err != nil {
		return Base{}, err
	}
	name := getenv("GITHUB_EVENT_NAME")
	switch {
	case isPullRequest(name) && mergeRef.MatchString(getenv("GITHUB_REF")) && getenv("GITHUB_SHA") == head:
		if base, ok, err := r.firstParent(ctx); ok || err != nil {
			return base, err
		}
		fallthrough
	case isPullRequest(name):
		if e.PullRequest == nil || e.PullRequest.Base.SHA == "" {
			return Base{}, fmt.Errorf("the event is %s, but its file has no pull_request.base.sha; say what to compare with, e.g. --base origin/main", name)
		}
		base, err := r.mergeBaseWith(ctx, e.PullRequest.Base.SHA, "the pull request's base "+e.PullRequest.Base.Ref, e.PullRequest.Base.Ref)
		if err == nil && base.Commit == head {
			// pull_request_target checks this out by default. Taking it for a pull request without
			// changes would pass without verifying anything.
			return Base{}, fmt.Errorf("HEAD is part of the pull request's base %s, so this is not a checkout of the pull request; check out refs/pull/%d/merge", e.PullRequest.Base.Ref, e.PullRequest.Number)
		}
		return base, err
	case name == "merge_group" && e.MergeGroup != nil && e.MergeGroup.BaseSHA != "":
		branch := strings.TrimPrefix(e.MergeGroup.BaseRef, "refs/heads/")
		return r.mergeBaseWith(ctx, e.MergeGroup.BaseSHA, "the merge group's base "+branch, branch)
	}
	return Base{}, errors.New("there is no pull request to take the base from; say what to compare with, e.g. --base origin/main")
}

// firstParent returns the base of a merge commit that GitHub made; ok is false if HEAD is not a
// merge.
func (r *Repo) firstParent(ctx context.Context) (Base, bool, error) {
	parents, err := r.parents(ctx)
	if err != nil || len(parents) != 2 {
		return Base{}, false, err
	}
	_, ok, err := r.commit(ctx, parents[0])
	if err != nil {
		return Base{}, false, err
	}
	if !ok {
		return Base{}, false, &missingHistory{
			Lacks: "the parents of the merge commit HEAD, of which the first is the base", Shallow: true, Command: "git fetch --no-tags --deepen=1 origin", Depth: 2,
		}
	}
	return Base{Commit: parents[0], Of: "the first parent of the pull request's merge commit"}, true, nil
}

func (r *Repo) mergeBaseWith(ctx context.Context, rev, of, branch string) (Base, error) {
	cut, err := r.cutOff(ctx)
	if err != nil {
		return Base{}, fmt.Errorf("see whether the clone is shallow: %w", err)
	}
	missing := &missingHistory{Lacks: fmt.Sprintf("the commit %s", rev), Shallow: len(cut) > 0, Command: "git fetch origin"}
	if branch != "" {
		missing.Command += fmt.Sprintf(" +refs/heads/%s:refs/remotes/origin/%s", branch, branch)
	}
	id, ok, err := r.commit(ctx, rev)
	if err != nil {
		return Base{}, fmt.Errorf("find %s: %w", of, err)
	}
	if !ok {
		if missing.Shallow {
			missing.Command = strings.Replace(missing.Command, "fetch", "fetch --no-tags --unshallow", 1)
		}
		return Base{}, missing
	}
	base, err := r.mergeBase(ctx, id)
	if err != nil {
		return Base{}, fmt.Errorf("find the merge base of HEAD and %s: %w", of, err)
	}
	if base == "" {
		if !missing.Shallow {
			return Base{}, fmt.Errorf("HEAD and %s have no common ancestor, so there is nothing to compare with; give another --base", of)
		}
		missing.Lacks = "the merge base of HEAD and " + rev
		missing.Command = "git fetch --no-tags --unshallow origin"
		return Base{}, missing
	}
	return Base{Commit: base, Of: "the merge base with " + of}, nil
}

// branchOf returns the branch of a remote-tracking name such as origin/main.
func branchOf(rev string) string {
	branch, ok := strings.CutPrefix(strings.TrimPrefix(rev, "refs/remotes/"), "origin/")
	if !ok || strings.ContainsAny(branch, "~^:@ ") {
		return ""
	}
	return branch
}
