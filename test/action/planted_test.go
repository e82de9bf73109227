package action_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/tools/release"
	"github.com/nvidia/aicr-action/kwok"
)

// plant leaves a program and a complete stack on the machine under the names that this job uses, as
// an earlier job could. Each of these programs creates the file owned when it is started.
func (r *runner) plant(files, cache string) {
	r.t.Helper()
	script := "#!/bin/bash\ntouch " + r.file("owned") + "\n"
	if files != "" {
		write(r.t, filepath.Join(files, "matrix"), script)
	}
	s, err := stack.NewStack(host.Paths{Root: cache}, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, g := range stack.Groups() {
		for _, p := range g.Parts() {
			write(r.t, s.Bin(p.Name), script)
		}
	}
	for _, g := range []stack.Group{stack.GroupArgoCD, stack.GroupFlux} {
		write(r.t, filepath.Join(s.CRDs(g), "crd.yaml"), "kind: CustomResourceDefinition\n")
	}
}

// names are where the action has its files: a job that ran before knows them.
func names(t *testing.T, source string, env []string) (files, cache string) {
	t.Helper()
	r := newRunner(t, nil)
	r.env, r.known["github.action_path"] = env, source
	if code, out := r.prepare(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	relative := func(output string) string {
		rel, err := filepath.Rel(r.dir, r.output("find.outputs."+output))
		if err != nil {
			t.Fatal(err)
		}
		return rel
	}
	return relative("files"), relative("cache")
}

// TestPlanted: what an earlier job left on a machine of one's own is not started because it has the
// right name.
func TestPlanted(t *testing.T) {
	branch, built := source(t), filepath.Join(t.TempDir(), "built")
	tools := goThatCopies(t, built)
	env := append(runnerNames(), "PATH="+tools+":"+os.Getenv("PATH"))
	files, cache := names(t, branch, env)

	// RUNNER_TEMP is not empty: the runner could not delete what a job in a container left, which
	// was root.
	r := newRunner(t, nil)
	r.env, r.known["github.action_path"] = env, branch
	r.plant(r.file(files), r.file(cache))
	if code, out := r.prepare(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for _, dir := range []string{"files", "cache"} {
		if left, err := os.ReadDir(r.output("find.outputs." + dir)); len(left) > 0 {
			t.Errorf("%s has what an earlier job left: %v, %v", dir, left, err)
		}
	}
	build := r.action.stepOf(t, "build")
	build.Env["STACK"] = "" // which would take many minutes
	cmd, log := r.startStep(build)
	if code := r.finish("build", cmd); code != 0 {
		t.Fatalf("build: exit code %d\n%s", code, log)
	}
	if out, err := exec.Command(r.output("find.outputs.bin"), "version").Output(); err != nil || !strings.Contains(string(out), "kube-apiserver") {
		t.Errorf("matrix is not the program that was built: %v\n%s", err, out)
	}
	// The second use in the same job has what the first one made.
	if code, out := r.prepare(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(r.output("find.outputs.bin")); err != nil {
		t.Errorf("the second use in a job has lost the program: %v", err)
	}

	// What cannot be removed is not used.
	r = newRunner(t, nil)
	r.env, r.known["github.action_path"] = append(env, "PATH="+r.file("tools")+":"+os.Getenv("PATH")), branch
	r.plant(r.file(files), r.file(cache))
	write(t, r.file("tools/rm"), "#!/bin/sh\necho 'rm: Permission denied' >&2\nexit 1\n")
	code, out := r.prepare()
	if all := commands(out); code != 1 || len(all) != 1 || all[0].properties != "title=Left by an earlier job" || r.output("find.outputs.bin") != "" {
		t.Errorf("what cannot be removed: exit code %d, commands %+v\n%s", code, all, out)
	}

	// A directory that lasts, with a stack that is built from source: there is nothing to compare
	// it with, and so it is used only if every job is trusted.
	for trusted, want := range map[string]bool{"": false, "false": false, "true": true} {
		r := newRunner(t, nil)
		lasting := r.file("lasting")
		r.plant("", lasting)
		r.env, r.known["github.action_path"] = append(env, "AICR_ACTION_CACHE="+lasting, "AICR_ACTION_CACHE_TRUSTED="+trusted), branch
		code, out := r.prepare()
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		if used := r.output("find.outputs.cache") == lasting; used != want || r.output("find.outputs.keep") != "" {
			t.Errorf("trusted %q: the stack is in %s", trusted, r.output("find.outputs.cache"))
		}
		if all := commands(out); want != (len(all) == 0) || !want && !strings.Contains(all[0].message, "AICR_ACTION_CACHE_TRUSTED") {
			t.Errorf("trusted %q: commands %+v, want a notice where the directory is not used", trusted, all)
		}
	}
}

// TestPlantedRelease: the files of a release in a directory that lasts are those that are pinned,
// or are downloaded again.
func TestPlantedRelease(t *testing.T) {
	p := publish(t)
	binary := release.Binary(pinnedVersion, here())
	lasting := t.TempDir()
	kept := filepath.Join(lasting, "releases")
	job := func(t *testing.T) (asked []string, r *runner) {
		t.Helper()
		r = newRunner(t, nil)
		r.env, r.known["github.action_path"] = append(runnerNames(), "AICR_ACTION_NO_FALLBACK=1", "AICR_ACTION_CACHE="+lasting), p.source
		r.plant("", lasting)
		if code, out := r.prepare(); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		downloads := p.server(t, r, func(w http.ResponseWriter, req *http.Request, name string) { p.serve(w, req, name) })
		if _, code, out := r.untilRun(nil); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		for _, name := range []string{binary, p.archive} {
			if !same(t, filepath.Join(kept, name), filepath.Join(p.dir, name)) {
				t.Errorf("%s was not kept as it is", name)
			}
		}
		if !same(t, r.output("find.outputs.bin"), filepath.Join(p.dir, binary)) {
			t.Error("matrix is not the program of the release")
		}
		cmd := exec.Command(r.output("find.outputs.bin"), "stack", "path", "--complete")
		cmd.Env = append(os.Environ(), "AICR_ACTION_CACHE="+r.output("find.outputs.cache"))
		dir, err := cmd.Output()
		if err != nil || !strings.HasPrefix(string(dir), r.file("aicr-action")) {
			t.Fatalf("the stack is in %s: %v", dir, err)
		}
		if raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "bin", "kube-apiserver")); err != nil || string(raw) != "kube-apiserver" {
			t.Errorf("the stack is the planted one: %q, %v", raw, err)
		}
		if left, err := filepath.Glob(filepath.Join(kept, "new.*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
		return downloads(), r
	}
	all := []string{binary, p.archive}
	if asked, _ := job(t); !slices.Equal(asked, all) {
		t.Errorf("the first job downloads %q, want %q", asked, all)
	}
	if asked, _ := job(t); len(asked) > 0 {
		t.Errorf("a later job downloads %q, and all is there", asked)
	}
	// Under the right names: another program, and a link to what only this job may read.
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "secret")
	write(t, filepath.Join(kept, binary), "#!/bin/sh\n")
	link(t, secret, filepath.Join(kept, p.archive))
	asked, r := job(t)
	if !slices.Equal(asked, all) {
		t.Errorf("planted files: downloads %q, want %q", asked, all)
	}
	if raw, err := os.ReadFile(secret); err != nil || string(raw) != "secret" {
		t.Errorf("a planted link was written through: %q, %v", raw, err)
	}
	if left, err := filepath.Glob(r.output("find.outputs.files") + "/*"); err != nil || len(left) != 2 {
		t.Errorf("what is saved in the cache: %q, %v", left, err)
	}
	// A directory that cannot be written is no failure, and no reason to download what is in it.
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	write(t, kept, "a file")
	r = newRunner(t, nil)
	r.env, r.known["github.action_path"] = append(runnerNames(), "AICR_ACTION_NO_FALLBACK=1", "AICR_ACTION_CACHE="+lasting), p.source
	if code, out := r.prepare(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	p.server(t, r, p.serve)
	if _, code, out := r.untilRun(nil); code != 0 || !strings.Contains(out, "was not kept") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func same(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Equal(x, y)
}
