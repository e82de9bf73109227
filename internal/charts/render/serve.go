package render

import (
	"bufio"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/nvidia/aicr-action/internal/charts/kustomize"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

func init() {
	text := os.Getenv(env)
	if text == "" {
		return
	}
	said := os.Stderr
	if err := serve(text, os.Stdin, os.Stdout); err != nil {
		_, _ = fmt.Fprintln(said, err) // the exit code says it too
		os.Exit(1)
	}
	os.Exit(0)
}

// serve renders what it is asked for until there is nothing more to read.
func serve(text string, in io.Reader, out io.Writer) error {
	Register()
	var limits Limits
	if err := json.Unmarshal([]byte(text), &limits); err != nil {
		return fmt.Errorf("read the limits: %w", err)
	}
	// A terminal's interrupt is for the program that started this one, which then ends it.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if err := sandbox.Restrict(sandbox.Profile{}); err != nil {
		return fmt.Errorf("give up rights: %w", err)
	}
	debug.SetMemoryLimit(int64(limits.Memory) / 4 * 3) // the collector becomes eager before the limit is reached
	w := NewWatch(limits)
	if err := Silence(); err != nil {
		return err
	}
	go w.Run()
	decoder := gob.NewDecoder(bufio.NewReader(in))
	to := bufio.NewWriter(out)
	encoder := gob.NewEncoder(to)
	for {
		var req wireRequest
		if err := decoder.Decode(&req); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		w.Begin()
		answer := respond(req, limits)
		w.End()
		if err := encoder.Encode(answer); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
		if err := to.Flush(); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}

// Silence drops what Helm and Kustomize tell whoever runs them at a terminal: there may be any
// amount of it, and what ended this process must not be lost behind it.
func Silence() error {
	log.SetOutput(io.Discard)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("drop warnings: %w", err)
	}
	os.Stderr = null
	return nil
}

func respond(req wireRequest, limits Limits) wireAnswer {
	if req.Kustomization != nil {
		return built(*req.Kustomization, limits)
	}
	rel, err := template(req)
	if err != nil {
		return wireAnswer{Err: err.Error()}
	}
	answer := wireAnswer{Manifest: rel.Manifest}
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

func built(in kustomize.Input, limits Limits) wireAnswer {
	out, err := kustomize.Build(in)
	if err != nil {
		return wireAnswer{Err: err.Error()}
	}
	var texts []string
	for _, o := range out.Objects {
		texts = append(texts, o.YAML)
	}
	if over := limits.Over("it makes", texts); over != "" {
		return wireAnswer{Limit: over}
	}
	return wireAnswer{Built: out}
}

// Over says which limit the text of a release goes over, if it does; made is the beginning of the
// sentence.
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
func template(req wireRequest) (*helmrelease.Release, error) {
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = req.APIVersions
	if req.KubeVersion != "" {
		kv, err := chartutil.ParseKubeVersion(req.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("read the Kubernetes version %q: %w", req.KubeVersion, err)
		}
		capabilities.KubeVersion = *kv
	}
	inst := action.NewInstall(&action.Configuration{
		Log: func(string, ...any) {}, Capabilities: capabilities, KubeClient: &kubefake.PrintingKubeClient{Out: io.Discard}, Releases: storage.Init(driver.NewMemory()),
	})
	inst.DryRun, inst.Replace = true, true
	inst.ReleaseName, inst.Namespace = req.Name, req.Namespace
	values := asMap(decodeValue(req.Values))
	if values == nil {
		values = map[string]any{}
	}
	return inst.Run(req.Chart.Chart(), values)
}
