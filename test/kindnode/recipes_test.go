package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/kwok"
)

func testFixture(t *testing.T) *fixture {
	t.Helper()
	s, err := stack.NewStack(host.Paths{Root: t.TempDir()}, kwok.StackMod, kwok.StackSum, kwok.StackSources)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{root: t.TempDir(), source: ".", stack: s, kind: module{Version: "v0.0.0"}, key: "0123456789abcdef"}
}

func parse(t *testing.T, file string) *modfile.File {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := modfile.Parse(file, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func versions(f *modfile.File) map[string]string {
	all := map[string]string{}
	for _, r := range f.Require {
		all[r.Mod.Path] = r.Mod.Version
	}
	return all
}

// The list, with the versions of the stack's parts list: what the platform's manifests name is what
// the fixture makes.
func TestControllers(t *testing.T) {
	f := testFixture(t)
	var names []string
	for _, r := range f.controllers() {
		names = append(names, r.name)
		if len(r.programs) == 0 || len(r.entrypoint) == 0 {
			t.Errorf("%s has no program or no entry point", r.name)
		}
	}
	slices.Sort(names)
	of := versions(parse(t, "../../kwok/stack/go.mod"))
	want := []string{
		"docker.io/library/registry:" + registryVersion,
		"ghcr.io/fluxcd/helm-controller:" + of["github.com/fluxcd/helm-controller"],
		"ghcr.io/fluxcd/kustomize-controller:" + of["github.com/fluxcd/kustomize-controller"],
		"ghcr.io/fluxcd/source-controller:" + of["github.com/fluxcd/source-controller"],
		"ghcr.io/fluxcd/source-watcher:" + of["github.com/fluxcd/source-watcher/v2"],
		"quay.io/argoproj/argocd:" + of["github.com/argoproj/argo-cd/v3"],
		"registry.k8s.io/kwok/kwok:" + of["sigs.k8s.io/kwok"],
	}
	if !slices.Equal(names, want) {
		t.Errorf("got  %v\nwant %v", names, want)
	}
	if got := versions(parse(t, "parts/addons/go.mod"))["github.com/distribution/distribution/v3"]; got != "v"+registryVersion {
		t.Errorf("the image is named registry:%s and made of %s", registryVersion, got)
	}
}

// The node's Kubernetes is the stack's, and everything below it too: else the two would not share a
// build cache, or not behave alike.
func TestNodePartsHaveTheVersionsOfTheStack(t *testing.T) {
	ours, theirs := parse(t, "parts/kubernetes/go.mod"), parse(t, "../../kwok/stack/go.mod")
	have := versions(ours)
	for path, version := range versions(theirs) {
		if have[path] != version {
			t.Errorf("%s is %s in parts/kubernetes/go.mod, %s in kwok/stack/go.mod", path, have[path], version)
		}
	}
	for _, r := range theirs.Replace {
		if !slices.ContainsFunc(ours.Replace, func(o *modfile.Replace) bool { return o.Old == r.Old && o.New == r.New }) {
			t.Errorf("parts/kubernetes/go.mod does not replace %s with %s %s", r.Old.Path, r.New.Path, r.New.Version)
		}
	}
}

func TestNodeRecipes(t *testing.T) {
	list := "registry.k8s.io/kube-apiserver:v1.36.1\nregistry.k8s.io/kube-proxy:v1.36.1\nregistry.k8s.io/coredns/coredns:v1.14.2\nregistry.k8s.io/etcd:3.6.8-0\nregistry.k8s.io/pause:3.10.2\n" + sandboxImage
	recipes, err := nodeRecipes(list)
	if err != nil || len(recipes) != 6 {
		t.Fatalf("got %d, %v", len(recipes), err)
	}
	if dns := recipes[2]; dns.links["/coredns"] == "" || dns.programs[0] != "coredns" {
		t.Errorf("kubeadm's Deployment starts /coredns; got %+v", dns)
	}
	if _, err := nodeRecipes("registry.k8s.io/something:v1"); err == nil || !strings.Contains(err.Error(), "something:v1") {
		t.Errorf("an image that nothing makes: %v", err)
	}
}

func TestRedisImage(t *testing.T) {
	for _, c := range []struct{ manifest, want string }{
		{"        image: public.ecr.aws/docker/library/redis:8.2.3-alpine\n        image: quay.io/argoproj/argocd:v3\n", "public.ecr.aws/docker/library/redis:8.2.3-alpine"},
		{"      - image: \"docker.io/library/redis:7\"\n        image: docker.io/library/redis:7\n", "docker.io/library/redis:7"},
		{"image: a/redis:1\nimage: b/redis:2\n", ""},
		{"# redis:8 is the image: a/redis:1 of this\nimage: a/redis-exporter:1\n", ""},
		{"", ""},
	} {
		got, err := redisImage(c.manifest)
		if got != c.want || (err == nil) == (c.want == "") {
			t.Errorf("%q: got %q, %v", c.manifest, got, err)
		}
	}
}

func TestKeyOf(t *testing.T) {
	base := func() map[string][]byte {
		return map[string][]byte{"a": []byte("1"), "b": []byte("2")}
	}
	if again := keyOf(base()); again != keyOf(base()) {
		t.Error("the same inputs have two keys")
	}
	seen := map[string]string{keyOf(base()): "base"}
	for what, change := range map[string]func(map[string][]byte){
		"another content":         func(m map[string][]byte) { m["a"] = []byte("3") },
		"one more":                func(m map[string][]byte) { m["c"] = nil },
		"one less":                func(m map[string][]byte) { delete(m, "b") },
		"another name":            func(m map[string][]byte) { m["c"] = m["b"]; delete(m, "b") },
		"the contents exchanged":  func(m map[string][]byte) { m["a"], m["b"] = m["b"], m["a"] },
		"one input in another":    func(m map[string][]byte) { delete(m, "b"); m["a"] = []byte("1b2") },
		"one content in the name": func(m map[string][]byte) { delete(m, "b"); m["a"] = []byte("1\"b\" 1\n2") },
	} {
		m := base()
		change(m)
		if other, ok := seen[keyOf(m)]; ok {
			t.Errorf("%s has the key of %s", what, other)
		}
		seen[keyOf(m)] = what
	}
}

// Whatever a build reads is an input: the parts lists, the programs of the fixture and the files of
// the node.
func TestInputs(t *testing.T) {
	f := testFixture(t)
	inputs, err := f.inputs()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"stack", "stack.mod", "stack.sum", "kind", "packages", "parts/kubernetes/go.mod", "parts/kubernetes/go.sum", "parts/addons/go.sum", "parts/addons/pause/main.go",
		"files/etc/cni/net.d/10-kindnode.conflist", "files/kind/manifests/default-cni.yaml", "image quay.io/argoproj/argocd:" + f.stack.Version("github.com/argoproj/argo-cd/v3"),
	} {
		if len(inputs[name]) == 0 {
			t.Errorf("no input %s", name)
		}
	}
	f.source = t.TempDir()
	if err := os.MkdirAll(filepath.Join(f.source, "parts"), 0o755); err != nil {
		t.Fatal(err)
	}
	without, err := f.inputs()
	if err != nil || keyOf(without) == keyOf(inputs) {
		t.Errorf("other parts have the same key, %v", err)
	}
}
