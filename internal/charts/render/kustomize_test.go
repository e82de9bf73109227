package render

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// kustomization is a kustomization with one file, resources.yaml, beside it.
func kustomization(text, resources string) KustomizationInput {
	return KustomizationInput{Dir: "app", Files: map[string][]byte{"app/kustomization.yaml": []byte(text), "app/resources.yaml": []byte(resources)}}
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// What the process builds is what Kustomize builds in this one, and charts render before and after
// it.
func TestBuild_InProcess(t *testing.T) {
	r := newRenderer(t, Limits{})
	in := kustomization("resources: [resources.yaml]\nnamePrefix: p-\n", configMap)
	in.Patches = []string{`{"patch": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b: c}\n"}`}
	for range 2 {
		if got := rendered(t, r, oneTemplate("a: 1")); !strings.Contains(got, "a: 1") {
			t.Errorf("the chart renders as %q", got)
		}
		got, err := r.Build(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		want, err := buildKustomization(in)
		if err != nil || !reflect.DeepEqual(got, want) || !strings.Contains(got.Objects[0].YAML, "name: p-a") {
			t.Errorf("got %+v, want %+v, %v", got, want, err)
		}
	}
	if _, err := r.Build(t.Context(), kustomization("resource: []\n", "")); err == nil || !strings.Contains(err.Error(), "unknown field") {
		t.Errorf("got %v", err)
	}
}

// A kustomization that doubles on each level, or makes very much, ends soon with its cause, and the
// next one is built.
func TestBuildLimits(t *testing.T) {
	// Only the rows that may end by time have little of it: a machine may be slow, and the race
	// detector is.
	limits := Limits{Time: 2 * time.Minute, Memory: 300 << 20, Text: 1 << 20, Values: 50_000, Documents: 100}
	patient := newRenderer(t, limits)
	limits.Time = 3 * time.Second
	hasty := newRenderer(t, limits)
	doubling := KustomizationInput{Dir: "d25", Files: map[string][]byte{"d0/kustomization.yaml": []byte("resources: [r.yaml]\n"), "d0/r.yaml": []byte(configMap)}}
	for i := range 25 {
		for _, side := range []string{"a", "b"} {
			doubling.Files[fmt.Sprintf("d%d%s/kustomization.yaml", i+1, side)] = fmt.Appendf(nil, "nameSuffix: %s\nresources: [../d%d]\n", side, i)
		}
		doubling.Files[fmt.Sprintf("d%d/kustomization.yaml", i+1)] = fmt.Appendf(nil, "resources: [../d%da, ../d%[1]db]\n", i+1)
	}
	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, "---\n"+strings.Replace(configMap, "name: a", "name: a%d", 1), i)
	}
	deprecated := kustomization("bases: [../b]\n", "") // each of them says at a terminal what is deprecated
	for i := range 2000 {
		deprecated.Files[fmt.Sprintf("b%d/kustomization.yaml", i)] = []byte("commonLabels: {a: b}\nresources: [r.yaml]\n")
		deprecated.Files[fmt.Sprintf("b%d/r.yaml", i)] = []byte(strings.Replace(configMap, "name: a", fmt.Sprintf("name: a%d", i), 1))
		deprecated.Files["app/kustomization.yaml"] = append(deprecated.Files["app/kustomization.yaml"], fmt.Sprintf("- ../b%d\n", i)...)
	}
	deprecated.Files["app/kustomization.yaml"] = append([]byte("resources:\n"), strings.TrimPrefix(string(deprecated.Files["app/kustomization.yaml"]), "bases: [../b]\n")...)
	for name, c := range map[string]struct {
		in   KustomizationInput
		want string
	}{
		"a base that doubles": {doubling, "rendering it takes "},
		"many objects":        {kustomization("resources: [resources.yaml]\n", many.String()), "it makes 200 objects; the limit is 100; no kustomization needs that"},
		"much text":           {kustomization("resources: [resources.yaml]\n", configMap+"data: {a: "+strings.Repeat("x", 2<<20)+"}\n"), "it makes 2 MiB of text; the limit is 1 MiB"},
		"many values":         {kustomization("resources: [resources.yaml]\n", configMap+"list: ["+strings.Repeat("x,", 60_000)+"]\n"), "values; the limit is 50000"},
		"many warnings":       {deprecated, "; no kustomization needs that"},
	} {
		r := patient
		if c.want == "rendering it takes " || name == "many warnings" {
			r = hasty
		}
		start := time.Now()
		_, err := r.Build(t.Context(), c.in)
		var limit *LimitError
		if !errors.As(err, &limit) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
		if took := time.Since(start); r == hasty && took > 30*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
		if _, err := patient.Build(t.Context(), kustomization("resources: [resources.yaml]\n", configMap)); err != nil {
			t.Errorf("%s: the next one: %v", name, err)
		}
	}
}

// Package source rejects such kustomizations before a build. Without it they would fail too: the
// process reads no file, dials no address, starts no program, and has no variable.
func TestBuild_NoFilesNoNetwork(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("a secret of the runner"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AICR_TEST_TOKEN", "a secret of the runner")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dialled := make(chan bool, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dialled <- true
			_ = c.Close()
		}
	}()
	address := "http://" + l.Addr().String()
	evil := "apiVersion: example.com/v1\nkind: Evil\nmetadata:\n  name: e\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: /bin/touch " + marker + "}\n"
	for name, in := range map[string]KustomizationInput{
		"a program":     kustomization("generators: [resources.yaml]\n", evil),
		"a transformer": kustomization("resources: [r.yaml]\ntransformers: [resources.yaml]\n", evil),
		"a file":        kustomization("configMapGenerator: [{name: a, files: ["+secret+"]}]\n", ""),
		"a chart":       kustomization("helmCharts: [{name: x, repo: '"+address+"', version: 1.0.0}]\n", ""),
		"a remote file": kustomization("resources: ['"+address+"/x.yaml']\n", ""),
		"a repository":  kustomization("resources: ['git::"+address+"/x.git']\n", ""),
	} {
		if strings.Contains(name, "remote") && !strings.Contains(sandbox.Support(), "TCP") {
			continue // nothing keeps the process from dialling; package source has refused it before
		}
		in.Files["app/r.yaml"] = []byte(configMap)
		if out, err := newRenderer(t, Limits{}).Build(t.Context(), in); err == nil || strings.Contains(err.Error(), "a secret") {
			t.Errorf("%s: got %+v, %v", name, out, err)
		}
	}
	in := kustomization("configMapGenerator: [{name: a, envs: [v.env]}]\n", "")
	in.Files["app/v.env"] = []byte("AICR_TEST_TOKEN\n")
	if out, err := newRenderer(t, Limits{}).Build(t.Context(), in); err == nil && strings.Contains(out.Objects[0].YAML, "a secret") {
		t.Errorf("a variable of this process: %s", out.Objects[0].YAML)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the recipe's program was started")
	}
	if strings.Contains(sandbox.Support(), "TCP") && len(dialled) > 0 {
		t.Error("the address of the recipe was dialled")
	}
}

func TestBuildCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newRenderer(t, Limits{}).Build(ctx, kustomization("", "")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
