package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/adjust"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/recipe/document"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/egress"
)

// noCharts is the value of --charts that reads none.
const noCharts = "none"

// ociScheme is in front of a registry's address.
const ociScheme = "oci://"

type bundleFlags struct {
	recipe, kubeconfig, output, deployer string
	repo, revision, chartRepository      string
	charts, set, setJSON, setFile        []string
	dynamic, workloadSelector            []string
	workloadGate, storageClass           string
	sharedStorageClass, evictionLabel    string
	gateImage                            string
	vendorCharts, readinessHooks, serial bool
	split                                bool
	names                                adjust.Names
	config                               configFlag
	scheduling                           cli.SchedulingFlags
	nodes                                int
	force, plainHTTP                     bool
	dirs                                 cli.RecipeDirs
}

func (a *app) bundleCommand() *cobra.Command {
	var f bundleFlags
	cmd := &cobra.Command{
		Use: "bundle", Short: "Write the files by which a deployer deploys a recipe", Args: cobra.NoArgs,
		Long: `Write the files by which a deployer deploys a recipe: Helm values and charts of manifests, the deployer's own objects, scripts, a
README and checksums. The same input gives the same bytes.

The recipe is one that aicr recipe wrote, with the same recipe files: --data must be the same.

Node selectors and tolerations are put at the value paths that the registry names for each component; without these flags a bundle has
what the recipe sets. README.md in the bundle lists everything that was injected.`,
		Example: `  aicr bundle -r recipe.yaml -o ./bundles
  aicr bundle -r recipe.yaml --set gpuoperator:driver.version=580.105.08 --accelerated-node-toleration nvidia.com/gpu=present:NoSchedule -o ./bundles`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.applyConfig(cmd.Context(), cmd, &f.config, aicrConfigBundle); err != nil {
				return err
			}
			return f.config.place(a.bundle(cmd.Context(), f))
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.recipe, "recipe", "r", "", "`address` of the recipe: a file, https://…, cm://NAMESPACE/NAME, or - for standard input (required)")
	flags.StringVarP(&f.output, "output", "o", ".", "`directory` to write to, which must be empty or absent, or oci://HOST/PATH[:TAG] to publish to")
	flags.StringVarP(&f.deployer, "deployer", "d", bundle.Helm, "deployer: one of "+strings.Join(bundle.Names(), ", ")+", or AICR's argocd, argocd-helm, flux, which become the one that suits the address")
	flags.StringArrayVar(&f.set, "set", nil, "`COMPONENT:PATH=VALUE` to set, over what the recipe sets, as helm --set does (repeatable); COMPONENT:enabled=false leaves it out; deployer:KEY=VALUE changes Argo CD's Applications")
	flags.StringArrayVar(&f.setJSON, "set-json", nil, "`COMPONENT:PATH=JSON` to set, over --set and --set-file: a map is merged, anything else replaces (repeatable)")
	flags.StringArrayVar(&f.setFile, "set-file", nil, "`COMPONENT:PATH=FILE` to set to the YAML or JSON value in the file, over --set (repeatable)")
	flags.StringArrayVar(&f.dynamic, "dynamic", nil, "`COMPONENT:PATH` of a value that is filled in where the bundle is installed (repeatable; not for argocd-oci and argocd-appset)")
	flags.StringVar(&f.storageClass, "storage-class", "", "`name` of the StorageClass, for the components that want to know it")
	flags.StringVar(&f.sharedStorageClass, "shared-storage-class", "", "`name` of the StorageClass of shared file systems (ReadWriteMany); --storage-class never stands in for it")
	flags.StringVar(&f.evictionLabel, "dra-eviction-node-label", "", "`KEY=VALUE` of the node label by which the GPU Operator makes the DRA driver leave a node before it replaces the GPU driver")
	flags.StringVar(&f.workloadGate, "workload-gate", "", "`KEY=VALUE:EFFECT` of the taint that nodes have until they are tuned")
	flags.StringArrayVar(&f.workloadSelector, "workload-selector", nil, "`KEY=VALUE` of a pod label: node tuning waits for such pods (repeatable)")
	flags.StringVar(&f.names.App, "app-name", "", "`name` of the root Application of Argo CD (default: nvidia-stack, or aicr-stack of argocd-helm-oci)")
	flags.StringVar(&f.names.FluxNamespace, "flux-namespace", "", "`namespace` of Flux's objects (default: flux-system)")
	flags.StringVar(&f.names.FluxSource, "flux-oci-source-name", "", "`name` of the source that Flux reads the bundle from (default: aicr-bundle)")
	flags.BoolVar(&f.vendorCharts, "vendor-charts", false, "put the charts into the bundle, so that it needs no chart repository (they are read from --charts, or else upstream)")
	flags.BoolVar(&f.readinessHooks, "readiness-hooks", false, "wait after each component that has a readiness.yaml until it is ready (helm and Argo CD)")
	flags.StringVar(&f.gateImage, "gate-image", bundle.ReadinessImage, "`image` that waits, with --readiness-hooks; that of your AICR release is ghcr.io/nvidia/aicr-gate:VERSION")
	flags.BoolVar(&f.serial, "serial", false, "deploy one component after another, in deploymentOrder, where a deployer does several at once")
	flags.BoolVar(&f.split, "split", false, "write two halves, by the class of each component in registry.yaml: core, and ops, which is installed after it (helm, to a directory)")
	f.config.register(cmd)
	f.scheduling.Register(flags)
	flags.IntVar(&f.nodes, "nodes", 0, "number of GPU nodes, for the components that want to know it")
	flags.StringVar(&f.repo, "repo", "", "`address` at which the controllers will find the bundle: oci://, or https:// for one that is pushed to Git (GitOps deployers; default: --output, if that is one)")
	flags.StringVar(&f.revision, "revision", "", "`tag` under which the controllers will find the bundle (default: from its content)")
	flags.StringArrayVar(&f.charts, "charts", []string{noCharts}, "chart `source` for checking that the values render: none, simulated, simulated-any-version, upstream, direct, or a directory; repeat it for a list")
	flags.StringVar(&f.chartRepository, "chart-repository", "", "take every chart from this `oci://` repository instead of its own")
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "use HTTP, not HTTPS, for registries")
	flags.BoolVar(&f.force, "force", false, "write into a directory that is not empty; files of the same name are replaced")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` for cm:// addresses (default: KUBECONFIG, ~/.kube/config, or the pod's own cluster)")
	recipesFlags(cmd, &f.dirs)
	return cmd
}

// deployerFor is the deployer that AICR's own CLI means by a name: there, the addresses say whether
// controllers find the bundle in a registry or in Git.
func deployerFor(name string, addresses ...string) string {
	switch name {
	case "argocd-helm":
		return bundle.ArgoCDHelmOCI
	case "argocd", "flux":
		if slices.ContainsFunc(addresses, func(address string) bool { return strings.HasPrefix(address, ociScheme) }) {
			return name + "-oci"
		}
		return name + "-git"
	}
	return name
}

func (a *app) bundle(ctx context.Context, f bundleFlags) error {
	f.deployer = deployerFor(f.deployer, f.output, f.repo)
	deployer, err := cli.OneDeployer(f.deployer)
	if err != nil {
		return err
	}
	if f.recipe == "" {
		return cli.Usagef("--recipe: name the recipe, e.g. the file that `aicr recipe -o recipe.yaml` writes")
	}
	target, err := f.target()
	if err != nil {
		return err
	}
	if err := f.names.Check(deployer.Name()); err != nil {
		return cli.WrapUsage(err)
	}
	if err := f.checkSplit(deployer.Name(), target.repo != ""); err != nil {
		return err
	}
	in, made, err := a.bundleInput(ctx, &f)
	if err != nil {
		return err
	}
	if target.repo != "" {
		f.repo, f.revision = cli.FirstOf(f.repo, ociScheme+target.repo), cli.FirstOf(f.revision, target.tag)
	}
	in.RepoURL, in.ChartRepository, in.PlainHTTP = f.repo, f.chartRepository, f.plainHTTP
	var b *bundle.Bundle
	if f.split {
		b, in, err = f.splitBundle(ctx, deployer, in, made.classes)
	} else if b, in, err = cli.MakeBundle(ctx, deployer, in, "--repo", cli.FirstOf(f.revision, f.revisionOf(deployer.Name(), in, made))); err == nil {
		err = cli.WrapUsage(f.finish(b, made, in))
	}
	if err != nil {
		return err
	}
	slog.Debug("made the bundle", "deployer", b.Deployer, "releases", len(b.Installs), "files", len(b.Files), "revision", in.TargetRevision)
	where := f.output
	if target.repo != "" {
		published, err := aicrPublish(ctx, b, target, in.TargetRevision, f.plainHTTP)
		if err != nil {
			return reason.Wrap(reason.PublishFailed, err)
		}
		where = published.URL + ":" + published.Tag + "@" + published.Digest
	} else if err := b.WriteTo(f.output, f.force); err != nil {
		return reason.Wrap(reason.Usage, err)
	}
	return a.TellBundle(b, in, where, cli.AsTable)
}

// readCharts opens the chart source for checking, and for charts that become part of the bundle. Neither is the default,
// since the deployer pulls the charts itself.
func (a *app) readCharts(ctx context.Context, f *bundleFlags, in *bundle.Input, p *putIn) error {
	values := cli.ChartValues(f.charts)
	if in.Unrendered = slices.Contains(values, noCharts); in.Unrendered {
		if len(values) > 1 {
			return cli.Usagef("--charts none cannot be one of a list: with it, no chart is read")
		}
		if f.deployer == bundle.HelmTemplate {
			return cli.Usagef("--deployer %s renders the charts: name where they come from, --charts upstream or a directory", bundle.HelmTemplate)
		}
		if f.chartRepository != "" { // there, a version is spelled as the chart spells it, which may not be as the recipe does
			return cli.Usagef("--chart-repository needs the charts' own versions: name where the charts can be read, --charts upstream or a directory")
		}
		if !f.vendorCharts {
			return nil
		}
		values = []string{charts.UpstreamName}
	}
	if f.vendorCharts && (f.chartRepository != "" || f.deployer == bundle.HelmTemplate) {
		return cli.Usagef("--vendor-charts puts the charts into the bundle: it goes neither with --chart-repository nor with --deployer %s, which has them in other ways", bundle.HelmTemplate)
	}
	if err := a.Open(); err != nil { // the cache of charts, and the Kubernetes version that they are rendered for
		return err
	}
	source, err := a.Charts(values, a.inBinary(f.dirs).Recipes)
	if err != nil {
		return err
	}
	if err := a.PullCharts(ctx, source, [][]charts.Pin{charts.Pins(in.Components)}); err != nil {
		return err
	}
	if f.vendorCharts {
		if in.Vendored, p.charts, err = publish.VendorCharts(ctx, in.Components, source); err != nil {
			return err
		}
		in.PutIn = append(in.PutIn, fmt.Sprintf("charts: %d in the bundle, from %s (--vendor-charts)", len(p.charts), source.Name()))
	}
	if !in.Unrendered {
		in.Charts, in.KubeVersion, in.APIs = source, a.Stack.KubeVersion(), bundle.StackAPIs()
	}
	return nil
}

// ociTarget is where a bundle is published; empty for a directory.
type ociTarget struct{ repo, tag string }

func (f *bundleFlags) target() (ociTarget, error) {
	rest, ok := strings.CutPrefix(f.output, ociScheme)
	if !ok {
		if scheme, _, other := strings.Cut(f.output, "://"); other {
			return ociTarget{}, cli.Usagef("--output %s: a bundle cannot be written to %s://; name a directory, or oci://HOST/PATH", f.output, scheme)
		}
		if f.output == "" {
			return ociTarget{}, cli.Usagef("--output is empty: name a directory, or oci://HOST/PATH")
		}
		return ociTarget{}, nil
	}
	t := ociTarget{repo: rest}
	if i := strings.LastIndex(rest, ":"); i > strings.LastIndex(rest, "/") {
		t.repo, t.tag = rest[:i], rest[i+1:]
	}
	if host, path, _ := strings.Cut(t.repo, "/"); host == "" || path == "" || strings.Contains(rest, "@") {
		return t, cli.Usagef("--output %s: want oci://HOST/PATH, with or without :TAG", f.output)
	}
	if t.tag != "" && f.revision != "" && t.tag != f.revision {
		return t, cli.Usagef("--output has the tag %s, and --revision is %s; give one of them", t.tag, f.revision)
	}
	if egress.Loopback(strings.Split(t.repo, "/")[0]) {
		f.plainHTTP = true // as Helm and Docker do
	}
	return t, nil
}

// revisionOf is the tag of a bundle that depends on more than its input says; empty if it does not.
func (f *bundleFlags) revisionOf(deployer string, in bundle.Input, made putIn) string {
	if len(f.dynamic) == 0 && f.names == (adjust.Names{}) && made.argo == (adjust.ArgoOptions{}) && !f.serial && len(made.charts) == 0 {
		return ""
	}
	sum := sha256.Sum256(fmt.Append(nil, bundle.Revision(in), f.dynamic, f.names, made.argo, f.serial, made.charts))
	return bundle.Tag(deployer, hex.EncodeToString(sum[:])[:7])
}

// finish changes the files of a bundle that was made.
func (f *bundleFlags) finish(b *bundle.Bundle, made putIn, in bundle.Input) error {
	if err := made.argo.Apply(b, f.names.Root(b.Deployer)); err != nil {
		return err
	}
	if err := f.names.Apply(b); err != nil {
		return err
	}
	if err := adjust.ApplyDynamic(b, made.dynamic); err != nil {
		return err
	}
	if err := bundle.WaitUntilReady(b, made.gates); err != nil {
		return err
	}
	if err := publish.VendoredProvenance(b, made.charts); err != nil || !document.WithIndex(in.Recipe.APIVersion) {
		return err
	}
	var components []string
	for _, ref := range in.Recipe.ComponentRefs {
		components = append(components, ref.Name)
	}
	return publish.AddBundleInfo(b, publish.BundleInfoSettings{
		AppName: f.names.Root(b.Deployer), RepoURL: in.RepoURL, TargetRevision: in.TargetRevision, StorageClass: f.storageClass, SharedStorageClass: f.sharedStorageClass,
		NodeScheduling: publish.SchedulingOf(made.scheduling), ReadinessHooks: f.readinessHooks, Serial: f.serial, VendorCharts: f.vendorCharts,
	}, cli.BuildOf(released).Version, components)
}

// aicrPublish pushes a bundle: one that is a Helm chart as such, any other as an artifact with one
// layer.
func aicrPublish(ctx context.Context, b *bundle.Bundle, to ociTarget, tag string, plainHTTP bool) (publish.Published, error) {
	if !bundle.IsChart(b.Deployer) {
		return publish.PublishBundle(ctx, b, to.repo+":"+tag, publish.Target{PlainHTTP: plainHTTP})
	}
	wrapper, err := b.Chart("")
	if err != nil {
		return publish.Published{}, err
	}
	repo, ok := strings.CutSuffix(to.repo, "/"+wrapper.Name())
	if !ok {
		return publish.Published{}, cli.Usagef("--output oci://%s: this bundle is the Helm chart %s, so the address has to end in /%s", to.repo, wrapper.Name(), wrapper.Name())
	}
	return publish.PushChart(ctx, wrapper, repo, publish.Target{PlainHTTP: plainHTTP})
}
