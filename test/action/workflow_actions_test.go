package action_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// use simulates the actions of the workflow and of the actions in it.
func (s *server) use(r *runner, one step, name string) {
	s.t.Helper()
	outcome := func(fine bool) {
		r.known["steps."+one.ID+".outcome"] = map[bool]string{true: "success", false: "failure"}[fine]
		r.failed = r.failed || !fine && !one.ContinueOnError
	}
	with := func(key string) string { return r.fill(one.With[key]) }
	place := func(p string) string { // in the workspace, if it is not absolute
		if filepath.IsAbs(p) {
			return p
		}
		return r.file(p)
	}
	switch {
	case name == "nvidia/aicr-action" || name == "nvidia/aicr-action/setup":
		outcome(s.composite(r, one, strings.TrimPrefix(strings.TrimPrefix(name, "nvidia/aicr-action"), "/")))
	case strings.HasPrefix(name, "./.aicr-action"):
		if _, err := os.Stat(r.file(".aicr-action")); err != nil {
			s.t.Fatalf("%s is not checked out: %v", name, err)
		}
		outcome(s.composite(r, one, strings.TrimPrefix(strings.TrimPrefix(name, "./.aicr-action"), "/")))
	case name == "actions/checkout":
		from, to := s.checkout, r.dir
		if with("path") != "" {
			if with("repository") != "nvidia/aicr-action" || with("ref") != s.known["job.workflow_sha"] {
				s.t.Errorf("a checkout of %q at %q", with("repository"), with("ref"))
			}
			if err := os.Mkdir(r.file(with("path")), 0o755); err != nil {
				s.t.Fatal(err)
			}
			outcome(true)
			return
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			s.t.Fatal(err)
		}
		if s.container {
			giveAway(s.t, to)
		}
		outcome(true)
	case name == "actions/setup-go":
		outcome(true)
	case name == "actions/cache/restore":
		hit, key := "", with("key")
		for _, have := range slices.Backward(s.caches) {
			first := strings.TrimSpace(with("restore-keys"))
			if have == key || hit == "" && first != "" && strings.HasPrefix(have, first) {
				hit = have
			}
			if have == key {
				break
			}
		}
		r.known["steps."+one.ID+".outputs.cache-hit"] = strconv.FormatBool(hit == key && hit != "")
		if hit != "" && !strings.HasSuffix(with("path"), "/stack") { // which is there already
			if err := os.CopyFS(place(with("path")), os.DirFS(filepath.Join(s.dir, "caches", hit))); err != nil && !os.IsExist(err) {
				s.t.Fatal(err)
			}
		}
		outcome(true)
	case name == "actions/cache/save":
		key := with("key")
		if !slices.Contains(s.caches, key) {
			s.caches = append(s.caches, key)
			if _, err := os.Stat(place(with("path"))); err == nil && !strings.HasSuffix(with("path"), "/stack") {
				if err := os.CopyFS(filepath.Join(s.dir, "caches", key), os.DirFS(place(with("path")))); err != nil {
					s.t.Fatal(err)
				}
			}
		}
		outcome(true)
	case name == "actions/upload-artifact":
		from, to := place(with("path")), filepath.Join(s.dir, "artifacts", with("name"))
		if files, err := os.ReadDir(from); err != nil || len(files) == 0 {
			outcome(with("if-no-files-found") == "ignore")
			return
		}
		if _, err := os.Stat(to); err == nil {
			if with("overwrite") != "true" {
				outcome(false)
				return
			}
			if err := os.RemoveAll(to); err != nil {
				s.t.Fatal(err)
			}
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			s.t.Fatal(err)
		}
		outcome(true)
	case name == "actions/download-artifact":
		all, err := os.ReadDir(filepath.Join(s.dir, "artifacts"))
		if err != nil && !os.IsNotExist(err) {
			s.t.Fatal(err)
		}
		found := false
		for _, a := range all {
			to := place(with("path"))
			if with("pattern") != "" {
				if ok, err := filepath.Match(with("pattern"), a.Name()); err != nil || !ok {
					continue
				}
				to = filepath.Join(to, a.Name())
			} else if a.Name() != with("name") {
				continue
			}
			found = true
			if err := os.CopyFS(to, os.DirFS(filepath.Join(s.dir, "artifacts", a.Name()))); err != nil {
				s.t.Fatal(err)
			}
		}
		outcome(found || with("pattern") != "")
	default:
		s.t.Fatalf("the stand-in for GitHub's server does not know %s", one.Uses)
	}
}

// composite runs the action in a directory of this repository as a step of a job.
func (s *server) composite(r *runner, one step, dir string) bool {
	s.t.Helper()
	file := filepath.Join(dir, "action.yml")
	inner := &runner{t: s.t, dir: r.dir, action: parseAction(s.t, file), env: r.env, server: s, known: maps.Clone(r.known)}
	maps.DeleteFunc(inner.known, func(key, _ string) bool { return strings.HasPrefix(key, "inputs.") || strings.HasPrefix(key, "steps.") })
	inner.known["github.action_path"] = filepath.Join(s.action, dir)
	if s.container {
		inner.inside, inner.known["github.action_path"] = inner.known["github.action_path"], "/home/runner/work/_actions/not-in-the-container"
	}
	for name, input := range inner.action.Inputs {
		inner.known["inputs."+name] = input.Default
	}
	for name, value := range one.With {
		if _, ok := inner.action.Inputs[name]; !ok {
			s.t.Errorf("%s has no input %q", file, name)
		}
		inner.known["inputs."+name] = r.fill(value)
	}
	s.log.WriteString(inner.act(s.during))
	if one.ID != "" {
		for name := range inner.action.Outputs {
			r.known["steps."+one.ID+".outputs."+name] = inner.result(name)
		}
	}
	return !inner.failed
}

// giveAway makes a directory another user's, as a checkout is in a container, whose user is root.
func giveAway(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 1001, 1001)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// artifacts are the names of those that were uploaded.
func (s *server) artifacts() []string {
	s.t.Helper()
	all, err := os.ReadDir(filepath.Join(s.dir, "artifacts"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	var names []string
	for _, a := range all {
		names = append(names, a.Name())
	}
	return names
}
