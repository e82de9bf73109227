package matrix

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/charts/archive"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

var (
	// families are one lane of each kind of deployer: Helm, Argo CD and Flux.
	families = []string{bundle.Helm, bundle.ArgoCDOCI, bundle.FluxOCI}
	// otherLanes are the rest of the table, for rows that must hold in every lane, new ones too.
	otherLanes = lanesBeside(families)
)

// lanesBeside are the lanes of the table but these. argocd-appset is left out: it delivers the
// same Applications as argocd-oci, which are judged by the same code. So is helmfile, which is not
// part of the stack: TestNightlyHelmfile and TestNightlyHelmfileFails compile it.
func lanesBeside(these []string) []string {
	var all []string
	for _, row := range laneTable() {
		if row.Name != bundle.ArgoCDAppSet && row.Name != bundle.Helmfile && !slices.Contains(these, row.Name) {
			all = append(all, row.Name)
		}
	}
	return all
}

// replaceIn changes a text in a file of the bundle; it must be there.
func replaceIn(file, from, to string) func(*bundle.Bundle) error {
	return func(b *bundle.Bundle) error {
		for i, f := range b.Files {
			if f.Path != file {
				continue
			}
			if !strings.Contains(string(f.Content), from) {
				return fmt.Errorf("%s of the %s bundle has no %q any more: fix this test\n%s", file, b.Deployer, from, f.Content)
			}
			b.Files[i].Content = []byte(strings.ReplaceAll(string(f.Content), from, to))
			return nil
		}
		return fmt.Errorf("the %s bundle has no file %s any more: fix this test", b.Deployer, file)
	}
}

// add puts one more file into the bundle, which no rendering has seen.
func add(file, content string) func(*bundle.Bundle) error {
	return func(b *bundle.Bundle) error {
		b.Files = append(b.Files, bundle.File{Path: file, Mode: 0o644, Content: []byte(content)})
		return nil
	}
}

// without leaves a file out of the bundle.
func without(file string) func(*bundle.Bundle) error {
	return func(b *bundle.Bundle) error {
		for i, f := range b.Files {
			if f.Path == file {
				b.Files = append(b.Files[:i:i], b.Files[i+1:]...)
				return nil
			}
		}
		return fmt.Errorf("the %s bundle has no file %s any more: fix this test", b.Deployer, file)
	}
}

// notPushed leaves a chart out of what is pushed to the registry.
func notPushed(chartName string) func(*bundle.Bundle) error {
	return func(b *bundle.Bundle) error {
		var kept []*chart.Chart
		for _, ch := range b.Charts {
			if ch.Name() != chartName {
				kept = append(kept, ch)
			}
		}
		if len(kept) == len(b.Charts) {
			return fmt.Errorf("the %s bundle has no chart %s any more: fix this test", b.Deployer, chartName)
		}
		b.Charts = kept
		return nil
	}
}

// wrongMediaType pushes something that is no chart under a chart's name and version.
func wrongMediaType(repository, tag string) func(context.Context, *lane.Env) error {
	return func(ctx context.Context, env *lane.Env) error {
		layer := static.NewLayer([]byte("not a chart"), types.MediaType("application/octet-stream"))
		img, err := mutate.Append(empty.Image, mutate.Addendum{Layer: layer})
		if err != nil {
			return err
		}
		ref, err := name.NewTag(env.Registry.PushHost()+"/"+repository+":"+cmp.Or(tag, env.Input.TargetRevision), name.Insecure)
		if err != nil {
			return err
		}
		return remote.Write(ref, img, remote.WithContext(ctx))
	}
}

// taggedLatest pushes chart b under a tag that is no version.
func taggedLatest(ctx context.Context, env *lane.Env) error {
	for _, in := range env.Bundle.Installs {
		if in.Release.Chart != "b" {
			continue
		}
		img := archive.Clone(in.Chart)
		img.Raw = nil
		img.Metadata.Version = "1.0.0"
		_, err := publish.PushChart(ctx, img, "oci://"+env.Registry.PushHost()+"/elsewhere", publish.Own())
		if err != nil {
			return err
		}
		from, err := name.NewTag(env.Registry.PushHost()+"/elsewhere/b:1.0.0", name.Insecure)
		if err != nil {
			return err
		}
		pushed, err := remote.Image(from, remote.WithContext(ctx))
		if err != nil {
			return err
		}
		to, err := name.NewTag(env.Registry.PushHost()+"/charts/b:latest", name.Insecure)
		if err != nil {
			return err
		}
		return remote.Write(to, pushed, remote.WithContext(ctx))
	}
	return fmt.Errorf("no release of chart b")
}

// send sends a signal to a process of the cell.
func send(env *lane.Env, process string, s syscall.Signal) error {
	pid := pidOf(env, process)
	if pid == 0 {
		return fmt.Errorf("%s does not run", process)
	}
	return syscall.Kill(pid, s)
}

// pidOf is the process of a component on the embedded platform; 0 if it does not run.
func pidOf(env *lane.Env, component string) int {
	return env.Cluster.(interface{ PID(string) int }).PID(component)
}

// kill ends a process of the cell behind the harness's back.
func kill(process string) func(context.Context, *lane.Env) error {
	return func(_ context.Context, env *lane.Env) error { return send(env, process, syscall.SIGKILL) }
}

// Stages for single faults: a pod that is bound and stays Pending, and a Job's pod that runs for
// ever.
var (
	neverRuns      = stays("never-runs", "Pending", "waiting for its image")
	neverCompletes = stays("never-completes", "Running", "still at it")
)

// stays is a KWOK stage that wins over the default ones: a pod with the label stays in a phase.
func stays(label, phase, message string) string {
	return fmt.Sprintf(`
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: faults-%[1]s}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {faults: %[1]s}
    matchExpressions: [{key: .status.phase, operator: In, values: [%[2]s]}]
  weight: 1000
  next: {statusTemplate: "phase: %[2]s\nmessage: %[3]s"}
`, label, phase, message)
}

// Charts for single faults.
const (
	widget = `apiVersion: faults.example.com/v1
kind: Widget
metadata: {name: {{ .Release.Name }}}
spec: {size: 1}
`
	// waitingWidget says of itself that it is not ready: Flux waits for it.
	waitingWidget = widget + `status: {conditions: [{type: Ready, status: "False", reason: Working, message: nobody reconciles it}]}
`

	certificate = `apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: {{ .Release.Name }}}
spec: {secretName: tls, issuerRef: {group: issuers.example.com, kind: Authority, name: ca}, dnsNames: [example.com]}
`
	sharedObject = `apiVersion: v1
kind: ConfigMap
metadata: {name: shared, namespace: default}
data: {owner: {{ .Release.Name }}}
`
)

//go:embed testdata/objects/job_template.yaml
var jobTemplate string

//go:embed testdata/objects/refused_template.yaml
var refusedTemplate string

//go:embed testdata/objects/widget_crd.yaml
var widgetCRD string

//go:embed testdata/objects/webhook_template.yaml
var webhookTemplate string

//go:embed testdata/objects/api_service_template.yaml
var apiServiceTemplate string

//go:embed testdata/objects/claim_template.yaml
var claimTemplate string

//go:embed testdata/objects/certificate_crd.yaml
var certificateCRD string
