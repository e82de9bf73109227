// Package platform has what several commands ask for where their cells and workflows run: the
// platforms and their flags, what this machine has room for, and the stages and programs that a
// cluster is made with.
package platform

import (
	"strings"

	"github.com/nvidia/aicr-action/internal/command/cli"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/embedded"
	"github.com/nvidia/aicr-action/internal/infra/kind"
)

// Platform is a value of --platform.
type Platform struct {
	Name string
	// of says what its clusters are made of.
	of     string
	Limits infra.Limits
}

// All are the values of --platform, the default first. This is the only place where a name
// stands for a platform: whatever else differs between them is asked of a platform's limits
// (archtest holds this).
func All() [2]Platform {
	return [...]Platform{
		{embedded.Name, "processes of this machine", embedded.Limits()},
		{kind.Name, "containers in Docker", kind.Limits()},
	}
}

// Default is that of a command without --platform.
func Default() Platform { return All()[0] }

// platformNamed finds the platform with a name, which may be empty for the default.
func platformNamed(name string) (Platform, error) {
	if name == "" {
		return Default(), nil
	}
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Platform{}, cli.Usagef("--platform %q: want %s", name, platformsWith(func(p Platform) string { return p.Name }))
}

// platformsWith lists a text for each platform: "this or that".
func platformsWith(text func(Platform) string) string {
	var all []string
	for _, p := range All() {
		if t := text(p); t != "" {
			all = append(all, t)
		}
	}
	return strings.Join(all, " or ")
}

// For is what a command has for a platform: one value for each of platforms.
func For[T any](p Platform, onEmbedded, onKind T) T {
	if p.Name == kind.Name {
		return onKind
	}
	return onEmbedded
}

// Help is the end of the help of --platform.
func Help() string {
	return platformsWith(func(p Platform) string { return p.Name + " (" + p.of + ")" })
}

// Wanted is a feature that a flag asks for. Given: the user gave the flag, as Text says.
type Wanted struct {
	Given   bool
	Feature infra.Feature
	Text    string
}

// Refuse returns a usage error if the platform lacks one of these features. reused: all cells run in
// one cluster.
func (p Platform) Refuse(reused bool, all ...Wanted) error {
	for _, w := range all {
		if !w.Given {
			continue
		}
		if why, lacks := p.Limits.LacksReused[w.Feature]; lacks && reused {
			return cli.Usagef("%s does not work with --reuse-cluster: %s", w.Text, why)
		}
		why, lacks := p.Limits.Lacks[w.Feature]
		switch {
		case !lacks:
		case p.Name == Default().Name: // perhaps without --platform
			return cli.Usagef("%s needs --platform %s: %s", w.Text, platformsWith(func(other Platform) string {
				if _, lacks := other.Limits.Lacks[w.Feature]; lacks {
					return ""
				}
				return other.Name
			}), why)
		default:
			return cli.Usagef("%s does not work with --platform %s: %s", w.Text, p.Name, why)
		}
	}
	return nil
}
