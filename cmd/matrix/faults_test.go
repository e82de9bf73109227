package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Every verdict in docs/contributing/faults.md is one of the table of exit codes.
func TestFaultsHaveCodes(t *testing.T) {
	raw, err := os.ReadFile("../../docs/contributing/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, line := range strings.Split(string(raw), "\n") {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| F") || len(cells) < 4 {
			continue
		}
		rows++
		for _, name := range regexp.MustCompile("`([A-Z_]+)`").FindAllStringSubmatch(cells[3], -1) {
			if row, err := reason.Find(name[1]); err != nil || row.Code == 0 || row.Code == reason.Internal.Code() {
				t.Errorf("%s: %s has no exit code of its own (%v)", cells[0], name[1], err)
			}
		}
	}
	if rows < 37 {
		t.Errorf("docs/contributing/faults.md has %d rows, want 37 at least", rows)
	}
}

// F24: a recipe for a cloud that no profile is for is refused when it is asked for; no other
// cloud's nodes are taken.
func TestNoProfile(t *testing.T) {
	dir := recipesCopy(t)
	edit(t, filepath.Join(dir, "overlays", "eks.yaml"), "service: eks", "service: nimbus")
	file := filepath.Join(dir, "overlays", "eks-training.yaml")
	edit(t, file, "service: eks\n    intent", "service: nimbus\n    intent")
	at := fmt.Sprintf("%s:%d: recipe eks-training", filepath.ToSlash(file), lineOf(t, file, "criteria:"))
	invoke(t, nil, "run", "eks-training", "--recipes-dir", dir).want(t, 18, "NO_NODE_PROFILE", at, "service nimbus", "--profiles DIR")

	// With profiles of one's own for it, it is past that; what stops it then is the missing
	// toolchain.
	own := t.TempDir()
	for _, name := range []string{"eks-system.yaml", "eks-h100.yaml"} {
		raw, err := os.ReadFile(filepath.Join(repository, "kwok", "profiles", name))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("name: eks", "name: nimbus", "service: eks", "service: nimbus").Replace(string(raw))
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	invoke(t, nil, "run", "eks-training", "--recipes-dir", dir, "--profiles", own).want(t, 12, "TOOLCHAIN_MISSING")
	skipped := []string{"discover", "--tier", "1", "--recipes-dir", dir, "--format", "cells"}
	invoke(t, nil, skipped...).want(t, 0, "skipped: eks-training: no KWOK node profile")
	if r := invoke(t, nil, append(skipped, "--profiles", own)...); strings.Contains(r.stderr, "skipped: eks-training") || !strings.Contains(r.stdout, "eks-training helm\n") {
		t.Errorf("discover --profiles: code %d\n%s%s", r.code, r.stdout, r.stderr)
	}

	raw, err := os.ReadFile(filepath.Join(own, "eks-h100.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	without := regexp.MustCompile(`(?s)  capacity:\n.*?\n  labels:`).ReplaceAll(raw, []byte("  labels:"))
	if err := os.WriteFile(filepath.Join(own, "eks-h100.yaml"), without, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"run", "nodes"} {
		invoke(t, nil, verb, "eks-training", "--recipes-dir", dir, "--profiles", own).want(t, 2, filepath.ToSlash(own)+"/eks-h100.yaml:", "spec.capacity is missing")
	}
}

// F31: no shell is on the way to a verdict: no program but the stack's own binaries, and go, is
// started, and by these functions only.
func TestNoShell(t *testing.T) {
	starts := map[string]bool{"Start": true, "RunCommand": true, "CheckGo": true, "buildPart": true, "checkGit": true, "git": true, // go and git: in internal/matrix/discover, and in internal/bundle/publish, which pushes
		"Process":   true, // internal/util/reexec: this program itself
		"Build":     true, // internal/intake: Go, for the CLI of the checkout that --aicr build means
		"inputsOf":  true, // beside it: go version
		"Describe":  true, // beside it: go env and git describe, for matrix doctor
		"Run":       true, // internal/intake/aicrcli: the CLI that the user names with --aicr
		"run":       true, // internal/infra/gitserver: git
		"stream":    true, // internal/infra/kind: docker
		"gpus":      true, // internal/verify/snapshot/collect: nvidia-smi, for aicr snapshot; a cell's snapshot leaves GPUs out
		"runOnce":   true, // cmd/matrix: this program itself, for --watch
		"runChecks": true, // internal/verify/validate/agent: this program itself, as a test binary
	}
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (strings.HasSuffix(file, "internal/tools/release") || strings.HasSuffix(file, "internal/testkit") || strings.HasSuffix(file, "internal/testkit/aicrclitest") || strings.HasSuffix(file, "internal/tools/bench") ||
			strings.HasSuffix(file, "manifests/internal/manifestgen") || strings.HasSuffix(file, "test/kindnode") || strings.HasSuffix(file, "test/oracle/testdata")) { // makes releases, manifests and test fixtures and times runs, and no verdict
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "exec" || !strings.HasPrefix(sel.Sel.Name, "Command") {
					return true
				}
				if !starts[f.Name.Name] {
					t.Errorf("%s: %s starts a program by itself", set.Position(n.Pos()), f.Name.Name)
				}
				for _, arg := range call.Args {
					if lit, ok := arg.(*ast.BasicLit); ok && (strings.Contains(lit.Value, "bash") || lit.Value == `"sh"` || lit.Value == `"/bin/sh"`) {
						t.Errorf("%s: %s starts a shell", set.Position(n.Pos()), f.Name.Name)
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// F33: what a caller of an Action or a workflow types never becomes part of a script.
func TestNoInputsInScripts(t *testing.T) {
	expression := regexp.MustCompile(`\$\{\{[^}]*(inputs|github\.event|github\.head_ref)`)
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "charts") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(file); d.IsDir() || ext != ".yml" && ext != ".yaml" {
			return nil
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var doc any
		if yaml.Unmarshal(raw, &doc) != nil {
			return nil // several documents, or a template: no Action
		}
		for _, script := range scripts(doc) {
			if found := expression.FindString(script); found != "" {
				t.Errorf("%s: a script has %q in it; pass it by env", file, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The search itself finds one.
	var doc any
	if err := yaml.Unmarshal([]byte("runs: {steps: [{run: 'echo ${{ inputs.recipe }}'}]}"), &doc); err != nil {
		t.Fatal(err)
	}
	if found := scripts(doc); len(found) != 1 || !expression.MatchString(found[0]) {
		t.Errorf("got scripts %q of an action that has one", found)
	}
}

// scripts are the values of every key called run.
func scripts(doc any) []string {
	var all []string
	switch v := doc.(type) {
	case map[string]any:
		for key, value := range v {
			if text, ok := value.(string); ok && key == "run" {
				all = append(all, text)
				continue
			}
			all = append(all, scripts(value)...)
		}
	case []any:
		for _, value := range v {
			all = append(all, scripts(value)...)
		}
	}
	return all
}
