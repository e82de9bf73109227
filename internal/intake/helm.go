package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/intake/scripts"
)

// helmForm is a directory per release, and scripts that install them in order: the lines of one
// deploy.sh, as this program writes it, or an install.sh in each of the directories 001-NAME,
// 002-NAME and so on, as AICR's CLI does. The scripts are read and never run.
type helmForm struct {
	tree *tree
	dir  string // of a half of a split set, or empty
	list []unit
	// besides is what the scripts do that is not run here.
	besides []string
	// runs is how many releases a deploy.sh has installed when it runs every install.sh; negative before
	// it does.
	runs int
}

// deployScript installs everything.
const deployScript = "deploy.sh"

// repairs are what AICR's deploy.sh may do on a cluster that was used before.
var repairs = []string{"kubectl delete", "kubectl rollout", "kubectl taint"}

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

// installScripts are those of AICR's CLI in a directory, in order.
func (t *tree) installScripts(dir string) []string {
	return slices.DeleteFunc(t.names(), func(name string) bool {
		rest := strings.TrimPrefix(name, dir+"/")
		return path.Join(dir, rest) != name || !numbered.MatchString(rest)
	})
}

func readHelm(t *tree) (form, []string, error) {
	dirs, err := t.halves()
	if err != nil {
		return nil, nil, err
	}
	all := &helmForm{tree: t}
	for _, dir := range dirs {
		half := &helmForm{tree: t, dir: dir}
		if err := half.readAll(); err != nil {
			return nil, nil, err
		}
		for _, u := range half.list {
			u.half = dir
			all.list = append(all.list, u)
		}
		all.besides = append(all.besides, half.besides...)
	}
	return all, all.besides, nil
}

// readAll reads the scripts of a directory.
func (f *helmForm) readAll() error {
	t, deploy := f.tree, path.Join(f.dir, deployScript)
	scripts := t.installScripts(f.dir)
	if len(scripts) == 0 {
		if _, ok := t.files[deploy]; !ok {
			return t.bad(f.dir, 0, "not a bundle for the helm lane: it has neither a deploy.sh nor directories 001-NAME with an install.sh%s", guessNote(t.names()))
		}
		scripts = []string{deploy}
	}
	for _, script := range scripts {
		if err := f.read(script); err != nil {
			return err
		}
	}
	if err := f.more(); err != nil {
		return err
	}
	if len(f.list) == 0 {
		return t.bad(deploy, 0, "no line of it is understood as the installation of a release: want release NAME NAMESPACE CHART [FLAG...], or an install.sh in directories 001-NAME")
	}
	return nil
}

// more reads what a deploy.sh installs by itself, before or behind the releases of every install.sh.
func (f *helmForm) more() error {
	deploy := path.Join(f.dir, deployScript)
	_, ok := f.tree.files[deploy]
	if each := f.tree.installScripts(f.dir); !ok || len(each) == 0 {
		return nil
	}
	installed := f.list
	f.list, f.runs = nil, -1
	if err := f.read(deploy); err != nil {
		return err
	}
	for _, u := range f.list {
		if i := slices.IndexFunc(installed, func(v unit) bool { return v.name == u.name && v.namespace == u.namespace }); i >= 0 {
			return f.tree.bad(deploy, u.at.Line, "release %s is installed twice: %s does it too", u.name, installed[i].at)
		}
	}
	before := max(f.runs, 0)
	f.list = slices.Concat(f.list[:before], installed, f.list[before:])
	return nil
}

// read finds the installations of a script. A deploy.sh may also name each release in one line that
// begins with the word release, without a function of that name.
func (f *helmForm) read(script string) error {
	dir := path.Dir(script)
	commands, err := scripts.Read(string(f.tree.files[script].Content), func(name string) ([]byte, bool) {
		file, ok := f.tree.files[path.Join(dir, name)]
		return file.Content, ok
	})
	deploys := path.Base(script) == deployScript
	beside := deploys && f.runs < 0 // every release has an install.sh of its own
	if wrong := (*scripts.Error)(nil); errors.As(err, &wrong) {
		if beside {
			f.tree.notes = append(f.tree.notes, fmt.Sprintf("%s: %v; what it installs besides every install.sh is not known", f.tree.at(script, wrong.Line), wrong.Err))
			return nil
		}
		return f.tree.bad(script, wrong.Line, "%w", wrong.Err)
	}
	ahead := "" // a script that applies the CRDs of the next release
	for _, c := range commands {
		var args []string
		switch words := c.Words; {
		case deploys && len(words) > 3 && words[0] == "release":
			args = append([]string{words[1], words[3], "--namespace", words[2]}, words[4:]...)
		case scripts.HelmArguments(words) != nil:
			args = scripts.HelmArguments(words)
		default:
			if name, err := f.crdScript(script, c); err != nil {
				return err
			} else if name != "" {
				ahead = name
			} else if len(words) == 2 && path.Base(words[1]) == "install.sh" && f.runs < 0 {
				f.runs = len(f.list)
			} else if what := c.Changes(); what != "" && !(beside && slices.Contains(repairs, what)) {
				line := f.tree.at(script, c.Line).String() + " has " + what + ", and scripts are not run: nothing verifies what it changes"
				if tool, _, _ := strings.Cut(what, " "); tool != "helm" && tool != "kubectl" || what == "kubectl delete" {
					f.tree.notes = append(f.tree.notes, line) // on the first screen
				} else {
					f.besides = append(f.besides, "bundle: "+line)
				}
			}
			continue
		}
		if c.Maybe && beside {
			f.tree.notes = append(f.tree.notes, f.tree.at(script, c.Line).String()+" may install a release besides every install.sh, by a condition of the script, which is read and not run: nothing verifies it")
			continue
		}
		if c.Maybe {
			return f.tree.bad(script, c.Line, "whether this release is installed depends on a condition of the script, which is read and not run")
		}
		for _, d := range c.Doubts {
			if slices.ContainsFunc(d.Others, scripts.ChangesCluster) {
				return f.tree.bad(script, c.Line, "the value of $%s depends on a condition of the script, which is read and not run", d.Name)
			}
		}
		if err := f.known(script, c, false); err != nil {
			return err
		}
		u, err := f.unit(script, c, args)
		if err == nil { // which says more of a chart that is not set
			err = f.known(script, c, true)
		}
		if err != nil {
			return err
		}
		u.forces, u.crdScript, ahead = f.forces(script, c), ahead, ""
		f.list = append(f.list, u)
	}
	return nil
}

// forces reports whether an installation has the flag by which Helm 4 takes over the fields of others, also where the
// script passes it to Helm 4 alone. The function release of a deploy.sh passes the script's own flags.
func (f *helmForm) forces(script string, c scripts.Command) bool {
	return slices.Contains(c.Words, forceConflicts) ||
		slices.ContainsFunc(c.Doubts, func(d scripts.Doubt) bool {
			return slices.ContainsFunc(d.Others, func(words []string) bool { return slices.Contains(words, forceConflicts) })
		}) ||
		c.Words[0] == "release" && bytes.Contains(f.tree.files[script].Content, []byte(forceConflicts))
}

const forceConflicts = "--force-conflicts"

// known refuses a word of an installation that only a run of the script can tell: what a command says, or a variable that
// the script does not set.
func (f *helmForm) known(script string, c scripts.Command, unset bool) error {
	for _, word := range c.Unknown {
		if word.Unset == unset && !scripts.HelmCommandAside(c.Words, word.At) {
			return f.tree.bad(script, c.Line, "%s can be known only when the script runs, and it is read and not run: what this installs depends on it; write the value down", word.Text)
		}
	}
	return nil
}

// crdScriptName is the script by which AICR's bundles, since v1.0, apply a chart's CRDs before an
// upgrade, where the registry says ownsCRDs.
const crdScriptName = "apply-crds.sh"

// crdScript is the script that the command runs, if it is one that applies CRDs.
func (f *helmForm) crdScript(script string, c scripts.Command) (string, error) {
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

// unit reads NAME CHART and flags.
func (f *helmForm) unit(script string, c scripts.Command, args []string) (unit, error) {
	u := unit{at: f.tree.at(script, c.Line), values: valueSet{values: map[string]any{}}}
	in, err := scripts.ReadHelmInstall(args)
	if err != nil {
		return u, f.tree.bad(script, c.Line, "%w", err)
	}
	u.name, u.namespace, u.version, u.repo = in.Name, in.Namespace, in.Version, in.Repo
	return u, f.chartOf(&u, script, c, in.Chart, in.Files)
}

// chartOf fills in the chart and the values.
func (f *helmForm) chartOf(u *unit, script string, c scripts.Command, ref string, files []string) error {
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
	u.withValues()
	return nil
}
