package scripts

// helmcommand.go reads a command of Helm that installs a release. It knows Helm's flags, and
// refuses those that may change what is installed in a way that is not followed here. It must not know
// bundles and their files.

import (
	"fmt"
	"slices"
	"strings"
)

// HelmInstall is a command that installs a release.
type HelmInstall struct {
	Name, Chart, Namespace, Version, Repo string
	Files                                 []string // of values, the last one wins
}

// HelmArguments are those of helm upgrade --install and helm install, behind the verb; nil if the command is
// another one, or lacks them.
func HelmArguments(words []string) []string {
	switch {
	case len(words) > 4 && slices.Equal(words[:3], []string{"helm", "upgrade", "--install"}):
		return words[3:]
	case len(words) > 3 && slices.Equal(words[:2], []string{"helm", "install"}):
		return words[2:]
	}
	return nil
}

// flags are Helm's that a script may have. Those with a value are true; of them, timeout says how long
// to wait, and here nothing waits.
func flags() map[string]bool {
	return map[string]bool{
		"--namespace": true, "-n": true, "--version": true, "--repo": true, "--values": true, "-f": true, "--timeout": true,
		"--create-namespace": false, "--plain-http": false, "--force-conflicts": false, "--wait": false, "--wait-for-jobs": false, "--install": false,
	}
}

// ReadHelmInstall reads NAME CHART and flags.
func ReadHelmInstall(args []string) (HelmInstall, error) {
	var in HelmInstall
	var positional []string
	known := flags()
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") {
			positional = append(positional, arg)
			continue
		}
		name, value, attached := strings.Cut(arg, "=")
		valued, ok := known[name]
		if !ok {
			return in, fmt.Errorf("helm flag %s is not understood, and may change what is installed", name)
		}
		if !valued {
			continue
		}
		if !attached {
			if i++; i == len(args) {
				return in, fmt.Errorf("helm flag %s has no value", name)
			}
			value = args[i]
		}
		switch name {
		case "--namespace", "-n":
			in.Namespace = value
		case "--version":
			in.Version = value
		case "--repo":
			in.Repo = value
		case "--values", "-f":
			in.Files = append(in.Files, value)
		}
	}
	if len(positional) == 2 && positional[1] == "" {
		return in, fmt.Errorf("release %s has no chart: what names it in the script is empty, since upstream.env is missing or sets it in a way that is not read", positional[0])
	}
	if len(positional) != 2 {
		return in, fmt.Errorf("want the name of a release and a chart, got %q", positional)
	}
	in.Name, in.Chart = positional[0], positional[1]
	return in, nil
}

// HelmCommandAside reports whether a word of a command is a flag, or the value of one, that does not change what it installs.
func HelmCommandAside(words []string, at int) bool {
	if at > 0 && slices.Contains([]string{"--kube-context", "--kubeconfig", "--timeout"}, words[at-1]) {
		return true
	}
	return at < len(words) && strings.Contains(words[at], "=") && !ChangesCluster(words[at:at+1])
}

// ChangesCluster reports whether words that a command may have besides change what it installs: all but flags
// that say which cluster it is for, how conflicts of fields are decided, or what is waited for.
func ChangesCluster(words []string) bool {
	for i := 0; i < len(words); i++ {
		switch name, _, attached := strings.Cut(words[i], "="); name {
		case "", "--force-conflicts", "--wait", "--wait-for-jobs", "--create-namespace":
		case "--kube-context", "--kubeconfig", "--timeout":
			if !attached {
				i++
			}
		default:
			return true
		}
	}
	return false
}
