// Package charts gets charts from where recipes say that they come from: it downloads them from
// HTTP and OCI repositories, keeps them by digest, and holds them against a lock file. It also
// joins chart sources to a list. It knows repositories, logins and archives. It must not know
// clusters, lanes, or how a loaded chart is used.
package charts

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/nvidia/aicr-action/internal/charts/catalog"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// Pin is a chart that a component of a recipe names, and the place that does.
type Pin struct {
	catalog.Ref
	Declared recipe.Origin
	// Ranges: a version may be a range, as in files that are no recipes.
	Ranges bool
}

// Pins are the charts of a recipe's components, in their order. A component without a chart of its
// own has none.
func Pins(components []recipe.Component) []Pin {
	var pins []Pin
	for i := range components {
		if c := &components[i]; c.Chart != "" {
			pins = append(pins, Pin{Ref: catalog.RefOf(c), Declared: c.Declared})
		}
	}
	return pins
}

// at is an error about the place that declares the pin, with the reason USAGE.
func (p Pin) at(format string, args ...any) error {
	err := fmt.Errorf("component %s: "+format, append([]any{p.Component}, args...)...)
	if p.Declared.File != "" {
		err = &recipe.FileError{File: p.Declared.File, Line: p.Declared.Line, Err: err}
	}
	return reason.Wrap(reason.Usage, err)
}

// check refuses what no chart can be downloaded by.
func (p Pin) check() error {
	if err := checkName(p.Name); err != nil {
		return p.at("%w", err)
	}
	if err := checkRepository(p.Repository); err != nil {
		return p.at("chart %s: %w", p.Name, err)
	}
	if _, err := semver.NewVersion(p.Version); p.Version != "" && err != nil {
		return p.at("chart %s: version %q names no single version, so it cannot be pinned: write one such as 1.2.3", p.Name, p.Version)
	}
	return nil
}

// A chart's name becomes a file's name and part of an OCI reference.
var chartName = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9_.]{0,127}$`)

func checkName(name string) error {
	if !chartName.MatchString(name) {
		return fmt.Errorf("chart name %q: want letters, digits, dashes, dots and underscores", name)
	}
	return nil
}

// An address becomes part of files that deployers and the API server read.
var addressForm = regexp.MustCompile(`^[-A-Za-z0-9:/._~%?=&@+,\[\]]+$`)

// checkRepository refuses addresses that are not those of a chart repository. One with a password
// would end up in lock files and logs.
func checkRepository(repository string) error {
	u, err := url.Parse(repository)
	switch {
	case repository == "":
		return fmt.Errorf("no chart repository is given (source)")
	case err != nil:
		return fmt.Errorf("chart repository: %w", err)
	case u.User != nil:
		return fmt.Errorf("chart repository %s: the address has a user name or password in it; remove it, and log in with `helm repo add NAME URL --username USER` or `helm registry login`", u.Redacted())
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "oci":
		return fmt.Errorf("chart repository %q: want an address that begins with https://, http:// or oci://", repository)
	case !addressForm.MatchString(repository):
		return fmt.Errorf("chart repository %q has characters that no address of a repository has", repository)
	case u.Host == "":
		return fmt.Errorf("chart repository %q has no host", repository)
	}
	return nil
}

// sameRepository compares addresses as Helm does.
func sameRepository(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

// versionText is a version for people.
func versionText(version string) string {
	if version == "" {
		return "(newest version)"
	}
	return version
}
