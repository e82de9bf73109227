package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// recipeFile is the recipe of eks, h100 and training.
func recipeFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recipe.yaml")
	invoke(t, with("recipe", "-o", file)...).want(t, 0)
	return file
}

// tree is the content of a directory's files, by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		files[filepath.ToSlash(rel)] = read(t, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// bundled makes a bundle in a new directory.
func bundled(t *testing.T, args ...string) (map[string]string, answer) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	r := invoke(t, append([]string{"bundle", "-o", dir}, args...)...)
	r.want(t, 0)
	return tree(t, dir), r
}

// Every deployer's bundle is whole, its checksums hold, and it is the same each time.
func TestBundle(t *testing.T) {
	file := recipeFile(t)
	for _, deployer := range bundle.Names() {
		args := []string{"-r", file, "--deployer", deployer}
		switch deployer {
		case bundle.ArgoCDOCI, bundle.FluxOCI, bundle.ArgoCDAppSet:
			args = append(args, "--repo", "oci://registry.example.com/aicr/mine")
		case bundle.ArgoCDGit, bundle.FluxGit:
			args = append(args, "--repo", "https://git.example.com/aicr/mine.git")
		case bundle.HelmTemplate:
			args = append(args, "--charts", "simulated")
		}
		files, r := bundled(t, args...)
		again, _ := bundled(t, args...)
		if len(files) < 10 || files["README.md"] == "" || files["recipe.yaml"] == "" {
			t.Errorf("%s: got %d files", deployer, len(files))
		}
		sums := 0
		for line := range strings.Lines(files["checksums.txt"]) {
			sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if sum != fmt.Sprintf("%x", sha256.Sum256([]byte(files[name]))) {
				t.Errorf("%s: the checksum of %s does not hold", deployer, name)
			}
			sums++
		}
		if sums != len(files)-1 {
			t.Errorf("%s: %d checksums of %d files", deployer, sums, len(files))
		}
		for name, content := range files {
			if again[name] != content {
				t.Errorf("%s: %s is another one the second time", deployer, name)
			}
			if deployer == bundle.HelmTemplate { // it has what the simulated charts say
				continue
			}
			if strings.Contains(content, "kwok") || strings.Contains(content, "node-type") {
				t.Errorf("%s: %s has scheduling of simulated nodes", deployer, name)
			}
		}
		if len(again) != len(files) || !strings.Contains(r.stderr, "injected scheduling: none") || !strings.Contains(r.stdout, " releases in ") {
			t.Errorf("%s: got %q, %q", deployer, r.stdout, r.stderr)
		}
	}
}

func values(t *testing.T, files map[string]string, component string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(files[component+"/values.yaml"]), &v); err != nil || v == nil {
		t.Fatalf("values of %s: %v", component, err)
	}
	return v
}

// The values that flags inject are in the bundle's values, in its README and on the screen. Other
// files do not change.
func TestBundleFlags(t *testing.T) {
	file := recipeFile(t)
	plain, _ := bundled(t, "-r", file)
	files, r := bundled(t, "-r", file,
		"--set", "gpuoperator:driver.version=570.86.16", "--set", "gpu-operator:gds.enabled=true", "--set", "nvsentinel:enabled=false",
		"--system-node-selector", "nodeGroup=system-pool", "--system-node-selector", "zone=a", "--system-node-toleration", "dedicated=system:NoSchedule",
		"--accelerated-node-selector", "nvidia.com/gpu.present=true", "--accelerated-node-toleration", "nvidia.com/gpu=present:NoSchedule", "--nodes", "8")
	gpu := values(t, files, "gpu-operator")
	if v := gpu["driver"].(map[string]any)["version"]; v != "570.86.16" {
		t.Errorf("got driver.version %v", v)
	}
	if v := gpu["gds"].(map[string]any)["enabled"]; v != true {
		t.Errorf("got gds.enabled %v", v)
	}
	if v := fmt.Sprint(gpu["operator"].(map[string]any)["nodeSelector"]); v != "map[nodeGroup:system-pool zone:a]" {
		t.Errorf("got operator.nodeSelector %v", v)
	}
	if v := fmt.Sprint(gpu["daemonsets"].(map[string]any)["nodeSelector"]); v != "map[nvidia.com/gpu.present:true]" {
		t.Errorf("got daemonsets.nodeSelector %v", v)
	}
	if v := fmt.Sprint(gpu["daemonsets"].(map[string]any)["tolerations"]); !strings.Contains(v, "map[effect:NoSchedule key:nvidia.com/gpu operator:Equal value:present]") {
		t.Errorf("got daemonsets.tolerations %v", v)
	}
	if v := files["skyhook-customizations/chart/values.yaml"]; !strings.Contains(v, "nodeCount: 8") {
		t.Errorf("got no nodeCount:\n%s", v)
	}
	if _, ok := files["nvsentinel/values.yaml"]; ok || plain["nvsentinel/values.yaml"] == "" {
		t.Error("nvsentinel is there, or was not before")
	}
	for _, part := range []string{
		"- gpu-operator: --set driver.version=570.86.16\n", "- nvsentinel: --set enabled=false\n", "- skyhook-customizations: --nodes 8 at nodeCount\n",
		"- gpu-operator: accelerated nodeSelector nvidia.com/gpu.present=true at daemonsets.nodeSelector\n",
	} {
		if !strings.Contains(asRead(files["README.md"]), part) {
			t.Errorf("README.md lacks %q:\n%s", part, files["README.md"])
		}
	}
	r.want(t, 0, "injected scheduling for system components: nodeSelector nodeGroup=system-pool,zone=a; tolerations dedicated=system:NoSchedule",
		"injected scheduling for accelerated components: nodeSelector nvidia.com/gpu.present=true; tolerations nvidia.com/gpu=present:NoSchedule")
	// The bundle's own recipe makes it again.
	if again, _ := bundled(t, "-r", write(t, "recipe.yaml", files["recipe.yaml"])); again["nvsentinel/values.yaml"] != "" {
		t.Error("the recipe in the bundle has forgotten what was disabled")
	}
}

func TestBundle_Invalid(t *testing.T) {
	file := recipeFile(t)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no recipe":           {nil, 2, "--recipe: name the recipe"},
		"no such recipe":      {[]string{"-r", "no.yaml"}, 3, "recipe file no.yaml does not exist"},
		"not a recipe":        {[]string{"-r", march + "/registry.yaml"}, 2, `recipes-march/registry.yaml:5: kind is "ComponentRegistry" but must be "RecipeResult"`},
		"deployer":            {[]string{"-r", file, "-d", "fleet"}, 2, `--deployer "fleet": want one of helm, argocd-oci`},
		"not empty":           {[]string{"-r", file, "-o", full}, 2, "it has mine.txt; choose another directory or overwrite with --force"},
		"--set component":     {[]string{"-r", file, "--set", "gpuoperater:a=b"}, 2, `did you mean "gpuoperator"?`},
		"--set elsewhere":     {[]string{"-r", file, "--set", "kgateway:a=b"}, 2, "component kgateway is not in this recipe"},
		"--set form":          {[]string{"-r", file, "--set", "driver.version=1"}, 2, "is not COMPONENT:PATH=VALUE"},
		"selector":            {[]string{"-r", file, "--system-node-selector", "x"}, 2, `--system-node-selector: node selector "x" is not KEY=VALUE`},
		"toleration":          {[]string{"-r", file, "--accelerated-node-toleration", "a=b:Never"}, 2, `--accelerated-node-toleration: toleration "a=b:Never": effect "Never"`},
		"nodes":               {[]string{"-r", file, "--nodes", "-1"}, 2, "--nodes -1"},
		"no repo":             {[]string{"-r", file, "-d", "flux-oci"}, 2, "--repo: "},
		"a git repo":          {[]string{"-r", file, "-d", "flux-oci", "--repo", "https://github.com/a/b.git"}, 2, "does not begin with oci://"},
		"charts and none":     {[]string{"-r", file, "--charts", "none", "--charts", "simulated"}, 2, "--charts none cannot be one of a list"},
		"template of nothing": {[]string{"-r", file, "-d", "helm-template"}, 2, "--deployer helm-template renders the charts"},
		"chart repository":    {[]string{"-r", file, "--chart-repository", "oci://x/y"}, 2, "--chart-repository needs the charts' own versions"},
		"chart not there":     {[]string{"-r", file, "--charts", t.TempDir()}, 2, "is not in chart source"},
		"output":              {[]string{"-r", file, "-o", "cm://a/b"}, 2, "a bundle cannot be written to cm://"},
		"oci host only":       {[]string{"-r", file, "-o", "oci://host"}, 2, "want oci://HOST/PATH"},
		"two tags":            {[]string{"-r", file, "-o", "oci://host/a:b", "--revision", "c"}, 2, "--output has the tag b, and --revision is c"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"bundle"}, c.args...)
			if !slices.Contains(args, "-o") {
				args = append(args, "-o", filepath.Join(t.TempDir(), "bundle"))
			}
			invoke(t, args...).want(t, c.code, c.want)
		})
	}
	// A recipe that was made with other recipe files.
	other := strings.Replace(read(t, file), "  - eks\n", "  - elsewhere\n", 1)
	invoke(t, "bundle", "-r", write(t, "r.yaml", other), "-o", filepath.Join(t.TempDir(), "b")).want(t, 2, `the recipe applies overlay "elsewhere", which ../../test/recipes-march does not have; resolve the recipe again`)
	if entries, err := os.ReadDir(full); err != nil || len(entries) != 1 {
		t.Errorf("a refused bundle was written: %v, %v", entries, err)
	}
}

// A recipe comes from anywhere, and with the charts it is checked.
func TestBundleSources(t *testing.T) {
	file := recipeFile(t)
	text := read(t, file)
	want, _ := bundled(t, "-r", file)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/recipe.yaml" {
			w.Header().Set("Content-Type", "text/html")
		}
		_, _ = io.WriteString(w, text)
	}))
	defer server.Close()
	for name, b := range map[string]struct {
		bench
		from string
	}{"standard input": {bench{stdin: text}, "-"}, "server": {bench{}, server.URL + "/recipe.yaml"}} {
		dir := filepath.Join(t.TempDir(), "bundle")
		b.run(t, "bundle", "-r", b.from, "-o", dir).want(t, 0)
		if got := tree(t, dir); len(got) != len(want) || got["checksums.txt"] != want["checksums.txt"] {
			t.Errorf("%s: another bundle", name)
		}
	}
	invoke(t, "bundle", "-r", server.URL+"/login").want(t, 6, "download the recipe from "+server.URL+"/login: the server sent a web page", "exit code 6 (UNAVAILABLE); `aicr explain 6` says more")
	invoke(t, "bundle", "-r", "cm://gpu/recipe").want(t, 6, "no cluster is configured")
	bundled(t, "-r", file, "--set", "certmanager:webhook=1")
	invoke(t, "bundle", "-r", file, "-o", filepath.Join(t.TempDir(), "bundle"), "--charts", "simulated", "--set", "certmanager:webhook=1").
		want(t, 2, "component cert-manager: chart cert-manager v1.17.2 does not render with its value of webhook.replicaCount")
}

// A bundle is published as the same artifact each time, at the address that the controllers read.
func TestBundlePublish(t *testing.T) {
	registry := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	defer registry.Close()
	host := strings.TrimPrefix(registry.URL, "http://")
	file := recipeFile(t)
	for deployer, path := range map[string]string{bundle.Helm: "aicr/mine", bundle.ArgoCDOCI: "aicr/mine", bundle.FluxOCI: "aicr/mine", bundle.ArgoCDHelmOCI: "aicr/h100-eks-training"} {
		var told []string
		for range 2 {
			r := invoke(t, "bundle", "-r", file, "-d", deployer, "-o", "oci://"+host+"/"+path)
			r.want(t, 0)
			told = append(told, r.stdout)
		}
		if told[0] != told[1] || !strings.Contains(told[0], "in oci://"+host+"/"+path+":") || !strings.Contains(told[0], "@sha256:") {
			t.Errorf("%s: got %q", deployer, told)
		}
	}
	invoke(t, "bundle", "-r", file, "-d", "argocd-helm-oci", "-o", "oci://"+host+"/aicr/other").want(t, 2, "the address has to end in /h100-eks-training")
	r := invoke(t, "bundle", "-r", file, "-d", "flux-oci", "-o", "oci://"+host+"/aicr/mine:v1")
	r.want(t, 0)
	if !strings.Contains(r.stdout, "/aicr/mine:v1@sha256:") {
		t.Errorf("got %q", r.stdout)
	}
	registry.Close()
	invoke(t, "bundle", "-r", file, "-o", "oci://"+host+"/aicr/mine").want(t, 6, "connection refused")
}

// BenchmarkBundle is the largest recipe of those in the binary, from the recipe's text to files.
func BenchmarkBundle(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, "recipe.yaml")
	call := func(args ...string) {
		if code := run(b.Context(), args, func(string) string { return "" }, io.Discard, io.Discard); code != 0 {
			b.Fatalf("%q: exit code %d", args, code)
		}
	}
	call("recipe", "--service", "eks", "--accelerator", "h100", "--intent", "training", "--os", "ubuntu", "--platform", "kubeflow", "-o", file)
	for b.Loop() {
		call("bundle", "-r", file, "-o", filepath.Join(dir, "bundle"), "--force")
	}
}

// asRead is Markdown as a person reads it: what a recipe says is code in it.
func asRead(text string) string { return strings.NewReplacer("`", "", `\`, "").Replace(text) }

// A split bundle has its components in the half of their class, one recipe and one list of files for both, and no component of
// core that needs one of ops.
func TestBundle_Split(t *testing.T) {
	recipes := filepath.Join(t.TempDir(), "recipes")
	if err := os.CopyFS(recipes, os.DirFS(march)); err != nil {
		t.Fatal(err)
	}
	registry := read(t, filepath.Join(recipes, "registry.yaml"))
	class := func(name, class string) {
		t.Helper()
		text := strings.Replace(registry, "  - name: "+name+"\n", "  - name: "+name+"\n    class: "+class+"\n", 1)
		if err := os.WriteFile(filepath.Join(recipes, "registry.yaml"), []byte(text), 0o644); err != nil || text == registry {
			t.Fatalf("%s: %v", name, err)
		}
	}
	file, to := filepath.Join(t.TempDir(), "recipe.yaml"), filepath.Join(t.TempDir(), "bundle")
	invoke(t, with("recipe", "--recipes-dir", recipes, "-o", file)...).want(t, 0)
	args := []string{"bundle", "--recipes-dir", recipes, "-r", file, "--split", "-o", to}
	invoke(t, args...).want(t, 2, "--split: no component of the recipe is of the class ops in registry.yaml")
	class("cert-manager", "ops")
	invoke(t, args...).want(t, 2, "is of the class core and depends on cert-manager, which is of ops")
	class("prometheus-adapter", "half")
	invoke(t, args...).want(t, 2, `class of component "prometheus-adapter" is "half"; write core or ops`)
	class("prometheus-adapter", "ops")
	made, unsplit := invoke(t, args...), invoke(t, "bundle", "--recipes-dir", recipes, "-r", file, "-o", filepath.Join(t.TempDir(), "unsplit"))
	made.want(t, 0)
	_, releases, _ := strings.Cut(unsplit.stdout, " files for ")
	releases, _, _ = strings.Cut(releases, " in ")
	if want := " files for " + releases + " in " + to + "; start with core/README.md there\n"; !strings.Contains(made.stdout, want) {
		t.Errorf("got %q, want %q", made.stdout, want)
	}
	files := tree(t, to)
	for name, want := range map[string]bool{
		"core/deploy.sh": true, "ops/deploy.sh": true, "recipe.yaml": true, "split.yaml": true, "checksums.txt": true, "core/cert-manager/values.yaml": true, "ops/prometheus-adapter/values.yaml": true,
		"deploy.sh": false, "core/recipe.yaml": false, "ops/checksums.txt": false, "core/prometheus-adapter/values.yaml": false, "ops/cert-manager/values.yaml": false,
	} {
		if _, ok := files[name]; ok != want {
			t.Errorf("%s: it is there: %t, want %t", name, ok, want)
		}
	}
	if !strings.Contains(files["split.yaml"], "  prometheus-adapter: ops\n") || !strings.Contains(files["split.yaml"], fmt.Sprintf("recipeDigest: sha256:%x\n", sha256.Sum256([]byte(files["recipe.yaml"])))) {
		t.Errorf("split.yaml is\n%s", files["split.yaml"])
	}
	if strings.Contains(files["core/deploy.sh"], "release prometheus-adapter") || !strings.Contains(files["ops/deploy.sh"], "release prometheus-adapter") {
		t.Error("a half's script does not install what is in the half")
	}
	invoke(t, "verify", to).want(t, 0)
	invoke(t, append(args, "--deployer", "flux")...).want(t, 2, "--split is for --deployer helm")
	invoke(t, append(args, "--readiness-hooks")...).want(t, 2, "--split goes with none of")
}
