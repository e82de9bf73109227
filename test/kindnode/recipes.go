package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// registryVersion is that of github.com/distribution/distribution/v3 in parts/addons/go.mod; a test
// compares.
const registryVersion = "3.1.2"

// scratch has what every image needs that runs as anybody.
func scratch() map[string]directory { return map[string]directory{"/tmp": {mode: 0o1777}} }

// controllers are the images that a Kind run loads into its node, except Redis, whose name Argo
// CD's manifest decides.
func (f *fixture) controllers() []recipe {
	version := func(module string) string { return f.stack.Version(module) }
	list := []recipe{
		f.argocd(),
		{
			name: "registry.k8s.io/kwok/kwok:" + version("sigs.k8s.io/kwok"), programs: []string{"kwok"}, dirs: scratch(),
			entrypoint: []string{"/usr/local/bin/kwok"},
		},
		{
			name: "docker.io/library/registry:" + registryVersion, programs: []string{"registry"},
			text: map[string]string{"/etc/distribution/config.yml": registryConfig, "/etc/passwd": account("root", 0)},
			dirs: map[string]directory{"/tmp": {mode: 0o1777}, "/var/lib/registry": {mode: 0o777}}, env: []string{"OTEL_TRACES_EXPORTER=none"},
			entrypoint: []string{"registry"}, args: []string{"serve", "/etc/distribution/config.yml"},
		},
	}
	for name, module := range map[string]string{
		"source-controller": "github.com/fluxcd/source-controller", "kustomize-controller": "github.com/fluxcd/kustomize-controller",
		"helm-controller": "github.com/fluxcd/helm-controller", "source-watcher": "github.com/fluxcd/source-watcher/v2",
	} {
		list = append(list, recipe{
			name: "ghcr.io/fluxcd/" + name + ":" + version(module), programs: []string{name}, dirs: scratch(), user: "65534:65534",
			env: []string{"GNUPGHOME=/tmp"}, entrypoint: []string{name},
		})
	}
	return list
}

// registryConfig keeps images on disk, allows to delete them, and speaks plain HTTP on port 5000.
const registryConfig = `version: 0.1
storage:
  filesystem:
    rootdirectory: /var/lib/registry
  delete:
    enabled: true
http:
  addr: :5000
`

// argocd is one program under many names, and the tools that its repo-server runs.
func (f *fixture) argocd() recipe {
	links := map[string]string{"/etc/ssh/ssh_known_hosts": "/app/config/ssh/ssh_known_hosts"}
	for _, role := range []string{"server", "repo-server", "cmp-server", "application-controller", "dex", "notifications", "applicationset-controller", "k8s-auth", "commit-server"} {
		links["/usr/local/bin/argocd-"+role] = "/usr/local/bin/argocd"
	}
	own := directory{mode: 0o755, owner: 999}
	return recipe{
		name:     "quay.io/argoproj/argocd:" + f.stack.Version("github.com/argoproj/argo-cd/v3"),
		programs: []string{"argocd", "helm", "kustomize"},
		debian:   []string{"/bin/sh", "/bin/cp", "/bin/ln", "/usr/bin/git", "/usr/lib/git-core/git-remote-http", "/usr/bin/gpg", "/usr/bin/gpg-agent", "/usr/bin/gpgconf", "/usr/bin/ssh", "/usr/bin/tini"},
		text: map[string]string{
			"/app/config/ssh/ssh_known_hosts": "", "/etc/passwd": account("root", 0) + account("argocd", 999), "/etc/group": "root:x:0:\nargocd:x:999:\n",
		},
		// Of every commit the repo-server asks for a signature; nothing in a test is signed.
		scripts: map[string]string{"/usr/local/bin/git-verify-wrapper.sh": "#!/bin/sh\nexit 0\n"},
		links:   links, user: "999", workdir: "/home/argocd", entrypoint: []string{"/usr/bin/tini", "--"},
		env: []string{"USER=argocd", "GRPC_ENABLE_TXT_SERVICE_CONFIG=false"},
		dirs: map[string]directory{
			"/tmp": {mode: 0o1777}, "/home/argocd": own, "/app/config/tls": own, "/app/config/gpg/source": own, "/app/config/gpg/keys": {mode: 0o700, owner: 999},
		},
	}
}

// redis is Debian's under the name that Argo CD's manifest has.
func redis(name string) recipe {
	return recipe{name: name, debian: []string{"/usr/bin/redis-server", "/usr/bin/redis-cli"}, dirs: scratch(), user: "999", entrypoint: []string{"redis-server"}}
}

var redisLine = regexp.MustCompile(`(?m)^\s*(?:- )?image:\s*"?(\S*/redis:[^\s"]+)"?\s*$`)

// redisImage finds the image's name in an install manifest.
func redisImage(manifest string) (string, error) {
	found := map[string]bool{}
	for _, m := range redisLine.FindAllStringSubmatch(manifest, -1) {
		found[m[1]] = true
	}
	if len(found) != 1 {
		return "", fmt.Errorf("expected one image named redis, found %v", sortedKeys(found))
	}
	return sortedKeys(found)[0], nil
}

// nodeRecipes are the images that kubeadm names. They are in the node image.
func nodeRecipes(kubeadmList string) ([]recipe, error) {
	var list []recipe
	for _, name := range strings.Fields(kubeadmList) {
		program, _, _ := strings.Cut(path.Base(name), ":")
		r := recipe{name: name, programs: []string{program}, dirs: scratch(), entrypoint: []string{program}}
		switch program {
		case "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "pause":
		case "coredns":
			r.links = map[string]string{"/coredns": "/usr/local/bin/coredns"}
		case "kube-proxy":
			r.debian = []string{"/usr/sbin/xtables-nft-multi", "/usr/sbin/nft", "/usr/sbin/conntrack", "/usr/bin/kmod"}
			r.trees = []string{"/usr/lib/*/xtables"}
			r.links = map[string]string{"/usr/sbin/modprobe": "/usr/bin/kmod"}
			for _, family := range []string{"iptables", "ip6tables"} {
				for _, verb := range []string{"", "-save", "-restore"} {
					r.links["/usr/sbin/"+family+verb] = "/usr/sbin/xtables-nft-multi"
				}
			}
		default:
			return nil, fmt.Errorf("kubeadm asks for %s, and no recipe makes it", name)
		}
		list = append(list, r)
	}
	return list, nil
}

// content gathers the files of an image.
func (f *fixture) content(debian tree, r recipe) (content, error) {
	c := content{}
	for _, p := range r.programs {
		c["/usr/local/bin/"+p] = entry{file: f.binary(p), mode: 0o755}
	}
	wanted := slices.Clone(r.debian)
	for _, pattern := range r.trees {
		below, err := debian.below(pattern)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", r.name, err)
		}
		wanted = append(wanted, below...)
	}
	files, err := debian.closure(wanted...)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", r.name, err)
	}
	for p, file := range files {
		c[p] = entry{file: file}
	}
	for p, text := range r.text {
		c[p] = entry{text: text, mode: 0o644}
	}
	for p, text := range r.scripts {
		c[p] = entry{text: text, mode: 0o755}
	}
	for p, target := range r.links {
		c[p] = entry{link: target}
	}
	for p, d := range r.dirs {
		c[p] = entry{dir: true, mode: d.mode, own: d.owner}
	}
	return c, nil
}

// redisName reads Argo CD's own install manifest, of the version that the stack has.
func (f *fixture) redisName(ctx context.Context) (string, error) {
	m, err := downloaded(ctx, filepath.Join(f.source, "parts", "kubernetes"), "github.com/argoproj/argo-cd/v3")
	if err != nil {
		return "", err
	}
	file := filepath.Join(m.Dir, "manifests", "install.yaml")
	manifest, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	found, err := redisImage(string(manifest))
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return found, nil
}
