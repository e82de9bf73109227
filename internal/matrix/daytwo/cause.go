package daytwo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/compare"
)

// unsteady are what a template may use so that it renders something else the next time.
var (
	actionText = regexp.MustCompile(`\{\{[^{}]*\}\}`)
	unsteady   = regexp.MustCompile(`\b(rand(AlphaNum|Alpha|Numeric|Ascii|Bytes|Int)|shuffle|uuidv4|gen(CA|PrivateKey|SelfSignedCert|SignedCert)(WithKey)?|bcrypt|htpasswd|encryptAES|now|lookup)\b|\.Release\.(Revision|IsUpgrade|IsInstall)\b`)
)

// mostCauses is how many templates are named.
const mostCauses = 5

// causes names, for the releases of the changes, what their templates use so that they render
// something else each time, and otherwise what that shows.
func causes(b *bundle.Bundle, changes []compare.Change, generated map[string]map[string]bool) []string {
	var lines []string
	var told []string // releases
	for _, c := range changes {
		release := releaseOf(b, c.Object)
		if release == "" || slices.Contains(told, release) {
			continue
		}
		told = append(told, release)
		i := slices.IndexFunc(b.Installs, func(in bundle.Install) bool { return in.Release.Name == release })
		if i < 0 || b.Installs[i].Chart == nil {
			continue
		}
		prefer := ""
		if o := driftRendered(b, c.Object); o != nil {
			prefer = o.Template
		}
		uses := usesOf(&b.Installs[i], prefer)
		for _, use := range uses[:min(len(uses), mostCauses)] {
			lines = append(lines, "likely cause: "+use)
		}
	}
	switch {
	case len(generated) > 0:
		lines = append(lines, "Two renderings of the same charts differ. Set the value in the recipe, or take it from a Secret that the chart does not make.")
	case len(lines) == 0:
		if lines = served(b, told); len(lines) > 0 {
			return lines
		}
		lines = append(lines, "Two renderings of the same charts are equal: look for a second owner, a mutation, or a default that the deployer does not know.")
	}
	return lines
}

// asksServed is what a template asks about the kinds that the API server serves.
var asksServed = regexp.MustCompile(`\.Capabilities\.APIVersions\b`)

// served names the templates of these releases that ask what the API server serves: the first delivery of
// definitions changes that.
func served(b *bundle.Bundle, releases []string) (lines []string) {
	for i := range b.Installs {
		if in := &b.Installs[i]; in.Chart != nil && slices.Contains(releases, in.Release.Name) {
			templatesOf(in, func(name string, t *chart.File) {
				text := string(t.Data)
				if at := asksServed.FindStringIndex(text); at != nil && len(lines) < mostCauses {
					lines = append(lines, fmt.Sprintf("likely cause: %s:%d uses .Capabilities.APIVersions, and the first delivery has brought definitions, so that the API server serves more kinds", name, 1+strings.Count(text[:at[0]], "\n")))
				}
			})
		}
	}
	return lines
}

// IsUnsteady reports whether a template of the bundle may render something else the next time.
func IsUnsteady(b *bundle.Bundle) bool {
	return slices.ContainsFunc(b.Installs, func(in bundle.Install) bool { return in.Chart != nil && len(usesOf(&in, "")) > 0 })
}

// usesOf lists the lines of a chart's templates that may render something else the next time: those
// of one template if it has any, and else those of all.
func usesOf(in *bundle.Install, prefer string) []string {
	var all, own []string
	templatesOf(in, func(name string, t *chart.File) {
		for _, use := range usesIn(string(t.Data)) {
			line := fmt.Sprintf("%s:%d uses %s", name, use.line, use.what)
			if all = append(all, line); name == prefer {
				own = append(own, line)
			}
		}
	})
	if len(own) > 0 {
		return own
	}
	return all
}

// templatesOf visits the templates of a chart and its dependencies, each under the name that a person
// knows.
func templatesOf(in *bundle.Install, see func(name string, t *chart.File)) {
	var visit func(ch *chart.Chart, path string)
	visit = func(ch *chart.Chart, path string) {
		for _, t := range ch.Templates {
			name := path + "/" + t.Name
			if m := in.Sources[name]; m != nil {
				name = m.File
			}
			see(name, t)
		}
		for _, d := range ch.Dependencies() {
			visit(d, path+"/charts/"+d.Name())
		}
	}
	visit(in.Chart, in.Chart.Name())
}

type use struct {
	line int
	what string
}

// usesIn finds them in the actions of a template, without comments.
func usesIn(text string) []use {
	var found []use
	for _, at := range actionText.FindAllStringIndex(text, -1) {
		action := text[at[0]:at[1]]
		if strings.HasPrefix(strings.TrimLeft(action, "{- "), "/*") {
			continue
		}
		words := unsteady.FindAllString(action, -1)
		if order := orderOf(action); order != "" {
			words = append(words, order)
		}
		for _, word := range words {
			one := use{1 + strings.Count(text[:at[0]], "\n"), word}
			if !slices.Contains(found, one) {
				found = append(found, one)
			}
		}
	}
	return found
}
