package foreign

import (
	"context"
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

func readHelm(t *tree) (form, error) {
	f := &helmForm{tree: t}
	scripts := t.installScripts()
	if len(scripts) == 0 {
		if _, ok := t.files["deploy.sh"]; !ok {
			return nil, t.bad("", 0, "not a bundle for the helm lane: it has neither a deploy.sh nor directories 001-NAME with an install.sh")
		}
		scripts = []string{"deploy.sh"}
	}
	for _, script := range scripts {
		if err := f.read(script); err != nil {
			return nil, err
		}
	}
	if len(f.list) == 0 {
		return nil, t.bad("deploy.sh", 0, "no line of it is understood as the installation of a release: want release NAME NAMESPACE CHART [FLAG...], or an install.sh in directories 001-NAME")
	}
	return f, nil
}

// read finds the commands of a script.
func (f *helmForm) read(script string) error {
	vars := f.environment(path.Dir(script))
	line := 0
	for lines := strings.Split(string(f.tree.files[script].Content), "\n"); line < len(lines); {
		first, command := line+1, ""
		for ; line < len(lines); line++ {
			part, more := strings.CutSuffix(lines[line], "\\")
			if command += part + " "; !more {
				line++
				break
			}
		}
		if vars.Assign(command) {
			continue
		}
		words := shell.Words(vars.Expand(command))
		var args []string
		switch {
		case script == "deploy.sh" && len(words) > 3 && words[0] == "release":
			args = append([]string{words[1], words[3], "--namespace", words[2]}, words[4:]...)
		case script != "deploy.sh" && len(words) > 4 && slices.Equal(words[:3], []string{"helm", "upgrade", "--install"}):
			args = words[3:]
		default:
			if err := f.passesOn(script, first, command, words); err != nil {
				return err
			}
			continue
		}
		if name := vars.Uncertain(command); name != "" {
			return f.tree.bad(script, first, "the value of $%s depends on a condition of the script, which is read and not run", name)
		}
		u, err := f.unit(script, first, args)
		if err != nil {
			return err
		}
		f.list = append(f.list, u)
	}
	return nil
}

// passesOn checks the command behind every release of a deploy.sh: a flag there counts for all.
func (f *helmForm) passesOn(script string, line int, command string, words []string) error {
	i := slices.Index(words, "upgrade")
	if i < 1 || words[i-1] != "helm" || strings.HasPrefix(strings.TrimSpace(command), "#") {
		return nil
	}
	for _, w := range words[i:] {
		name, _, _ := strings.Cut(w, "=")
		if _, known := helmFlags()[name]; strings.HasPrefix(name, "-") && !known {
			return f.tree.bad(script, line, "helm flag %s is not understood, and may change what is installed", name)
		}
	}
	return nil
}

// environment returns the variables of upstream.env.
func (f *helmForm) environment(dir string) *shell.Variables {
	vars := shell.New()
	for _, line := range strings.Split(string(f.tree.files[path.Join(dir, "upstream.env")].Content), "\n") {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			vars.Values[key] = []string{strings.Trim(value, `"'`)}
		}
	}
	return vars
}

// Helm's flags that a script may have. Those with a value are true; of them, timeout says how long
// to wait, and here nothing waits.
func helmFlags() map[string]bool {
	return map[string]bool{
		"--namespace": true, "-n": true, "--version": true, "--repo": true, "--values": true, "-f": true, "--timeout": true,
		"--create-namespace": false, "--plain-http": false, "--force-conflicts": false, "--wait": false, "--install": false,
	}
}

// unit reads NAME CHART and flags.
func (f *helmForm) unit(script string, line int, args []string) (unit, error) {
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
	if len(positional) != 2 || positional[1] == "" {
		return u, f.tree.bad(script, line, "want the name of a release and a chart, got %q", positional)
	}
	u.name = positional[0]
	return u, f.chartOf(&u, script, line, positional[1], files)
}

// chartOf fills in the chart and the values.
func (f *helmForm) chartOf(u *unit, script string, line int, ref string, files []string) error {
	u.values.origins = f.tree.noOrigins()
	dir := path.Dir(script)
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
