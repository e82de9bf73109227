package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	appdir "github.com/nvidia/aicr-action/internal/intake/app"
	"github.com/nvidia/aicr-action/internal/matrix"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// existingFlags say what a cluster has before anything is delivered.
type existingFlags struct {
	with []string
	file string
	init bool // write a first file
	// cluster is what the file says; nil without one.
	cluster *appdir.ClusterFile
}

func (f *existingFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.with, "with", nil, "create what is at this `path` first, without judging it: manifests, a kustomization or a chart, or the name of a recipe (repeatable)")
	cmd.Flags().BoolVar(&f.init, "init", false, "with --app: run nothing, and write a first cluster file of what is missing (cluster.yaml, or that of --cluster-file)")
	cmd.Flags().StringVar(&f.file, "cluster-file", "", "`file` (YAML) of what the cluster has besides: labels and annotations of Argo CD's Secret for it, variables of Flux, Secrets and ConfigMaps, where files of other Git repositories are, counts of nodes")
}

// read reads the cluster file, unless it is to be written.
func (f *existingFlags) read() (err error) {
	if f.file != "" && !f.init {
		f.cluster, err = appdir.ReadClusterFile(f.file)
	}
	return reason.Wrap(reason.Usage, err)
}

// existingServes reports whether the cluster has something that gives Services of type LoadBalancer their addresses.
func existingServes(existing []matrix.Existing) bool {
	return slices.ContainsFunc(existing, func(e matrix.Existing) bool { return slices.ContainsFunc(e.Objects, simulate.ServesLoadBalancers) })
}

// firstFile is where --init writes without --cluster-file.
const firstFile = "cluster.yaml"

// initCluster writes a first cluster file of what an app needs and its repository does not have.
func (a *app) initCluster(ctx context.Context, f runFlags) error {
	if f.bundles.found == nil {
		return cli.Usagef("--init writes what an app needs of its cluster: pass its path with --app")
	}
	file := cli.FirstOf(f.bundles.existing.file, firstFile)
	found := f.bundles.found
	found.Namespace, found.Environment, found.Select = f.bundles.namespace, f.bundles.environment, f.bundles.selects
	d, err := bundle.ByName([]string{found.Deployer})
	if err != nil {
		return err
	}
	missing, err := found.Missing(ctx, d[0])
	if err != nil {
		return reason.Wrap(reason.Usage, err)
	}
	if missing.Empty() {
		_, err := fmt.Fprintf(a.Stderr, "%s needs nothing that its repository does not have: no file was written\n", f.bundles.app)
		return err
	}
	text, err := missing.Encode()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = to.Write(text)
		err = errors.Join(err, to.Close())
	}
	if errors.Is(err, fs.ErrExist) {
		return cli.Usagef("--init: %s exists already: remove it, or name another one with --cluster-file", file)
	}
	if err != nil {
		return reason.Wrap(reason.Usage, err)
	}
	_, err = fmt.Fprintf(a.Stderr, "wrote %s: fill it in, and run with --cluster-file %s\n", file, file)
	return err
}

// rerun are the flags that give a cell the same cluster again.
func (f existingFlags) rerun() []string {
	var parts []string
	for _, at := range f.with {
		parts = append(parts, "--with", at)
	}
	if f.file != "" {
		parts = append(parts, "--cluster-file", f.file)
	}
	return parts
}

// openExisting opens what the flags name, and gives the nodes the counts that the file has. The inputs have the charts
// and recipes of the run.
func (a *app) openExisting(ctx context.Context, f runFlags, in *runInputs) error {
	given := f.bundles.existing
	for _, at := range given.with {
		objects, err := a.with(ctx, at, f, in)
		if err != nil {
			return fmt.Errorf("--with %s: %w", at, err)
		}
		e, err := matrix.NewExisting("--with "+at, objects)
		if err != nil {
			return err
		}
		in.Existing = append(in.Existing, e)
	}
	c := given.cluster
	if c == nil {
		return nil
	}
	if objects := c.Objects(); len(objects) > 0 {
		e, err := matrix.NewExisting("--cluster-file "+given.file, objects)
		if err != nil {
			return err
		}
		in.Existing = append(in.Existing, e)
	}
	for i := range in.Nodes {
		if count, ok := c.Nodes[in.Nodes[i].NodeType]; ok {
			in.Nodes[i].Count = count
		}
	}
	return nil
}

// with gives the objects of one --with: those at a path, or those of a recipe. Reason: USAGE.
func (a *app) with(ctx context.Context, at string, f runFlags, in *runInputs) ([]*unstructured.Unstructured, error) {
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return a.withRecipe(ctx, at, f, in)
	}
	found, err := appdir.FindApp(ctx, at, nil)
	if err != nil {
		return nil, reason.Wrap(reason.Usage, err)
	}
	objects, err := found.Objects(ctx)
	return objects, reason.Wrap(reason.Usage, err)
}

// withRecipe gives the objects of a recipe, whole, as its charts render them.
func (a *app) withRecipe(ctx context.Context, name string, f runFlags, in *runInputs) (all []*unstructured.Unstructured, err error) {
	store := in.Store
	if store == nil {
		if store, _, err = a.Recipes(f.recipes); err != nil {
			return nil, reason.Wrap(reason.Usage, err)
		}
	}
	res, err := store.ResolveName(name)
	if err != nil {
		return nil, reason.New(reason.Usage, "no such file or directory, and no such recipe: %w", err)
	}
	components, err := store.Components(res)
	if err != nil {
		return nil, reason.Wrap(reason.Usage, err)
	}
	d, err := bundle.ByName([]string{bundle.HelmTemplate})
	if err != nil {
		return nil, err
	}
	made, err := d[0].Bundle(ctx, bundle.Input{Recipe: res, Components: components, Scheduling: bundle.KwokScheduling(), Charts: in.Charts, KubeVersion: a.Stack.KubeVersion(), APIs: bundle.StackAPIs(), PlainHTTP: true})
	if err != nil {
		return nil, err
	}
	for _, file := range made.Files {
		if !slices.Contains([]string{bundle.TemplateNamespace, bundle.TemplateCRDs, bundle.TemplateManifests}, path.Base(file.Path)) {
			continue
		}
		objects, err := infra.DecodeObjects(file.Content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.Path, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}
