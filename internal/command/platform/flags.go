package platform

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/kind"
	"github.com/nvidia/aicr-action/internal/infra/podrun"
	"github.com/nvidia/aicr-action/internal/infra/programs"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// Flags choose where cells run.
type Flags struct {
	Cluster string // the name of the platform
	Images  string
	Reuse   bool
	// programs are IMAGE=FILE each; Table is what Check makes of them.
	programs []string
	Table    []infra.Program
	// Operators says which operators run; Mode is what Check makes of it.
	Operators string
	Mode      programs.Mode
	// Kubernetes is the minor version of the control plane; empty for the stack's own.
	Kubernetes string
	// ArgoCD is the version of Argo CD; empty for the stack's own. Origin has the flags that say where
	// programs come from.
	ArgoCD string
	// Flux is the version of Flux; empty for the stack's own.
	Flux   string
	Origin []string
	On     Platform // which Cluster names; Check finds it
}

// The flags of several commands.
const (
	PlatformFlag   = "platform"
	KubernetesFlag = "kubernetes"
	ArgoCDFlag     = "argocd"
	FluxFlag       = "flux"
	OperatorsFlag  = "operators"
	programFlag    = "program"
)

// The variables of Kind clusters; the flag goes before its variable.
const (
	nodeImageVariable = "AICR_ACTION_KIND_NODE_IMAGE"
	imagesVariable    = "AICR_ACTION_KIND_IMAGES"
)

// Register adds the flags of a run.
func (f *Flags) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Cluster, PlatformFlag, Default().Name, "where cells run: "+Help())
	cli.OldName(cmd, "cluster", PlatformFlag)
	cmd.Flags().StringArrayVar(&f.programs, programFlag, nil, "`IMAGE[=FILE]`: run the executable FILE, or what the image itself has, for pods with this image, instead of simulating them; an image alone is pulled (repeatable; docs/how-it-works.md, Pods that run)")
	cmd.Flags().StringVar(&f.Operators, OperatorsFlag, string(programs.Simulated), "operators of the recipe: simulated; auto, which runs those that can as processes, compiled when they are not in the cache; real, where an operator that has a program but cannot run is an error (docs/how-it-works.md, Operators that run)")
	cmd.Flags().StringVar(&f.Kubernetes, KubernetesFlag, "", "run the control plane of another `minor` version, e.g. 1.34, compiled at first use, or of another release of one, e.g. 1.34.2, out of its makers' images; floor is the lowest that each recipe's constraint allows, newest the highest that there is (default: the stack's)")
	cmd.Flags().StringVar(&f.ArgoCD, ArgoCDFlag, "", "run this `version` of Argo CD, e.g. v3.5.2, out of its makers' image, which nothing pins (default: the stack's)")
	cmd.Flags().StringVar(&f.Flux, FluxFlag, "", "run the controllers of this `version` of Flux, e.g. v2.8.2, out of their makers' images, which nothing pins; Flux's Go module says which these are (default: the stack's)")
	f.RegisterImages(cmd)
	cmd.Flags().BoolVar(&f.Reuse, "reuse-cluster", false, "with --platform kind: run all cells in the one cluster that KWOK_CLUSTER names, one after another. It is created if it does not exist, reset before each cell, and kept")
}

// RegisterImages adds the flag of the images for Kind.
func (f *Flags) RegisterImages(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Images, "kind-images", "", "with --platform kind: `file` that matrix images save wrote; no image is pulled then ("+imagesVariable+")")
}

// Rerun are the flags of a command that runs a cell again.
func (f *Flags) Rerun() []string {
	var parts []string
	if f.Cluster != "" && f.Cluster != Default().Name {
		parts = append(parts, "--"+PlatformFlag, f.Cluster)
	}
	for _, p := range f.programs {
		parts = append(parts, "--"+programFlag, p)
	}
	if f.Mode != "" && f.Mode != programs.Simulated {
		parts = append(parts, "--"+OperatorsFlag, string(f.Mode))
	}
	if f.Kubernetes != "" {
		parts = append(parts, "--"+KubernetesFlag, f.Kubernetes)
	}
	if f.ArgoCD != "" {
		parts = append(parts, "--"+ArgoCDFlag, f.ArgoCD)
	}
	if f.Flux != "" {
		parts = append(parts, "--"+FluxFlag, f.Flux)
	}
	parts = append(parts, f.Origin...)
	if f.Images != "" {
		parts = append(parts, "--kind-images", f.Images)
	}
	return parts
}

// Check finds the platform that the flags name, and refuses what it cannot do: what these flags ask
// for, and what others of the command do.
func (f *Flags) Check(others ...Wanted) error {
	var given []infra.Program
	for _, text := range f.programs {
		image, file, isFile := strings.Cut(text, "=") // an image has no such sign
		if isFile {
			given = append(given, infra.Program{Image: image, Path: file})
			continue
		}
		for _, named := range namesOf(image) {
			given = append(given, infra.Program{Image: named, Unpacked: &infra.Unpacked{}}) // pull fills it in
		}
	}
	var err error
	if f.Table, err = podrun.CheckPrograms(given); err != nil {
		return cli.Usagef("--%s: %w", programFlag, err)
	}
	if f.Mode, err = programs.ParseMode(f.Operators); err != nil {
		return cli.Usagef("--%s %w", OperatorsFlag, err)
	}
	if f.On, err = platformNamed(f.Cluster); err != nil {
		return err
	}
	return f.On.Refuse(f.Reuse, append([]Wanted{
		{len(f.programs) > 0, infra.Programs, "--" + programFlag},
		{f.Mode != programs.Simulated, infra.Programs, "--" + OperatorsFlag + " " + string(f.Mode)},
		{f.Kubernetes != "", infra.OtherKubernetes, "--" + KubernetesFlag},
		{f.ArgoCD != "", infra.OtherArgoCD, "--" + ArgoCDFlag},
		{f.Flux != "", infra.OtherFlux, "--" + FluxFlag},
		{f.Images != "", infra.ImageArchive, "--kind-images"},
		{f.Reuse, infra.ReusedCluster, "--reuse-cluster"},
	}, others...)...)
}

// namesOf are the texts by which pods may name an image that is given with tag and digest: with both,
// and with the tag alone.
func namesOf(image string) []string {
	before, _, pinned := strings.Cut(image, "@")
	if pinned && strings.Contains(before[strings.LastIndex(before, "/")+1:], ":") {
		return []string{image, before}
	}
	return []string{image}
}

// Pull gets the images that are to run by themselves. Reasons: USAGE, IMAGE_MISSING.
func (f *Flags) Pull(ctx context.Context, a *cli.App) error {
	store := &podrun.RootFSStore{Dir: a.Paths.Images(), Progress: a.Progress}
	for _, text := range f.programs {
		image, _, file := strings.Cut(text, "=")
		if _, err := reference.ParseNormalizedNamed(image); err != nil { // as a kubelet reads it
			return cli.Usagef("--%s %q: this is no name of an image: %w", programFlag, image, err)
		}
		if file {
			continue
		}
		if err := sandbox.CanRoot(); err != nil {
			return cli.Usagef("--%s %s: %w; give the program as a file: --%s %s=FILE", programFlag, text, err, programFlag, text)
		}
		got, err := store.Get(ctx, text)
		if err != nil {
			return reason.New(reason.ImageMissing, "--%s: %w", programFlag, err)
		}
		for i := range f.Table {
			if slices.Contains(namesOf(text), f.Table[i].Image) && f.Table[i].Unpacked != nil {
				f.Table[i].Unpacked = got
			}
		}
	}
	return nil
}

// CanRunOn rejects operators that run beside another control plane than the stack's.
func (f *Flags) CanRunOn(own, chosen *stack.Stack) error {
	if chosen == own || f.Mode == programs.Simulated {
		return nil
	}
	minor := strings.TrimPrefix(semver.MajorMinor(chosen.KubeVersion()), "v")
	return cli.Usagef("--%s %s does not work with --%s %s: only the stack's own API server can be told which webhooks it calls", KubernetesFlag, minor, OperatorsFlag, f.Mode)
}

// Kind is the platform kind, without what only a run needs. Nothing is started.
func Kind(a *cli.App, archive string) (*kind.Platform, error) {
	p := &kind.Platform{
		Paths: a.Paths, Ports: a.Ports, Engine: kind.NewEngine(a.Getenv), Version: a.Stack.KubeVersion(), Progress: a.Progress,
		NodeImage: cli.FirstOf(a.Getenv(nodeImageVariable), a.Settings.Kind.NodeImage), RegistryImage: a.Settings.Kind.RegistryImage,
		Archive: cli.FirstOf(archive, a.Getenv(imagesVariable)),
	}
	for field, value := range map[string]string{"kind.nodeImage": p.NodeImage, "kind.registryImage": p.RegistryImage} {
		if value == "" || strings.HasPrefix(value, "-") || strings.ContainsAny(value, " \t\n") { // it becomes an argument of docker
			return nil, reason.New(reason.SettingsInvalid, "the settings' field %s is %q: want the name of an image", field, value)
		}
	}
	if p.Archive != "" {
		if _, err := os.Stat(p.Archive); err != nil {
			return nil, cli.Usagef("--kind-images: %w", err)
		}
	}
	return p, nil
}
