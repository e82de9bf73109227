package oracle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/adjust"
	"github.com/nvidia/aicr-action/internal/bundle/rendering"
	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/intake"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
)

var answers = flag.String("answers", filepath.Join("testdata", "answers"), "directory with what AICR's CLI answered: recipes/, expected/*.yaml (criteriaLine and recipe) and bundles/RECIPE/DEPLOYER-{dir,oci}")

// What AICR's CLI resolved and bundled, as it is stored, is what this module resolves and bundles. No input is generated:
// the CLI is not asked again.
func TestOracleAICR(t *testing.T) {
	dir := infratest.ShortTempDir(t)
	o := &oracle{name: "aicr", version: answersVersion(t), asked: storedAnswers(t)}
	o.has = func(in *input) bool {
		_, err := os.Stat(filepath.Join(*answers, filepath.FromSlash(in.at())))
		return err == nil
	}
	store, err := recipe.Open(os.DirFS(filepath.Join(*answers, "recipes")), "recipes")
	if err != nil {
		t.Fatal(err)
	}
	renderer := &render.Renderer{}
	t.Cleanup(renderer.Close)
	o.program = func(ctx context.Context, all []input) (map[string]verdict, error) {
		verdicts := map[string]verdict{}
		for i := range all {
			in := &all[i]
			text, err := storedAnswer(ctx, renderer, in)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", in.From, err)
			}
			verdicts[in.Name] = verdict{Word: in.Subject["kind"].(string), Message: text}
		}
		return verdicts, nil
	}
	n := 0
	o.compare = func(ctx context.Context, in *input, v *verdict) (*difference, error) {
		n++
		own, err := ownAnswer(ctx, renderer, store, in, filepath.Join(dir, fmt.Sprint(n)))
		if err != nil {
			own = "fails: " + err.Error()
		}
		if own == v.Message {
			return nil, nil
		}
		theirs, own := apart(v.Message, own)
		return &difference{*in, v.Word + ": " + theirs, own}, nil
	}
	o.run(t, nil)
}

// apart are the lines that only one of two texts has.
func apart(theirs, own string) (string, string) {
	a, b := strings.Split(theirs, "\n"), strings.Split(own, "\n")
	return strings.Join(slices.DeleteFunc(slices.Clone(a), func(l string) bool { return slices.Contains(b, l) }), "; "),
		strings.Join(slices.DeleteFunc(b, func(l string) bool { return slices.Contains(a, l) }), "; ")
}

// answersVersion is that of the CLI: its file VERSION, or that of a development build.
func answersVersion(t *testing.T) string {
	raw, err := os.ReadFile(filepath.Join(*answers, "VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return "v0.0.0"
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}

// storedAnswers has an input for each resolution and each bundle.
func storedAnswers(t *testing.T) (all []input) {
	add := func(kind, at string) {
		all = append(all, input{Name: strings.ToLower(kind) + "-" + strings.ReplaceAll(strings.TrimSuffix(at, ".yaml"), "/", "-"), From: at, Subject: map[string]any{"apiVersion": "oracle/v1", "kind": kind, "metadata": map[string]any{"name": "a"}, "at": at}})
	}
	for kind, pattern := range map[string]string{"Resolution": "expected/*.yaml", "Bundle": "bundles/*/*-*"} {
		found, err := filepath.Glob(filepath.Join(*answers, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s in %s: no files (%v)", pattern, *answers, err)
		}
		for _, file := range found {
			rel, err := filepath.Rel(*answers, file)
			if err != nil {
				t.Fatal(err)
			}
			add(kind, filepath.ToSlash(rel))
		}
	}
	return all
}

func (in *input) at() string { at, _ := in.Subject["at"].(string); return at }

// storedAnswer is what the CLI said, as lines.
func storedAnswer(ctx context.Context, renderer *render.Renderer, in *input) (string, error) {
	at := filepath.Join(*answers, filepath.FromSlash(in.at()))
	if in.Subject["kind"] == "Bundle" {
		d, err := deployerOf(in.at())
		if err != nil {
			return "", err
		}
		whole, err := withoutScripts(at)
		if err != nil {
			return "", err
		}
		text, err := releases(ctx, renderer, whole, d)
		return text, errors.Join(err, os.RemoveAll(whole))
	}
	s, err := readResolution(at)
	if err != nil {
		return "", err
	}
	return resolution(s.Recipe), nil
}

// withoutScripts is a copy of a stored bundle whose checksums do not name the files that are not stored.
func withoutScripts(dir string) (string, error) {
	made, err := os.MkdirTemp("", "answer")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(made, os.DirFS(dir)); err != nil {
		return "", err
	}
	sums := filepath.Join(made, "checksums.txt")
	raw, err := os.ReadFile(sums)
	if err != nil {
		return "", err
	}
	var kept []string
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if _, err := os.Stat(filepath.Join(made, filepath.FromSlash(words[len(words)-1]))); err == nil {
			kept = append(kept, line)
		}
	}
	if err := os.WriteFile(sums, []byte(strings.Join(kept, "")), 0o600); err != nil {
		return "", err
	}
	return made, installScripts(made)
}

// installScripts writes, for a bundle that is for helm, the scripts of AICR's form with the namespaces of its recipe.
func installScripts(dir string) error {
	raw, err := os.ReadFile(filepath.Join(dir, "recipe.yaml"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r, err := recipe.ReadResult("recipe.yaml", raw)
	if err != nil {
		return err
	}
	dirs, err := filepath.Glob(filepath.Join(dir, "[0-9][0-9][0-9]-*"))
	if err != nil {
		return err
	}
	for _, d := range dirs {
		_, name, _ := strings.Cut(filepath.Base(d), "-")
		of := strings.TrimSuffix(strings.TrimSuffix(name, "-post"), "-pre")
		at := slices.IndexFunc(r.ComponentRefs, func(c recipe.ComponentRef) bool { return c.Name == name })
		if at < 0 {
			at = slices.IndexFunc(r.ComponentRefs, func(c recipe.ComponentRef) bool { return c.Name == of })
		}
		if at < 0 {
			return fmt.Errorf("%s is of no component of the recipe", d)
		}
		chart, head := "./", ""
		if _, err := os.Stat(filepath.Join(d, "upstream.env")); err == nil {
			chart = "\"${CHART}\" ${REPO:+--repo \"${REPO}\"} --version \"${VERSION}\""
			head = "source ./upstream.env\n"
		}
		script := "#!/usr/bin/env bash\nset -euo pipefail\ncd \"$(dirname \"${BASH_SOURCE[0]}\")\"\n" + head + "helm upgrade --install '" + name + "' " + chart + " --namespace '" + r.ComponentRefs[at].Namespace + "' --create-namespace -f values.yaml -f cluster-values.yaml\n"
		if err := os.WriteFile(filepath.Join(d, "install.sh"), []byte(script), 0o755); err != nil {
			return err
		}
	}
	return nil
}

type storedResolution struct {
	CriteriaLine string         `json:"criteriaLine"`
	Recipe       map[string]any `json:"recipe"`
}

func readResolution(file string) (s storedResolution, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	return s, yaml.Unmarshal(raw, &s)
}

// resolution is a line a value of a recipe, without the version of what resolved it and the texts of health checks.
func resolution(r map[string]any) string {
	if m, ok := r["metadata"].(map[string]any); ok {
		delete(m, "version")
	}
	refs, _ := r["componentRefs"].([]any)
	for _, c := range refs {
		if c, ok := c.(map[string]any); ok {
			delete(c, "healthCheckAsserts")
		}
	}
	var lines []string
	for p, v := range leaves(r) {
		lines = append(lines, p+" "+v)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// ownAnswer is what this module makes of the same recipe, in the same lines.
func ownAnswer(ctx context.Context, renderer *render.Renderer, store *recipe.Store, in *input, dir string) (string, error) {
	at := filepath.Join(*answers, filepath.FromSlash(in.at()))
	if in.Subject["kind"] != "Bundle" {
		s, err := readResolution(at)
		if err != nil {
			return "", err
		}
		query, err := criteriaOf(s.CriteriaLine)
		if err != nil {
			return "", err
		}
		r, err := store.Resolve(query)
		if err != nil {
			return "", err
		}
		text, err := r.YAML()
		if err != nil {
			return "", err
		}
		fields := map[string]any{}
		if err := yaml.Unmarshal(text, &fields); err != nil {
			return "", err
		}
		return resolution(fields), nil
	}
	d, err := deployerOf(in.at())
	if err != nil {
		return "", err
	}
	// A bundle for helm has its recipe in it.
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(at), "helm-dir", "recipe.yaml"))
	if err != nil {
		return "", err
	}
	r, err := recipe.ReadResult("recipe.yaml", raw)
	if err != nil {
		return "", err
	}
	components, err := store.Components(r)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(path.Base(in.at()), "flux-") {
		adjust.Serial(components) // until July the CLI made a chain for Flux
	}
	b, err := d.Bundle(ctx, bundle.Input{Recipe: r, Components: components, Scheduling: julyScheduling(), Unrendered: true, RepoURL: repositoryOfBundle(in.at()), TargetRevision: "0.0.0-answer"})
	if err != nil {
		return "", err
	}
	if err := b.WriteTo(dir, false); err != nil {
		return "", err
	}
	return releases(ctx, renderer, dir, d)
}

// julyScheduling is what the flags of AICR's KWOK tests set when the answers were made.
func julyScheduling() bundle.Scheduling {
	fake := corev1.Toleration{Key: "kwok.x-k8s.io/node", Operator: corev1.TolerationOpEqual, Value: "fake", Effect: corev1.TaintEffectNoSchedule}
	gpu := corev1.Toleration{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpEqual, Value: "present", Effect: corev1.TaintEffectNoSchedule}
	const key = "aicr.nvidia.com/node-type"
	return bundle.Scheduling{SystemNodeSelector: map[string]string{key: "system"}, AcceleratedNodeSelector: map[string]string{key: "accelerated"}, SystemTolerations: []corev1.Toleration{fake}, AcceleratedTolerations: []corev1.Toleration{fake, gpu}}
}

func criteriaOf(line string) (c recipe.Criteria, err error) {
	set := flag.NewFlagSet("criteria", flag.ContinueOnError)
	for i, name := range recipe.CriteriaNames() {
		set.StringVar(c.Fields()[i], name, "", "")
	}
	return c, set.Parse(strings.Fields(line))
}

// deployerOf is ours for a directory DEPLOYER-dir, which controllers find in Git, or DEPLOYER-oci.
func deployerOf(at string) (bundle.Deployer, error) {
	name, how, _ := strings.Cut(strings.Replace(path.Base(at), "argocd-helm", "argocd_helm", 1), "-")
	switch {
	case name == "argocd_helm":
		name = bundle.ArgoCDHelmOCI
	case name != bundle.Helm && name != bundle.Helmfile:
		name += map[string]string{"dir": "-git", "oci": "-oci"}[how]
	}
	all, err := bundle.ByName([]string{name})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

func repositoryOfBundle(at string) string {
	switch name := path.Base(at); {
	case strings.HasPrefix(name, "helm"):
		return ""
	case strings.HasSuffix(name, "-dir") && !strings.HasPrefix(name, "argocd-helm"):
		return "http://127.0.0.1:3300/aicr/bundle.git"
	}
	return "oci://127.0.0.1:5599/aicr/bundle"
}

// releases is a line a value of each release of the bundle in a directory, and the objects of charts that are in it.
func releases(ctx context.Context, renderer *render.Renderer, dir string, d bundle.Deployer) (string, error) {
	b, err := intake.Open(ctx, dir, d)
	if err != nil {
		return "", err
	}
	components, given := b.Components()
	var lines []string
	for i, c := range components {
		add := func(key string, value any) { lines = append(lines, fmt.Sprintf("%s %s %v", c.Name, key, value)) }
		add("comes as", i)
		add("namespace", c.Namespace)
		if strings.HasPrefix(d.Name(), "flux-") { // other forms have an order
			add("needs", c.DependencyRefs)
		}
		g, local := given[c.Name]
		if !local || g.Chart == nil {
			values := leaves(map[string]any{"values": c.Values})
			for _, p := range slices.Sorted(maps.Keys(values)) {
				add("value "+p, values[p])
			}
			// A version of Helm's is the same with v and without.
			add("chart", strings.TrimPrefix(strings.TrimSuffix(c.Source, "/"), "oci://")+"/"+path.Base(c.Chart)+" "+strings.TrimPrefix(c.Version, "v"))
			continue
		}
		in := c.Values
		if !g.Whole {
			under := g.Under
			if under == "" {
				under = c.Name
			}
			in = map[string]any{under: c.Values}
		}
		r, err := rendering.Release(ctx, renderer, render.Request{Chart: g.Chart, Values: in, Name: c.Name, Namespace: c.Namespace, KubeVersion: kubeVersion, APIVersions: chartutil.DefaultVersionSet}, false)
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		for _, object := range r.Objects {
			fields := leaves(object.Object)
			for _, p := range slices.Sorted(maps.Keys(fields)) {
				add("object "+object.GetKind()+" "+object.GetName()+p, fields[p])
			}
		}
	}
	return strings.Join(lines, "\n"), nil
}
