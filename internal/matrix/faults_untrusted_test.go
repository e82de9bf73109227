package matrix

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit"
)

// attackMarker is a file that an attack would write.
func attackMarker(attack string) string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("aicr-action-attack-%d-%s", os.Getpid(), attack))
}

func notWritten(t *testing.T, marker string) {
	t.Helper()
	if raw, err := os.ReadFile(marker); err == nil {
		_ = os.Remove(marker)
		t.Errorf("the attack wrote %s:\n%s", marker, raw)
	}
}

// kustomizeDirectories are kustomizations that a recipe can include as manifest files: with a
// remote base, a generator that is a program, a chart to download.
func kustomizeDirectories(address, marker string) []bundle.File {
	return []bundle.File{
		{Path: "evil-remote/kustomization.yaml", Mode: 0o644, Content: []byte("resources: [\"http://" + address + "/remote.yaml\"]\n")},
		{Path: "evil-exec/kustomization.yaml", Mode: 0o644, Content: []byte("generators: [generator.yaml]\n")},
		{Path: "evil-exec/generator.yaml", Mode: 0o644, Content: []byte("apiVersion: example.com/v1\nkind: Evil\nmetadata:\n  name: evil\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: ./evil.sh}\n")},
		{Path: "evil-exec/evil.sh", Mode: 0o755, Content: []byte("#!/bin/sh\n/usr/bin/env > " + marker + "\n")},
		{Path: "evil-charts/kustomization.yaml", Mode: 0o644, Content: []byte("helmCharts: [{name: x, repo: \"http://" + address + "/charts\", version: 1.0.0, releaseName: x}]\n")},
	}
}

var evilDirectories = []string{"evil-remote", "evil-exec", "evil-charts"}

// argoKustomize adds an Application for each of the directories to the bundle. The source is in the
// registry, as the policy requires.
func argoKustomize(address, marker string) func(*bundle.Bundle) error {
	return func(b *bundle.Bundle) error {
		i := slices.IndexFunc(b.Files, func(f bundle.File) bool { return f.Path == "c/application.yaml" })
		if i < 0 {
			return errors.New("the bundle has no c/application.yaml any more: fix this test")
		}
		for _, dir := range evilDirectories {
			text := strings.NewReplacer("  name: c\n", "  name: "+dir+"\n", "path: c/chart", "path: "+dir).Replace(string(b.Files[i].Content))
			text = regexp.MustCompile(`    helm:\n      releaseName: c\n`).ReplaceAllString(text, "    kustomize: {}\n")
			b.Files = append(b.Files, bundle.File{Path: dir + "/application.yaml", Mode: 0o644, Content: []byte(text)})
		}
		b.Files = append(b.Files, kustomizeDirectories(address, marker)...)
		return nil
	}
}

// fluxKustomize adds a Kustomization for each of the directories to what the root applies.
func fluxKustomize(address, marker string) func(*bundle.Bundle) error {
	return func(b *bundle.Bundle) error {
		var all strings.Builder
		for _, dir := range evilDirectories {
			fmt.Fprintf(&all, "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: %s, namespace: flux-system}\n"+
				"spec: {interval: 1m, prune: true, path: ./%[1]s, sourceRef: {kind: OCIRepository, name: aicr-bundle}}\n", dir)
		}
		b.Files = append(b.Files, bundle.File{Path: "evil.yaml", Mode: 0o644, Content: []byte(all.String())})
		b.Files = append(b.Files, kustomizeDirectories(address, marker)...)
		return replaceIn("kustomization.yaml", "- a/helmrelease.yaml\n", "- a/helmrelease.yaml\n- evil.yaml\n")(b)
	}
}

// kustomizeReaches seeds the directories without these protections: what is left must stop them.
func kustomizeReaches(name, through string, without embedded.Protections, attack func(address, marker string) func(*bundle.Bundle) error, want outcomeWanted) seed {
	address, dialled := aListener()
	marker := attackMarker("kustomize-" + through)
	s := seed{name: name, lanes: []string{through}, sync: 40 * time.Second, runner: unprotected(without), bundle: attack(address, marker), want: want}
	s.want.check = func(t *testing.T, _ result.Result) {
		t.Helper()
		notWritten(t, marker)
		select {
		case text := <-dialled:
			t.Errorf("the address that the recipe names was dialled: %q", text)
		default:
		}
	}
	return s
}

// unpacksOutside puts an artifact in the place of the bundle that has one more entry, or two, which
// would write the marker.
func unpacksOutside(entries ...tar.Header) func(context.Context, *lane.Env) error {
	return func(ctx context.Context, env *lane.Env) error {
		ref, err := name.NewTag(env.Registry.PushHost()+"/aicr/tiny:"+env.Input.TargetRevision, name.Insecure)
		if err != nil {
			return err
		}
		img, err := remote.Image(ref, remote.WithContext(ctx))
		if err != nil {
			return err
		}
		layers, err := img.Layers()
		if err != nil {
			return err
		}
		mediaType, err := layers[0].MediaType()
		if err != nil {
			return err
		}
		packed, err := withEntries(layers[0], entries)
		if err != nil {
			return err
		}
		changed, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), mutate.Addendum{Layer: static.NewLayer(packed, mediaType), MediaType: mediaType})
		if err != nil {
			return err
		}
		return remote.Write(ref, changed, remote.WithContext(ctx))
	}
}

// withEntries is a layer's archive with more entries. Those that are files have the content
// "written".
func withEntries(layer v1.Layer, entries []tar.Header) ([]byte, error) {
	unpacked, err := layer.Uncompressed()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w, r := tar.NewWriter(zipped), tar.NewReader(unpacked)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = w.WriteHeader(h)
		}
		if err == nil {
			_, err = io.Copy(w, r)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, h := range entries {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content = "written"
		}
		h.Mode, h.Size = 0o755, int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, content); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), zipped.Close(), unpacked.Close())
	return out.Bytes(), err
}

// outside injects such an artifact without the sandbox: the controller that unpacks it must reject
// it.
func outside(through, marker string, want outcomeWanted, entries ...tar.Header) seed {
	want.check = func(t *testing.T, _ result.Result) { t.Helper(); notWritten(t, marker) }
	return seed{lanes: []string{through}, sync: 40 * time.Second, runner: unprotected(embedded.Protections{Sandbox: true}), published: unpacksOutside(entries...), want: want}
}

// untrustedFaults are the rows of the suite for the other attacks of docs/security.md. Most are rejected
// before a cluster exists, so that a unit test can show it.
func untrustedFaults() []fault {
	byDots, byLink := attackMarker("dots"), attackMarker("link")
	return []fault{
		{
			id: "F54", what: "a Kustomize remote base, a generator that is a program, and a chart that Kustomize is to fetch, delivered by a recipe",
			verdict: "nothing is dialled or started. Argo CD: Kustomize is off, which needs neither policy nor sandbox. Flux: rejected by policy, and stopped by the sandbox alone",
			seeds: []seed{
				kustomizeReaches("", bundle.ArgoCDOCI, embedded.Protections{Policy: true, Sandbox: true}, argoKustomize, red(reason.DeployFailed, "Application argocd/evil-charts: unexpected")),
				kustomizeReaches("policy alone", bundle.FluxOCI, protections["policy alone"], fluxKustomize, red(reason.DeployFailed, "Kustomization flux-system/evil-", "would make Flux build another directory")),
				kustomizeReaches("sandbox alone", bundle.FluxOCI, protections["sandbox alone"], fluxKustomize, red(reason.DeployFailed, "Kustomization flux-system/evil-charts: unexpected")),
			},
			tests: []string{"internal/infra/gitops TestArgoCDObjects_OnlyHelmFromRegistry"},
		},
		{
			id: "F55", what: "an artifact that unpacks outside of its directory", verdict: "nothing is written outside, without the sandbox too; Argo CD refuses it, Flux leaves links out, and the artifact is not the one that was pushed; what the harness itself unpacks or packs has no such names",
			seeds: []seed{
				outside(bundle.ArgoCDOCI, byDots, red(reason.DeployFailed, "Application nvidia-stack: ComparisonError: ", "path escapes from parent"), tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("../", 40) + strings.TrimPrefix(byDots, "/")}),
				outside(bundle.FluxOCI, byLink, red(reason.DeployFailed, "OCIRepository flux-system/aicr-bundle: fetched revision: want "), tar.Header{Typeflag: tar.TypeSymlink, Name: "link", Linkname: os.TempDir()}, tar.Header{Typeflag: tar.TypeReg, Name: "link/" + filepath.Base(byLink)}),
			},
			tests: []string{"internal/infra/stack TestInstall_InvalidArchive", "internal/infra/clusterstate TestReadFile_Untrusted", "internal/charts/archive TestArchive", "internal/bundle/publish TestPack_PathTraversal"},
		},
		{
			id: "F56", what: "a chart with a link or a .. that leaves its directory or archive; a link in a recipe", verdict: "rejected before a cluster exists, with the file's name",
			tests: []string{"internal/charts/catalog TestLinks_OutsideDirectory", "internal/charts/archive TestArchive", "internal/recipe TestOpen_SymbolicLink", "internal/matrix/discover TestCharts_Links"},
		},
		{
			id: "F57", what: "a chart's template, a values schema, a health check, or a template of a probe, a workflow or a KWOK stage that reads files, variables, names, addresses or Secrets", verdict: "exit 2 before any cluster, with file and line, if it calls what is not in the list of functions; otherwise finds nothing: all are evaluated by a process without files, network and environment",
			tests: []string{"internal/charts/render TestTemplates_NoFilesNoVariables", "internal/charts/render TestSchemas_NoFilesNoNetwork", "internal/verify/chainsaw TestParse_Attacks", "internal/verify/chainsaw TestFill_ExpressionFromExpression", "internal/verify/chainsaw TestEvaluation_NoVariables", "internal/verify/chainsaw TestIdentity_ReadOnly", "internal/matrix TestPlan_HealthChecks", "internal/util/texttemplate TestExecute_NoFilesNoNetwork", "internal/workflow TestTemplates_Untrusted", "internal/verify/probe TestParseRefuses", "internal/infra/simulate TestOperatorStages_Invalid", "internal/infra/embedded TestEmbeddedCluster", "internal/util/confined TestNoEnvironment", "internal/util/confined TestNoFilesNoNetwork"},
		},
		{
			id: "F58", what: "a template that never ends, makes ten million objects or takes all memory", verdict: "BUNDLE_FAILED with file and line, before there is a cluster; limits of time, memory and text",
			tests: []string{"internal/charts/render TestLimits", "internal/charts/render TestCancelled", "internal/bundle TestChart_TooManyObjects", "internal/util/texttemplate TestLimits", "internal/verify/chainsaw TestEvaluation_Messages"},
		},
		{
			id: "F59", what: "a recipe, component, chart or namespace whose name is a path; a post-render", verdict: "exit 2 before any cluster, with file and line",
			tests: []string{"internal/recipe TestOpenInvalid", "internal/charts/catalog TestChartName_IsPath", "internal/command/cli TestOpening"},
		},
		{
			id: "F60", what: "texts of a recipe, chart or controller that are commands to the CI runner, Markdown or HTML", verdict: "text in every log, annotation and report",
			tests: []string{"internal/command/cli TestInert", "internal/command/cli TestInert_JSON", "internal/command/cli TestInert_Markup", "internal/report TestMarkdown_UntrustedText", "internal/report TestAnnotations_UntrustedText", "internal/report TestHTML", "internal/matrix TestSummary_UntrustedText", "test/action TestHostileFileNames"},
		},
		{
			id: "F61", what: "files of a gigabyte: recipes, charts, results, settings", verdict: "refused by their size before they are read, with name and limit",
			tests: []string{"internal/util/filesys TestHugeFile", "internal/recipe TestOpen_InvalidFiles", "internal/charts/catalog TestChart_TooLarge", "internal/report TestReadLarge", "internal/infra/clusterstate TestReadFile_Untrusted"},
		},
		{
			id: "F62", what: "a YAML text whose aliases stand for gigabytes, in recipes, charts and what charts render", verdict: "refused with its line before it is made larger",
			tests: []string{"internal/util/yamlx TestCheck", "internal/recipe TestOpen_InvalidFiles", "internal/verify/chainsaw TestParseAliases", "internal/charts/archive TestArchive", "internal/bundle TestRender_AliasBomb"},
		},
		{
			id: "F63", what: "archives that unpack to gigabytes: charts in charts, a Helm release in a Secret", verdict: "refused at a limit while they are unpacked",
			tests: []string{"internal/charts/archive TestArchive", "internal/charts/archive TestMetadata", "internal/matrix/lane TestStorage_LargeRelease", "internal/infra/clusterstate TestRedact_ReleaseBomb"},
		},
		{
			id: "F65", what: "a Kustomize component's patch that takes its tolerations away", verdict: "exit 1 in every lane, the patch and the kustomization named with file and line; without the patch it passes",
			seeds: []seed{
				{name: "as it is", nightly: append(families[:3:3], otherLanes...), recipe: kustomizeComponent(), want: outcomeWanted{check: func(t *testing.T, r result.Result) {
					t.Helper()
					testkit.WantText(t, "warnings", strings.Join(r.Warnings, "\n"), "k: patch ", "components/k/nothing.yaml:1 changes nothing")
				}}},
				{name: "patched", lanes: []string{bundle.Helm}, nightly: append([]string{bundle.ArgoCDOCI, bundle.FluxOCI}, otherLanes...), recipe: kustomizeComponent("untolerate.yaml"), want: red(reason.SchedulingFailed, "Deployment k/my-web (k): 0/6 nodes are available").
					and("tolerations: set in ", "components/k/base/web.yaml:12, a file of the kustomization ", "components/k/prod/kustomization.yaml", "changed by the patch in ", "components/k/untolerate.yaml:1")},
			},
			tests: []string{"internal/charts/render TestPatches", "internal/bundle TestPlaces", "internal/matrix/why TestProvenance_Kustomize", "internal/bundle TestKustomize_EveryDeployer"},
		},
		{
			id: "F66", what: "a Kustomize component with a remote base, a plugin, a chart, a link, a .., variables of this machine, or no end; a source elsewhere that was not allowed",
			verdict: "exit 2 before any cluster, with file and line; what was built all the same would find no file, network, program or variable; limits of time, memory and text",
			tests: []string{"internal/recipe/kustomization TestWalk_Invalid", "internal/recipe/kustomization TestWalk_Limits", "internal/recipe TestKustomizationRefused", "internal/recipe TestKustomizationLinks", "internal/recipe TestKustomizeSources",
				"internal/charts/render TestBuild_NoFilesNoNetwork", "internal/charts/render TestBuildLimits"},
		},
		{
			id: "F80", what: "a template that is harmless when the bundle is rendered, and never ends or takes all memory when it is installed: it asks lookup",
			verdict: "fails with the limit named, once it is reached; the run goes on to its results, and no process is left. Helm's process has limits of CPU time, memory and text, the repo-server and Flux's controllers one of memory",
			seeds: []seed{
				{name: "endless", lanes: []string{bundle.Helm}, recipe: onceInstalled(`{{ range until 100000 }}{{ range until 100000 }}{{ $x := sha256sum "x" }}{{ end }}{{ end }}`),
					want: red(reason.DeployFailed, "Release a: install chart a 1.0.0: rendering it takes more than 20s of CPU time when it is installed")},
				{name: "growing", lanes: []string{bundle.FluxOCI}, recipe: onceInstalled("{{ $x := until 1000000000 }}"),
					want: red(reason.DeployFailed, "helm-controller ended unexpectedly").and("it went over its limit of 2560 MiB of memory")},
			},
			tests: []string{"internal/matrix/lane/helminstall TestInstall_HostileTemplate", "internal/matrix/lane/helminstall TestInstall_CellEnds", "internal/matrix/lane/helminstall TestInstall_HarnessKilled",
				"internal/matrix TestLane_StopHangs", "internal/infra/host TestMemoryLimit"},
		},
	}
}

// onceInstalled adds a template that does something only where there is a cluster.
func onceInstalled(template string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.only("a")
		r.part("a").add("hostile.yaml", `{{ if and .Release.IsInstall (lookup "v1" "Namespace" "" "kube-system") }}`+template+"{{ end }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: harmless}\n")
	}
}

// kustomizeComponent adds a component, k, of type Kustomize to the recipe, with these patches
// beside one that is for nothing. Its pods are for system nodes.
func kustomizeComponent(patches ...string) func(*tinyRecipe) {
	return func(r *tinyRecipe) {
		r.components = append(r.components, &tinyComponent{name: "k", after: []string{"a"}, patches: append(patches, "nothing.yaml"), kustomize: map[string]string{
			"prod/kustomization.yaml": "namePrefix: my-\nresources: [../base]\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: add, path: /spec/template/spec/nodeSelector, value: {" + bundle.NodeTypeLabel + ": system}}\n" +
				"configMapGenerator:\n- {name: settings, literals: ['alert={{ $labels.node }}']}\n",
			"base/kustomization.yaml": "resources: [web.yaml]\n",
			"base/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n" +
				"      volumes: [{name: settings, configMap: {name: settings}}]\n      containers:\n      - {name: main, image: \"example.com/web:1\", volumeMounts: [{name: settings, mountPath: /s}]}\n      tolerations:\n      - {key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}\n",
			"untolerate.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      tolerations: null\n",
			"nothing.yaml":    "target: {kind: StatefulSet}\npatch: |-\n  - {op: remove, path: /spec}\n",
		}})
	}
}
