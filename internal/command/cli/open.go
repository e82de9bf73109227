package cli

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nvidia/aicr-action/internal/infra/health"
	"github.com/nvidia/aicr-action/internal/infra/simulate"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
	"github.com/nvidia/aicr-action/kwok"
)

// ProfilesFlag adds --profiles, whose value is for Profiles.
func ProfilesFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "profiles", "", "`directory` of additional KWOKNodeProfiles; one for the same service, nodes and accelerator replaces matrix's own")
}

// NameFlag adds --name, whose value is for ClusterName.
func NameFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "name", "", "`name` of the cluster (default: KWOK_CLUSTER, else the one in .settings.yaml)")
}

// ClusterName is the name of a cluster, or the prefix of a run's: asked for (--name), else
// KWOK_CLUSTER, else the one in .settings.yaml. It becomes part of paths, so that it is checked as
// Kubernetes checks names.
func (a *App) ClusterName(asked string) (string, error) {
	name := FirstOf(asked, a.Getenv("KWOK_CLUSTER"), a.Settings.Cluster.Name)
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", Usagef("cluster name %q: %s", name, strings.Join(problems, "; "))
	}
	return name, nil
}

// RegistryPort follows KWOK_REGISTRY_HOST_PORT; the second result says whether the user asked for
// it.
func (a *App) RegistryPort() (int, bool, error) {
	port, err := a.port("KWOK_REGISTRY_HOST_PORT")
	if err == nil && port == 0 {
		return a.Settings.Registry.HostPort, false, nil
	}
	return port, err == nil, err
}

// GitPort follows KWOK_GITEA_HOST_PORT, 0 if it is not set.
func (a *App) GitPort() (int, error) { return a.port("KWOK_GITEA_HOST_PORT") }

// port is the port that a variable names, 0 if it is not set.
func (a *App) port(variable string) (int, error) {
	text := a.Getenv(variable)
	if text == "" {
		return 0, nil
	}
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 {
		return 0, Usagef("%s=%q: want a port from 1 to 65535", variable, text)
	}
	return port, nil
}

// Profiles are the shipped node profiles, with those of the value of --profiles over them, if it
// has one. Those of an AICR checkout that the recipes are in are added for services and accelerators
// that there are none for. What is wrong with a profile is a usage error, with file and line.
func Profiles(flag, recipesDir string) ([]simulate.Profile, error) {
	all, err := simulate.LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		return nil, err
	}
	if flag != "" {
		info, err := os.Stat(flag)
		if err != nil || !info.IsDir() {
			return nil, Usagef("--profiles %s: not a directory that can be read", flag)
		}
		if all, err = simulate.LayerProfiles(all, os.DirFS(flag), filepath.ToSlash(filepath.Clean(flag))); err != nil {
			return nil, WrapUsage(err)
		}
	}
	if recipesDir == "" {
		return all, nil
	}
	checkout := filepath.Join(recipesDir, "..")
	root, err := os.OpenRoot(checkout) // out of which a link may not lead
	if err != nil {
		return all, nil
	}
	defer func() { _ = root.Close() }()
	const profiles = "kwok/profiles"
	sub, err := fs.Sub(root.FS(), profiles)
	if err != nil {
		return nil, err
	}
	all, err = simulate.AddProfiles(all, sub, path.Join(filepath.ToSlash(checkout), profiles))
	return all, WrapUsage(err)
}

// Stages are the shipped KWOK stages of nodes and pods, as one YAML stream.
func Stages() ([]byte, error) { return simulate.Stages(kwok.Files, "stages") }

// OperatorStages are the shipped stages that simulate operators.
func OperatorStages() ([]simulate.OperatorStage, error) {
	return simulate.LoadOperatorStages(kwok.Files, "stages/operators")
}

// KnownDifferences is the shipped list of what differs between the platforms.
func KnownDifferences() ([]compare.KnownDifference, error) { return knownIn("parity.yaml") }

// KnownOperatorDifferences is the shipped list of what differs between operators and their
// stand-ins.
func KnownOperatorDifferences() ([]compare.KnownDifference, error) {
	return knownIn("parity-operators.yaml")
}

func knownIn(file string) ([]compare.KnownDifference, error) {
	data, err := kwok.Files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return compare.ParseKnown("kwok/"+file, data)
}

// HealthPolicy is the shipped health policy.
func HealthPolicy() (health.Policy, error) {
	data, err := kwok.Files.ReadFile("health.yaml")
	if err != nil {
		return health.Policy{}, err
	}
	return health.Parse("kwok/health.yaml", data)
}
