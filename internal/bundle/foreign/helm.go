package foreign

import (
	"context"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/foreign/shell"
)

// helmForm is a directory per release, and scripts that install them in order: the lines of one
// deploy.sh, as this program writes it, or an install.sh in each of the directories 001-NAME,
// 002-NAME and so on, as AICR's CLI does. The scripts are read and never run.
type helmForm struct {
	tree *tree
	list []unit
	// besides is what the scripts do that is not run here.
	besides []string
}

func (f *helmForm) units() []unit                      { return f.list }
func (f *helmForm) place(in bundle.Input) bundle.Input { return in }

// fit: nothing of the bundle is published, and its charts and values are what is installed.
func (f *helmForm) fit(_ context.Context, _ bundle.Input, b *bundle.Bundle) error {
	b.Files = f.tree.replaced(nil)
	return nil
}

// clusterValues is the file of a release for values that are filled in where it is installed.
const clusterValues = "cluster-values.yaml"

var numbered = regexp.MustCompile(`^[0-9]{3}-[^/]+/install\.sh$`)

// installScripts are those of AICR's CLI, in order.
func (t *tree) installScripts() []string {
	return slices.DeleteFunc(t.names(), func(name string) bool { return !numbered.MatchString(name) })
}

func readHelm(t *tree) (form, []string, error) {
	f := &helmForm{tree: t}
	scripts := t.installScripts()
	if len(scripts) == 0 {
		if _, ok := t.files["deploy.sh"]; !ok {
			return nil, nil, t.bad("", 0, "not a bundle for the helm lane: it has neither a deploy.sh nor directories 001-NAME with an install.sh")
		}
		scripts = []string{"deploy.sh"}
	}
	for _, script := range scripts {
		if err := f.read(script); err != nil {
			return nil, nil, err
		}
	}
	if len(f.list) == 0 {
		return nil, nil, t.bad("deploy.sh", 0, "no line of it is understood as the installation of a release: want release NAME NAMESPACE CHART [FLAG...], or an install.sh in directories 001-NAME")
	}
	return f, f.besides, nil
}

// read finds the installations of a script. A deploy.sh may also name each release in one line that
// begins with the word release, without a function of that name.
func (f *helmForm) read(script string) error {
	dir := path.Dir(script)
	commands, err := shell.Read(string(f.tree.files[script].Content), func(name string) ([]byte, bool) {
		file, ok := f.tree.files[path.Join(dir, name)]
		return file.Content, ok
	})
	if wrong := (*shell.Error)(nil); errors.As(err, &wrong) {
		return f.tree.bad(script, wrong.Line, "%w", wrong.Err)
	}
	ahead := "" // a script that applies the CRDs of the next release
	for _, c := range commands {
		var args []string
		switch words := c.Words; {
		case script == "deploy.sh" && len(words) > 3 && words[0] == "release":
			args = append([]string{words[1], words[3], "--namespace", words[2]}, words[4:]...)
		case len(words) > 4 && slices.Equal(words[:3], []string{"helm", "upgrade", "--install"}):
			args = words[3:]
		case len(words) > 3 && slices.Equal(words[:2], []string{"helm", "install"}):
			args = words[2:]
		default:
			if name, err := f.crdScript(script, c); err != nil {
				return err
			} else if name != "" {
				ahead = name
			} else if what := c.Changes(); what != "" {
				f.besides = append(f.besides, "bundle: "+f.tree.at(script, c.Line).String()+" has "+what+", and scripts are not run: nothing verifies what it changes")
			}
			continue
		}
		if c.Maybe {
			return f.tree.bad(script, c.Line, "whether this release is installed depends on a condition of the script, which is read and not run")
		}
		for _, d := range c.Doubts {
			if slices.ContainsFunc(d.Others, changesInstallation) {
				return f.tree.bad(script, c.Line, "the value of $%s depends on a condition of the script, which is read and not run", d.Name)
			}
		}
		u, err := f.unit(script, c, args)
		if err != nil {
			return err
		}
		u.crdScript, ahead = ahead, ""
		f.list = append(f.list, u)
	}
	return nil
}

// changesInstallation reports whether words that a command may have besides change what it installs:
// all but flags that say which cluster it is for, how conflicts of fields are decided, or what is
// waited for.
func changesInstallation(words []string) bool {
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

// crdScriptName is the script by which AICR's bundles, since v1.0, apply a chart's CRDs before an
// upgrade, where the registry says ownsCRDs.
const crdScriptName = "apply-crds.sh"

// crdScript is the script that the command runs, if it is one that applies CRDs.
func (f *helmForm) crdScript(script string, c shell.Command) (string, error) {
	if len(c.Words) != 2 || c.Words[0] != "bash" && c.Words[0] != "sh" || path.Base(c.Words[1]) != crdScriptName {
		return "", nil
	}
	return f.tree.crdScript(script, c.Line, path.Join(path.Dir(script), c.Dir), c.Words[1])
}

// crdScript is the name of a script that applies the CRDs of a chart with kubectl. It is not run:
// where a release is upgraded, the harness applies those of the chart's crds/ in its place.
func (t *tree) crdScript(from string, line int, dir, name string) (string, error) {
	full, err := t.inside(from, line, dir, name)
	if err != nil {
		return "", err
	}
	file, ok := t.files[full]
	if !ok {
		return "", t.bad(from, line, "%s is not in the bundle", full)
	}
	if !strings.Contains(string(file.Content), "apply --server-side") {
		return "", t.bad(full, 0, "this script is not understood: want one that applies the CRDs of a chart with kubectl apply --server-side")
	}
	return full, nil
}

// Helm's flags that a script may have. Those with a value are true; of them, timeout says how long
// to wait, and here nothing waits.
func helmFlags() map[string]bool {
	return map[string]bool{
		"--namespace": true, "-n": true, "--version": true, "--repo": true, "--values": true, "-f": true, "--timeout": true,
		"--create-namespace": false, "--plain-http": false, "--force-conflicts": false, "--wait": false, "--wait-for-jobs": false, "--install": false,
	}
}

// unit reads NAME CHART and flags.
func (f *helmForm) unit(script string, c shell.Command, args []string) (unit, error) {
	line := c.Line
	u := unit{at: f.tree.at(script, line), values: valueSet{values: map[string]any{}}}
	var positional, files []string
	flags := helmFlags()
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if !strings.HasPrefix(arg, "-") {
			positional = append(positional, arg)
			continue
		}
		name, value, attached := strings.Cut(arg, "=")
		valued, known := flags[name]
		if !known {
			return u, f.tree.bad(script, line, "helm flag %s is not understood, and may change what is installed", name)
		}
		if !valued {
			continue
		}
		if !attached {
			if i++; i == len(args) {
				return u, f.tree.bad(script, line, "helm flag %s has no value", name)
			}
			value = args[i]
		}
		switch name {
		case "--namespace", "-n":
			u.namespace = value
		case "--version":
			u.version = value
		case "--repo":
			u.repo = value
		case "--values", "-f":
			files = append(files, value)
		}
	}
	if len(positional) == 2 && positional[1] == "" {
		return u, f.tree.bad(script, line, "release %s has no chart: what names it in the script is empty, since upstream.env is missing or sets it in a way that is not read", positional[0])
	}
	if len(positional) != 2 {
		return u, f.tree.bad(script, line, "want the name of a release and a chart, got %q", positional)
	}
	u.name = positional[0]
	return u, f.chartOf(&u, script, c, positional[1], files)
}

// chartOf fills in the chart and the values.
func (f *helmForm) chartOf(u *unit, script string, c shell.Command, ref string, files []string) error {
	u.values.origins = f.tree.noOrigins()
	line, dir := c.Line, path.Join(path.Dir(script), c.Dir)
	switch {
	case strings.HasPrefix(ref, "oci://"):
		i := strings.LastIndex(ref, "/")
		u.repo, u.chart = ref[:i], ref[i+1:]
	case strings.HasPrefix(ref, "."):
		at, err := f.tree.inside(script, line, dir, ref)
		if err != nil {
			return err
		}
		if err := f.tree.localChart(u, at); err != nil {
			return err
		}
	default:
		u.chart = ref
	}
	for _, file := range files {
		name, err := f.tree.inside(script, line, dir, file)
		if err != nil {
			return err
		}
		if u.local != nil && name == path.Join(u.dir, "values.yaml") {
			continue // the chart's own
		}
		values, err := f.tree.valuesFile(script, line, name)
		if err != nil {
			return err
		}
		if path.Base(name) == clusterValues && len(values.values) > 0 {
			f.tree.filledIn(values.whole)
		}
		u.values.over(values)
	}
	if u.local != nil {
		u.local = effective(u.local, u.values.values)
	}
	return nil
}
