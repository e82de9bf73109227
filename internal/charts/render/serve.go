package render

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/nvidia/aicr-action/internal/util/confined"
	"github.com/nvidia/aicr-action/internal/util/reexec"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// Hidden returns the hidden command that a Renderer starts.
func Hidden() []reexec.Command { return []reexec.Command{{Name: command, Run: serve}} }

// serve renders what it is asked for until there is nothing more to read.
func serve(args []string) error {
	Register()
	var limits Limits
	if err := confined.ReadSettings(args, &limits); err != nil {
		return err
	}
	w, err := confined.Confine(sandbox.Profile{}, limits.OfProcess(), Subject)
	if err != nil {
		return err
	}
	return confined.Exchange(w, os.Stdin, os.Stdout, func(req wireRequest) wireAnswer { return respond(req, limits) })
}

var skippedHook = regexp.MustCompile(`skipping unknown hook: ("(?:[^"\\]|\\.)*")`)

func respond(req wireRequest, limits Limits) wireAnswer {
	if req.Kustomization != nil {
		return built(*req.Kustomization, limits)
	}
	var said bytes.Buffer
	log.SetOutput(&said) // Helm's library says only there what it leaves out
	rel, unmatched, err := template(req)
	log.SetOutput(os.Stderr)
	if err != nil {
		return wireAnswer{Err: err.Error()}
	}
	answer := wireAnswer{Manifest: rel.Manifest, Unmatched: unmatched}
	for _, found := range skippedHook.FindAllStringSubmatch(said.String(), -1) {
		if text, err := strconv.Unquote(found[1]); err == nil {
			answer.Skipped = append(answer.Skipped, text)
		}
	}
	texts := []string{rel.Manifest}
	for _, h := range rel.Hooks {
		answer.Hooks = append(answer.Hooks, &helmrelease.Hook{Name: h.Name, Kind: h.Kind, Path: h.Path, Manifest: h.Manifest, Events: h.Events, Weight: h.Weight, DeletePolicies: h.DeletePolicies})
		texts = append(texts, h.Manifest)
	}
	if over := limits.Over("its templates make", texts); over != "" {
		return wireAnswer{Limit: over}
	}
	return answer
}

func built(in KustomizationInput, limits Limits) wireAnswer {
	out, err := buildKustomization(in)
	if err != nil {
		return wireAnswer{Err: err.Error()}
	}
	out.Unmatched = in.unmatched(out.Objects)
	var texts []string
	for _, o := range out.Objects {
		texts = append(texts, o.YAML)
	}
	if over := limits.Over("it makes", texts); over != "" {
		return wireAnswer{Limit: over}
	}
	return wireAnswer{Built: out}
}

// Over says which limit the text of a release exceeds, or returns "". The message begins with made.
func (l Limits) Over(made string, texts []string) string {
	size, values, documents := 0, 0, 0
	for _, text := range texts {
		size += len(text)
		documents += 1 + strings.Count(text, "\n---")
		for i := range len(text) {
			switch text[i] {
			case '\n', ':', ',', '[', '{': // no value of YAML comes without one of these before or behind it
				values++
			}
		}
	}
	switch {
	case size > l.Text:
		return fmt.Sprintf("%s %d MiB of text; the limit is %d MiB", made, size>>20, l.Text>>20)
	case documents > l.Documents:
		return fmt.Sprintf("%s %d objects; the limit is %d", made, documents, l.Documents)
	case values > l.Values:
		return fmt.Sprintf("%s about %d values; the limit is %d", made, values, l.Values)
	}
	return ""
}

// template is a dry run on a client that talks to nothing. Helm's ClientOnly would add APIs of its
// own to those that are given.
func template(req wireRequest) (*helmrelease.Release, []Unmatched, error) {
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = req.APIVersions
	if req.KubeVersion != "" {
		kv, err := chartutil.ParseKubeVersion(req.KubeVersion)
		if err != nil {
			return nil, nil, fmt.Errorf("read the Kubernetes version %q: %w", req.KubeVersion, err)
		}
		capabilities.KubeVersion = *kv
	}
	inst := action.NewInstall(&action.Configuration{
		Log: func(string, ...any) {}, Capabilities: capabilities, KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard}, Releases: storage.Init(driver.NewMemory()),
	})
	inst.DryRun, inst.Replace = true, true
	inst.ReleaseName, inst.Namespace = req.Name, req.Namespace
	c := req.Chart.Chart()
	if err := installable(c); err != nil {
		return nil, nil, err
	}
	values := asMap(decodeValue(req.Values))
	if values == nil {
		values = map[string]any{}
	}
	rel, err := inst.Run(c, values)
	if err != nil || len(req.Post.Steps) == 0 {
		return rel, nil, err
	}
	unmatched, err := postRender(rel, req.Post)
	return rel, unmatched, err
}

// installable is what Helm's CLI checks of a chart before it installs it, and its library does not; and what
// lets a chart change how Argo CD reads it.
func installable(c *chart.Chart) error {
	if c.Metadata == nil {
		return nil
	}
	if kind := c.Metadata.Type; kind != "" && kind != "application" {
		return fmt.Errorf("%s charts are not installable (type in Chart.yaml)", kind)
	}
	if err := action.CheckDependencies(c, c.Metadata.Dependencies); err != nil {
		return fmt.Errorf("%w; Helm and Argo CD do not install such a chart: run helm dependency build", err)
	}
	for _, f := range c.Files {
		if IsArgoSource(f.Name) {
			return fmt.Errorf("the chart has the file %s, which Argo CD merges into the source of each Application that reads the chart, so that it may be another chart there: remove it", f.Name)
		}
	}
	return nil
}
