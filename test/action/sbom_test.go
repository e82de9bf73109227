package action_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestSBOMTool: the third-party program that lists the modules cannot put anything among the files
// that a release pins and attests, except for the two lists. Those come from an artifact of its
// own, by name.
func TestSBOMTool(t *testing.T) {
	raw, err := os.ReadFile(".github/workflows/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Jobs map[string]struct {
			Needs       any    `json:"needs"`
			Environment string `json:"environment"`
			Strategy    struct {
				Matrix map[string][]string `json:"matrix"`
			} `json:"strategy"`
			Steps []step `json:"steps"`
		} `json:"jobs"`
	}
	if err := yaml.Unmarshal(raw, &release); err != nil {
		t.Fatal(err)
	}
	var add step
	dist := map[string]bool{}
	for job, content := range release.Jobs {
		for _, s := range content.Steps {
			action, _, _ := strings.Cut(s.Uses, "@")
			if strings.Contains(s.Run, "GENERATOR") != (job == "sbom") && s.Run != "" {
				t.Errorf("job %s, step %q: the program belongs into the job sbom, and nothing else does", job, s.Name+s.Run)
			}
			if job == "sbom" && action == "actions/upload-artifact" && s.With["name"] != "sbom" || job == "sbom" && action == "actions/download-artifact" {
				t.Errorf("job sbom: %s with %v", action, s.With)
			}
			if job == "build" && action == "actions/upload-artifact" && s.With["name"] != "release-${{ matrix.os }}" {
				t.Errorf("job build: %s with %v", action, s.With)
			}
			if job == "publish" && action == "actions/download-artifact" {
				if s.With["name"] == "" || s.With["pattern"] != "" || s.With["path"] == "" {
					t.Errorf("job publish takes artifacts that it does not name: %v", s.With)
				}
				if s.With["path"] == "dist" {
					dist[s.With["name"]] = true
				}
			}
			if s.Name == "Add the SBOMs" {
				add = s
			}
		}
	}
	if needs := needsOf(release.Jobs["publish"].Needs); !slices.Equal(needs, []string{"build", "rebuild", "try", "sbom"}) || release.Jobs["publish"].Environment != "release" {
		t.Errorf("publish needs %q in the environment %q: want everything that checks its files, and approval", needs, release.Jobs["publish"].Environment)
	}
	want := map[string]bool{}
	for _, system := range release.Jobs["build"].Strategy.Matrix["os"] {
		want["release-"+system] = true
	}
	if len(want) != 4 || !maps.Equal(dist, want) {
		t.Errorf("artifacts that are unpacked into dist: %v, want those of the builds, %v", dist, want)
	}

	// What the program leaves in its artifact, and what comes of it in dist.
	good := map[string]string{"sbom_matrix.cdx.json": "a", "sbom_stack.cdx.json": "b"}
	for name, test := range map[string]struct {
		change func(sbom, dist string)
		fine   bool
	}{
		"good":            {func(string, string) {}, true},
		"another program": {func(sbom, _ string) { write(t, filepath.Join(sbom, "matrix_v1.2.3_linux_amd64"), "owned") }, true},
		"a link":          {func(sbom, _ string) { link(t, "/etc/passwd", filepath.Join(sbom, "sbom_stack.cdx.json")) }, false},
		"one is missing":  {func(sbom, _ string) { link(t, "absent", filepath.Join(sbom, "sbom_matrix.cdx.json")) }, false},
		"dist has it":     {func(_, dist string) { write(t, filepath.Join(dist, "sbom_stack.cdx.json"), "x") }, false},
		"dist has a link": {func(_, dist string) { link(t, "matrix_v1.2.3_linux_amd64", filepath.Join(dist, "sbom_stack.cdx.json")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range good {
				write(t, filepath.Join(dir, "sbom", file), content)
			}
			write(t, filepath.Join(dir, "dist", "matrix_v1.2.3_linux_amd64"), "program")
			test.change(filepath.Join(dir, "sbom"), filepath.Join(dir, "dist"))
			cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", add.Run)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "RUNNER_TEMP=" + dir}
			if out, err := cmd.CombinedOutput(); (err == nil) != test.fine {
				t.Errorf("got %v, want success %v\n%s", err, test.fine, out)
			}
			if raw, err := os.ReadFile(filepath.Join(dir, "dist", "matrix_v1.2.3_linux_amd64")); err != nil || string(raw) != "program" {
				t.Errorf("the program became %q (%v)", raw, err)
			}
			if files, err := os.ReadDir(filepath.Join(dir, "dist")); err != nil || test.fine && len(files) != 3 {
				t.Errorf("dist has %d files (%v), want 3", len(files), err)
			}
		})
	}
}

func link(t *testing.T, to, file string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(file), os.Symlink(to, file)); err != nil {
		t.Fatal(err)
	}
}

// TestRelease_WorkflowsPassed: no release is built from a commit on which a workflow did not
// succeed.
func TestRelease_WorkflowsPassed(t *testing.T) {
	raw, err := os.ReadFile(".github/workflows/release.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release workflow
	if err := yaml.Unmarshal(raw, &release); err != nil {
		t.Fatal(err)
	}
	for job, content := range release.Jobs {
		if needs := needsOf(content.Needs); job != "check" && len(needs) == 0 {
			t.Errorf("job %s does not wait for check", job)
		}
	}
	script := release.Jobs["check"].Steps[0].Run
	for name, test := range map[string]struct {
		version, ci, recipes string // the last runs, as GitHub's API has them
		want                 string // in the error; empty for none
	}{
		"green":           {"v1.2.3", `{"conclusion":"success"}`, `{"conclusion":"success"}`, ""},
		"red":             {"v1.2.3", `{"conclusion":"success"}`, `{"conclusion":"failure"}`, "kwok-recipes.yaml on abc is failure"},
		"red, then green": {"v1.2.3", `{"conclusion":"success"},{"conclusion":"failure"}`, `{"conclusion":"success"}`, ""},
		"it runs":         {"v1.2.3", `{"conclusion":null,"status":"in_progress"}`, "", "ci.yaml on abc is in_progress"},
		"there is none":   {"v1.2.3", "", "", "ci.yaml on abc is absent"},
		"cancelled":       {"v1.2.3", `{"conclusion":"cancelled"}`, "", "is cancelled"},
		"a version":       {"v1.2.3; touch owned", `{"conclusion":"success"}`, `{"conclusion":"success"}`, "want vX.Y.Z"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "ci.json"), `{"workflow_runs":[`+test.ci+`]}`)
			write(t, filepath.Join(dir, "recipes.json"), `{"workflow_runs":[`+test.recipes+`]}`)
			write(t, filepath.Join(dir, "gh"), "#!/bin/bash\nfile=ci; [[ $4 != *kwok-recipes.yaml* ]] || file=recipes\n[[ $6 == head_sha=abc ]] && exec jq --raw-output \"${@: -1}\" "+dir+"/$file.json\n")
			cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "VERSION=" + test.version, "GITHUB_SHA=abc", "GH_REPO=o/r"}
			out, err := cmd.CombinedOutput()
			if (err == nil) != (test.want == "") || !strings.Contains(string(out), test.want) {
				t.Errorf("got %v, want %q in\n%s", err, test.want, out)
			}
			if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
				t.Error("the version was executed")
			}
		})
	}
}
