package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Bundles of another program: what does not go together, and what is no bundle or no CLI, is
// refused before anything is started.
func TestForeignBundleInput(t *testing.T) {
	own := filepath.Join(t.TempDir(), "bundle")
	invoke(t, nil, "bundle", "kind", "-o", own).want(t, 0)
	edit := func(name, from, to string) string {
		dir := filepath.Join(t.TempDir(), "bundle")
		if err := os.CopyFS(dir, os.DirFS(own)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), from) {
			t.Fatalf("%s has no %q", name, from)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if name != "checksums.txt" && from != "" {
			if err := os.Remove(filepath.Join(dir, "checksums.txt")); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	plain := filepath.Join(t.TempDir(), "aicr")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	failing := filepath.Join(t.TempDir(), "aicr")
	if err := os.WriteFile(failing, []byte("#!/bin/sh\nprintf '\\033[31m::error title=x::no\\n' >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := func(dir string, more ...string) []string {
		return append([]string{"run", "--bundle-dir", dir, "--deployer", "helm", "--service", "kind"}, more...)
	}
	for name, tc := range map[string]struct {
		args []string
		code int // 0 stands for 2
		want []string
	}{
		"no such bundler":             {args: []string{"run", "eks", "--bundler", "mine"}, want: []string{`--bundler "mine"`, "builtin or exec"}},
		"exec without a path":         {args: []string{"run", "eks", "--bundler", "exec"}, want: []string{"--aicr PATH", "--aicr build"}},
		"a path without exec":         {args: []string{"run", "eks", "--bundler", "builtin", "--aicr-path", "aicr"}, want: []string{"the bundler is builtin"}},
		"no such CLI":                 {args: []string{"run", "eks", "--bundler", "exec", "--aicr-path", "/no/such/aicr"}, want: []string{"--aicr /no/such/aicr: no such file"}},
		"no checkout":                 {args: []string{"run", "eks", "--aicr", "build"}, want: []string{"--aicr build", "in no checkout of AICR"}},
		"two names of one flag":       {args: []string{"run", "eks", "--aicr", "a", "--aicr-path", "b"}, want: []string{"--aicr-path is the older name of --aicr"}},
		"arguments without exec":      {args: []string{"run", "eks", "--aicr-args", "bundle --serial"}, want: []string{"--aicr-args is for AICR's CLI"}},
		"arguments of its own":        {args: []string{"run", "eks", "--bundler", "exec", "--aicr", failing, "--aicr-args", "bundle --output=x"}, want: []string{"--aicr-args: bundle: --output is a flag that matrix passes itself"}},
		"another program":             {args: []string{"run", "eks", "--bundler", "exec", "--aicr-path", plain}, want: []string{"prints no version", "hello"}},
		"a CLI that fails":            {args: []string{"run", "eks", "--bundler", "exec", "--aicr-path", failing}, want: []string{"exit status 3", `:\:error title=x::no`}},
		"both":                        {args: at(own, "--bundler", "exec"), want: []string{"exclude each other"}},
		"charts direct":               {args: at(own, "--charts", "direct"), want: []string{"--charts direct"}},
		"with --reuse":                {args: at(own, "--reuse", t.TempDir()), want: []string{"--reuse knows"}},
		"nodes for a recipe":          {args: []string{"run", "eks", "--service", "gke"}, want: []string{"--bundle-dir"}},
		"nodes not chosen":            {args: []string{"run", "--bundle-dir", edit("recipe.yaml", "service: kind", "service: any"), "--deployer", "helm"}, want: []string{"--bundle-dir needs --service", "no recipe.yaml that sets a service"}},
		"nodes of its recipe":         {args: []string{"run", "--bundle-dir", edit("recipe.yaml", "service: kind", "service: moon"), "--deployer", "helm"}, code: 18, want: []string{"service moon"}},
		"nodes that do not exist":     {args: append(at(own)[:5:5], "--service", "moon"), code: 18, want: []string{"service moon"}},
		"lane not chosen":             {args: []string{"run", "--bundle-dir", own, "--service", "kind"}, want: []string{"pass --deployer with one of helm"}},
		"a lane without bundles":      {args: []string{"run", "--bundle-dir", own, "--service", "kind", "--deployer", "helm-template"}, want: []string{"helm-template does not take bundles of other programs"}},
		"another lane's bundle":       {args: []string{"run", "--bundle-dir", own, "--service", "kind", "--deployer", "flux-oci"}, want: []string{own, "it has no kustomization.yaml"}},
		"two names":                   {args: at(own, "a", "b"), want: []string{"one name", "a, b"}},
		"a name that cannot be one":   {args: at(own, "My Bundle"), want: []string{`"My Bundle" cannot name a bundle`, "my-bundle"}},
		"with --all":                  {args: at(own, "--all"), want: []string{"--all is about recipes"}},
		"with --checks":               {args: at(own, "--checks"), want: []string{"--checks is about recipes"}},
		"no directory":                {args: at("/no/such/bundle"), want: []string{"/no/such/bundle"}},
		"an empty directory":          {args: at(t.TempDir()), want: []string{"has no files"}},
		"a file that was changed":     {args: at(edit("checksums.txt", "  README.md", "0  README.md")), want: []string{"checksums.txt:", "README.md"}},
		"a flag of Helm":              {args: at(edit("deploy.sh", "release cert-manager cert-manager", "release cert-manager cert-manager --set a=b")), want: []string{"deploy.sh:", "helm flag --set is not understood"}},
		"values that are not there":   {args: at(edit("deploy.sh", "/cert-manager/values.yaml", "/cert-manager/other.yaml")), want: []string{"deploy.sh:", "cert-manager/other.yaml is not in the bundle"}},
		"values that are no YAML":     {args: at(edit("cert-manager/values.yaml", "webhook:", "webhook: [")), want: []string{"cert-manager/values.yaml:"}},
		"values outside":              {args: at(edit("deploy.sh", "/cert-manager/values.yaml", "/../../etc/passwd")), want: []string{"deploy.sh:", "leads out of the bundle"}},
		"a constraint that is broken": {args: at(edit("recipe.yaml", "constraints:\n", "constraints:\n- {name: K8s.server.version, value: '>= 9.0'}\n")), code: 56, want: []string{"recipe.yaml", "K8s.server.version"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.code == 0 {
				tc.code = 2
			}
			got := invoke(t, nil, tc.args...)
			got.want(t, tc.code, append([]string{"matrix: "}, tc.want...)...)
		})
	}
}
