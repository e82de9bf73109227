package discover

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// pullRequest gives a project in which main went on after topic left it, with what GitHub makes of
// that: the merge of topic into main. It returns the merge base, main's tip, topic's tip and the
// merge commit.
func pullRequest(t *testing.T) (p *project, fork, main, topic, merge string) {
	t.Helper()
	p = newProject(t)
	fork = p.git("rev-parse", "HEAD")
	p.git("checkout", "--quiet", "-b", "topic")
	p.edit("recipes/overlays/gb200-eks.yaml")
	p.commit("first")
	p.append("README.md", "# second\n")
	topic = p.commit("second")
	p.git("checkout", "--quiet", "main")
	p.edit("recipes/overlays/h100-eks.yaml")
	main = p.commit("on main")
	p.git("checkout", "--quiet", "--detach", "main")
	p.git("merge", "--quiet", "--no-ff", "--message", "merge", topic)
	merge = p.git("rev-parse", "HEAD")
	p.git("update-ref", "refs/pull/7/merge", merge)
	p.git("update-ref", "refs/pull/7/head", topic)
	p.git("checkout", "--quiet", "main")
	return p, fork, main, topic, merge
}

// github is the environment of a job; file is the event file's content.
func github(t *testing.T, file string, env ...string) func(string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(path, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	env = append(env, "GITHUB_EVENT_PATH="+path)
	return func(name string) string {
		for _, e := range env {
			if key, value, _ := strings.Cut(e, "="); key == name {
				return value
			}
		}
		return ""
	}
}

func pullRequestEvent(base string) string {
	return fmt.Sprintf(`{"pull_request":{"number":7,"base":{"sha":%q,"ref":"main"},"head":{"sha":"x"}},"repository":{"default_branch":"main"}}`, base)
}

func recipesIn(plan *Plan) []string {
	var names []string
	for _, e := range plan.Entries {
		names = append(names, e.Recipe)
	}
	return names
}

// TestMergeCheckout: what main got meanwhile is not the pull request's, also in a clone of two
// commits.
func TestMergeCheckout(t *testing.T) {
	p, fork, main, _, merge := pullRequest(t)
	// The event's base may be older than the one that GitHub merged into.
	env := github(t, pullRequestEvent(fork), "GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge", "GITHUB_SHA="+merge)
	for name, checkout := range map[string]*project{"two commits": p.clone(2, "refs/pull/7/merge"), "everything": p.clone(1000, "refs/pull/7/merge")} {
		t.Run(name, func(t *testing.T) {
			checkout.t = t
			plan := checkout.plan([]int{2}, "", env)
			if got := recipesIn(plan); !slices.Equal(got, []string{"gb200-eks"}) {
				t.Errorf("recipes: got %v, want gb200-eks alone: h100-eks was changed on main", got)
			}
			if plan.Base.Commit != main {
				t.Errorf("base: got %s, want main's tip %s", plan.Base.Commit, main)
			}
		})
	}
}

// TestShallow: a clone that lacks history says what it lacks; the command that it names gets it.
func TestShallow(t *testing.T) {
	p, fork, main, _, merge := pullRequest(t)
	for _, test := range []struct {
		name     string
		checkout *project
		rev      string
		env      func(string) string
		command  string
		want     string // base, once the command has been run
	}{
		{"merge commit alone", p.clone(1, "refs/pull/7/merge"), "",
			github(t, pullRequestEvent(main), "GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge", "GITHUB_SHA="+merge), "git fetch --no-tags --deepen=1 origin", main},
		{"head of a pull request", p.clone(1, "refs/pull/7/head"), "",
			github(t, pullRequestEvent(main), "GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge", "GITHUB_SHA="+merge),
			"git fetch --no-tags --unshallow origin +refs/heads/main:refs/remotes/origin/main", fork},
		{"--base of a branch", p.clone(1, "refs/heads/topic"), "origin/main", noEnv, "git fetch --no-tags --unshallow origin +refs/heads/main:refs/remotes/origin/main", fork},
		{"--base of a commit", p.clone(1, "refs/heads/topic"), main, noEnv, "git fetch --no-tags --unshallow origin", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.checkout.t = t
			_, _, err := test.checkout.findBase(test.rev, test.env)
			var missing *missingHistory
			if !errors.As(err, &missing) {
				t.Fatalf("got %v, want a *MissingHistory", err)
			}
			if missing.Command != test.command || !missing.Shallow || !strings.Contains(err.Error(), test.command) {
				t.Errorf("got %q (shallow %v), want the command %q", err, missing.Shallow, test.command)
			}
			if test.want == "" {
				return
			}
			test.checkout.git(strings.Fields(missing.Command)[1:]...)
			_, base, err := test.checkout.findBase(test.rev, test.env)
			if err != nil || base.Commit != test.want {
				t.Errorf("after %s: got %v (%v), want %s", missing.Command, base, err, test.want)
			}
		})
	}
}

// TestShallowWithoutAncestor: a clone in which main has a history of one commit shows no common
// ancestor.
func TestShallowWithoutAncestor(t *testing.T) {
	p := newProject(t)
	old := p.git("rev-parse", "HEAD")
	for i := range 3 {
		p.append("README.md", fmt.Sprintf("%d\n", i))
		p.commit("more")
	}
	best := p.git("rev-parse", "HEAD")
	p.git("checkout", "--quiet", "-b", "topic", old)
	p.edit("recipes/overlays/gb200-eks.yaml")
	p.commit("topic")
	p.git("merge", "--quiet", "--no-ff", "--message", "main into topic", "main")
	p.replace("recipes/overlays/gb200-eks.yaml", "1.30", "1.31")
	p.commit("topic goes on")
	p.git("checkout", "--quiet", "main")
	p.append("README.md", "main goes on\n")
	tip := p.commit("main goes on")

	c := p.clone(1000, "refs/heads/topic")
	c.git("fetch", "--quiet", "origin", "main:refs/remotes/origin/main")
	_, base, err := c.findBase("origin/main", noEnv)
	if err != nil || base.Commit != best {
		t.Fatalf("a whole clone: got %v (%v), want %s", base, err, best)
	}
	if err := os.WriteFile(filepath.Join(c.dir, ".git", "shallow"), []byte(tip+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var missing *missingHistory
	if _, base, err := c.findBase("origin/main", noEnv); !errors.As(err, &missing) {
		t.Errorf("main's history is cut off: got base %v (%v), want a *MissingHistory", base, err)
	}
}

// TestShallowWithWorseAncestor: topic has main's newest commit through a branch of which the clone
// lacks the history, and main's oldest by itself. The older one is what git names.
func TestShallowWithWorseAncestor(t *testing.T) {
	p := newProject(t)
	old := p.git("rev-parse", "HEAD")
	p.append("README.md", "main\n")
	best := p.commit("main")
	p.git("checkout", "--quiet", "-b", "side")
	p.edit("recipes/overlays/aks.yaml")
	side := p.commit("side")
	p.git("checkout", "--quiet", "-b", "topic", old)
	p.edit("recipes/overlays/gb200-eks.yaml")
	p.commit("topic")
	p.git("merge", "--quiet", "--no-ff", "--message", "side into topic", "side")
	p.git("checkout", "--quiet", "main")
	p.append("README.md", "main goes on\n")
	p.commit("main goes on")
	p.git("checkout", "--quiet", "topic")
	if _, base, err := p.findBase("main", noEnv); err != nil || base.Commit != best {
		t.Fatalf("a whole clone: got %v (%v), want %s", base, err, best)
	}
	if err := os.WriteFile(filepath.Join(p.dir, ".git", "shallow"), []byte(side+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := p.git("merge-base", "HEAD", "main"); got != old {
		t.Fatalf("git itself: got %s, want the older %s, or this test shows nothing", got, old)
	}
	var missing *missingHistory
	if _, base, err := p.findBase("main", noEnv); !errors.As(err, &missing) {
		t.Errorf("got base %v (%v), want a *MissingHistory", base, err)
	}
}

// TestFindBase: where the base comes from, and what cannot be one.
func TestFindBase(t *testing.T) {
	p, fork, main, topic, merge := pullRequest(t)
	p.git("checkout", "--quiet", "--detach", topic)
	p.git("merge", "--quiet", "--no-ff", "--message", "main into topic", main)
	updated := p.git("rev-parse", "HEAD")
	for _, test := range []struct {
		name, head, rev string
		env             func(string) string
		want, err       string
	}{
		{"--base wins over the event", topic, main, github(t, pullRequestEvent("0000"), "GITHUB_EVENT_NAME=pull_request"), fork, ""},
		{"pull request, head checked out", topic, "", github(t, pullRequestEvent(main), "GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge", "GITHUB_SHA="+merge), fork, ""},
		{"pull request that was merged by hand", merge, "", github(t, pullRequestEvent(main), "GITHUB_EVENT_NAME=pull_request"), main, ""},
		{"pull request, head checked out, and that is a merge itself", updated, "", github(t, pullRequestEvent(main), "GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge", "GITHUB_SHA="+merge), main, ""},
		{"merge group", merge, "", github(t, `{"merge_group":{"base_sha":"`+main+`","base_ref":"refs/heads/main"}}`, "GITHUB_EVENT_NAME=merge_group"), main, ""},
		{"pull_request_target checks out the base", main, "", github(t, pullRequestEvent(main), "GITHUB_EVENT_NAME=pull_request_target", "GITHUB_REF=refs/heads/main", "GITHUB_SHA="+main), "", "check out refs/pull/7/merge"},
		{"a base that is not there", topic, "origin/main", noEnv, "", "git fetch origin +refs/heads/main:refs/remotes/origin/main"},
		{"nothing to go by", topic, "", noEnv, "", "--base origin/main"},
		{"a push", topic, "", github(t, `{}`, "GITHUB_EVENT_NAME=push"), "", "--base origin/main"},
		{"an event without a pull request", topic, "", github(t, `{}`, "GITHUB_EVENT_NAME=pull_request"), "", "pull_request.base.sha"},
		{"an event that is not JSON", topic, "", github(t, `{`, "GITHUB_EVENT_NAME=pull_request"), "", "read the event file"},
		{"an option for a base", topic, "--output=x", noEnv, "", "not the name of a commit"},
		{"no common ancestor", topic, "unrelated", noEnv, "", "no common ancestor"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.t = t
			if test.rev == "unrelated" {
				p.git("update-ref", "refs/heads/unrelated", p.git("commit-tree", "-m", "unrelated", topic+"^{tree}"))
			}
			p.git("checkout", "--quiet", "--detach", test.head)
			_, base, err := p.findBase(test.rev, test.env)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v (%v), want an error with %q", base, err, test.err)
				}
				return
			}
			if err != nil || base.Commit != test.want {
				t.Errorf("got %v (%v), want %s", base, err, test.want)
			}
		})
	}
}

// TestNotARepository: what to do is in the message.
func TestNotARepository(t *testing.T) {
	if _, err := OpenRepo(t.Context(), t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("got %v, want git's own words", err)
	}
	p := newProject(t)
	repo, err := OpenRepo(t.Context(), p.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Path(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not in the git repository") {
		t.Errorf("got %v, want that the directory is outside", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := OpenRepo(t.Context(), p.dir, ""); err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("got %v, want what to install", err)
	}
}

// TestAutoTiers is the table of the tiers' triggers.
func TestAutoTiers(t *testing.T) {
	for _, test := range []struct {
		name, event, ref, file, base string
		want                         []int
	}{
		{"pull request", "pull_request", "refs/pull/7/merge", `{}`, "", []int{1, 2}},
		{"merge group", "merge_group", "refs/heads/gh-readonly-queue/main/x", `{}`, "", []int{1, 2}},
		{"push to main", "push", "refs/heads/main", `{}`, "", []int{3}},
		{"push to the default branch", "push", "refs/heads/trunk", `{"repository":{"default_branch":"trunk"}}`, "", []int{3}},
		{"push to main, which is not the default branch", "push", "refs/heads/main", `{"repository":{"default_branch":"trunk"}}`, "", []int{1}},
		{"push to a branch", "push", "refs/heads/topic", `{}`, "", []int{1}},
		{"nightly", "schedule", "refs/heads/main", `{}`, "", []int{3}},
		{"by hand", "workflow_dispatch", "refs/heads/main", `{}`, "", []int{1}},
		{"at a terminal", "", "", `{}`, "", []int{1}},
		{"at a terminal, with a base", "", "", `{}`, "origin/main", []int{1, 2}},
	} {
		got, err := AutoTiers(github(t, test.file, "GITHUB_EVENT_NAME="+test.event, "GITHUB_REF="+test.ref), test.base)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v (%v), want %v", test.name, got, err, test.want)
		}
	}
}

// A checkout of another user, as in a job with a container: only the workspace of a CI job is
// taken.
func TestCheckoutOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		testskip.Missing(t, "only root can give a directory away")
	}
	p := newProject(t)
	err := filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 12345, 12345)
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRepo(t.Context(), p.dir, ""); err == nil || !strings.Contains(err.Error(), "dubious ownership") {
		t.Errorf("without a safe directory: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(p.dir), link); err != nil {
		t.Fatal(err)
	}
	// The workspace is the checkout, or has it in a directory (the input path of actions/checkout),
	// or is named by a link.
	for _, workspace := range []string{p.dir, filepath.Dir(p.dir), link} {
		repo, err := OpenRepo(t.Context(), filepath.Join(p.dir, "recipes"), workspace)
		if err != nil {
			t.Errorf("workspace %s: %v", workspace, err)
			continue
		}
		if _, ok, err := repo.commit(t.Context(), "HEAD"); err != nil || !ok {
			t.Errorf("HEAD: %v, %v", ok, err)
		}
	}
	for _, elsewhere := range []string{t.TempDir(), filepath.Join(p.dir, "recipes"), "absent"} {
		if _, err := OpenRepo(t.Context(), filepath.Join(p.dir, "recipes"), elsewhere); err == nil {
			t.Errorf("a workspace %s that does not have the checkout in it makes it safe", elsewhere)
		}
	}
}
