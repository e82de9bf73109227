// Package aicrclitest has a test double of AICR's CLI: a test's own binary, started under another
// name, which takes the CLI's flags and writes the CLI's layout of files, with the content of this
// program's own bundler. Its variants lie in one way each. It is for tests only.
package aicrclitest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action"
	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/bundle/adjust"
	"github.com/nvidia/aicr-action/internal/bundle/publish"
	"github.com/nvidia/aicr-action/internal/charts"
	"github.com/nvidia/aicr-action/internal/recipe"
	"github.com/nvidia/aicr-action/kwok"
)

// The variants of the double.
const (
	Good = "good"
	// Forgetful leaves out the tolerations at ForgottenPath of ForgottenComponent.
	Forgetful = "forgetful"
	Silent    = "silent"    // writes no bundle, prints nothing, and exits with 0
	Failing   = "failing"   // exits with 3 and a message with escapes and a command to a CI runner
	Leaving   = "leaving"   // names a file outside of its bundle
	Linking   = "linking"   // has a symbolic link among its files
	Pushing   = "pushing"   // leaves no copy of a bundle that it pushes
	Linked    = "linked"    // makes its output directory a symbolic link
	Hanging   = "hanging"   // never ends, and has a child that does not either
	Old       = "old"       // is a version before the known ones
	Other     = "other"     // is another program, without a version
	Curious   = "curious"   // writes its environment to the file environment.txt of its bundle
	Shapeless = "shapeless" // writes files of no known form
	Current   = "current"   // is v1.3.0, which has upgrade-check
	Misread   = "misread"   // is as Current, and its upgrade-check does not find ForgottenComponent in a cluster
	Telling   = "telling"   // leaves the file AskedFile where it has resolved a recipe
)

// What Forgetful forgets.
const (
	ForgottenComponent = "cert-manager"
	ForgottenPath      = "webhook.tolerations"
)

// AskedFile is what Telling leaves: it has the profile that it was asked for.
const AskedFile = "asked"

const prefix = "aicr-double-"

// Run is to be called first by TestMain: in a double it does the double's work and ends the
// process.
func Run() {
	variant, ok := strings.CutPrefix(filepath.Base(os.Args[0]), prefix)
	if !ok {
		return
	}
	if err := (double{variant}).run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Install gives the path of a double of this variant.
func Install(t testing.TB, variant string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), prefix+variant)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

const recipesDir = "recipes"

func isDir(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// InstallFor is Install of a double that was built from the recipes in this directory.
func InstallFor(t testing.TB, variant, recipes string) string {
	t.Helper()
	path := Install(t, variant)
	recipes, err := filepath.Abs(recipes)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(recipes, filepath.Join(filepath.Dir(path), recipesDir)); err != nil {
		t.Fatal(err)
	}
	return path
}

type double struct{ variant string }

func (d double) run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command")
	}
	switch args[0] {
	case "--version": // a command of this name is not known to AICR's CLI
		switch d.variant {
		case Old:
			fmt.Println("aicr version v0.3.1")
		case Other:
			fmt.Println("hello")
		case Current, Misread:
			fmt.Println("aicr version v1.3.0 (a test double)")
		default:
			fmt.Println("aicr version v0.11.2 (a test double)")
		}
		return nil
	case "recipe":
		f, err := flagsOf(args[1:], "service accelerator intent os platform nodes profile data output")
		if err != nil {
			return err
		}
		return d.recipe(f)
	case "bundle":
		f, err := flagsOf(args[1:], "recipe set data output deployer repo plain-http system-node-selector system-node-toleration accelerated-node-selector accelerated-node-toleration")
		if err != nil {
			return err
		}
		return d.bundle(f)
	case "upgrade-check":
		if d.variant != Current && d.variant != Misread {
			break
		}
		args = slices.DeleteFunc(args, func(a string) bool { return a == "--fail-on-error=false" })
		f, err := flagsOf(args[1:], "from to deployer format data")
		if err != nil {
			return err
		}
		return d.upgradeCheck(f)
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// flags are those of one call; --plain-http alone has no value.
type flags map[string][]string

func (f flags) one(name string) string { return strings.Join(f[name], ",") }

// Like AICR's CLI it knows the flags of the command.
func flagsOf(args []string, known string) (flags, error) {
	f := flags{}
	for i := 0; i < len(args); i++ {
		if name, ok := strings.CutPrefix(args[i], "--"); !ok || !slices.Contains(strings.Fields(known), name) {
			return nil, fmt.Errorf("flag provided but not defined: %s", args[i])
		}
		if args[i] == "--plain-http" || i+1 == len(args) {
			f[args[i]] = append(f[args[i]], "true")
			continue
		}
		f[args[i]] = append(f[args[i]], args[i+1])
		i++
	}
	return f, nil
}

// store has the recipes that are beside the double, or else those of this project.
func store() (*recipe.Store, error) {
	if dir := filepath.Join(filepath.Dir(os.Args[0]), recipesDir); isDir(dir) {
		return recipe.Open(os.DirFS(dir), recipesDir)
	}
	fsys, err := fs.Sub(aicraction.Recipes, "recipes")
	if err != nil {
		return nil, err
	}
	return recipe.Open(fsys, "recipes")
}

func (d double) recipe(f flags) error {
	if d.variant == Failing {
		_, _ = fmt.Fprintln(os.Stderr, "\x1b[31m::error title=x::no such \x07criteria\x1b[0m\n##[error]service is unknown")
		os.Exit(3)
	}
	if d.variant == Hanging {
		return hang()
	}
	if d.variant == Telling {
		if err := os.WriteFile(AskedFile, []byte(f.one("--profile")), 0o644); err != nil {
			return err
		}
	}
	s, err := store()
	if err != nil {
		return err
	}
	q := recipe.Criteria{Service: f.one("--service"), Accelerator: f.one("--accelerator"), Intent: f.one("--intent"), OS: f.one("--os"), Platform: f.one("--platform")}
	result, err := s.Resolve(q)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(result)
	if err != nil {
		return err
	}
	return os.WriteFile(f.one("--output"), text, 0o644)
}

// input is what this program's bundler would make the bundle of. The scheduling flags must be what
// AICR's harness passes.
func (d double) input(f flags) (bundle.Input, error) {
	text, err := os.ReadFile(f.one("--recipe"))
	if err != nil {
		return bundle.Input{}, err
	}
	result := &recipe.Result{}
	if err := yaml.Unmarshal(text, result); err != nil {
		return bundle.Input{}, err
	}
	for name, want := range map[string]string{
		"--system-node-selector": "aicr.nvidia.com/node-type=system", "--accelerated-node-selector": "aicr.nvidia.com/node-type=accelerated",
		"--system-node-toleration":      "kwok.x-k8s.io/node=fake:NoSchedule",
		"--accelerated-node-toleration": "kwok.x-k8s.io/node=fake:NoSchedule,nvidia.com/gpu=present:NoSchedule",
	} {
		if f.one(name) != want {
			return bundle.Input{}, fmt.Errorf("%s is %q", name, f.one(name))
		}
	}
	s, err := store()
	if err != nil {
		return bundle.Input{}, err
	}
	sets, err := adjust.ParseSets(f["--set"])
	if err != nil {
		return bundle.Input{}, err
	}
	if sets, err = sets.Names(s.Entries(), result); err != nil {
		return bundle.Input{}, err
	}
	if result, _, err = sets.Enable(result); err != nil {
		return bundle.Input{}, err
	}
	components, err := s.Components(result)
	if err != nil {
		return bundle.Input{}, err
	}
	if _, err := sets.Apply(components); err != nil {
		return bundle.Input{}, err
	}
	for i := range components {
		if paths := &components[i].NodeScheduling.System; d.variant == Forgetful && components[i].Name == ForgottenComponent {
			paths.TolerationPaths = slices.DeleteFunc(paths.TolerationPaths, func(p string) bool { return p == ForgottenPath })
		}
	}
	files, err := fs.Sub(kwok.Files, "charts")
	if err != nil {
		return bundle.Input{}, err
	}
	simulated, err := charts.NewSimulated(files, false)
	if err != nil {
		return bundle.Input{}, err
	}
	return bundle.Input{
		Recipe: result, Components: components, Scheduling: bundle.KwokScheduling(), Charts: simulated, KubeVersion: "v1.36.1", APIs: bundle.StackAPIs(),
	}, nil
}

func (d double) bundle(f flags) error {
	if d.variant == Silent {
		return nil
	}
	in, err := d.input(f)
	if err != nil {
		return err
	}
	name, out := bundle.Helm, f.one("--output")
	if cli := f.one("--deployer"); cli == bundle.Helmfile {
		name = cli
	} else if cli != "" { // to a directory, for a Git repository
		name, in.RepoURL, in.TargetRevision = cli+"-git", f.one("--repo"), bundle.GitBranch
	}
	if ref, pushed := strings.CutPrefix(out, "oci://"); pushed {
		name, out = f.one("--deployer")+"-oci", "bundle"
		repo, tag := ref[:strings.LastIndex(ref, ":")], ref[strings.LastIndex(ref, ":")+1:]
		in.RepoURL, in.TargetRevision, in.Recipe.Metadata.Name = "oci://"+repo, tag, path.Base(repo) // a chart has the name of where it goes
		if own := f.one("--repo"); own != "" {
			in.RepoURL = own
		}
	}
	all, err := bundle.ByName([]string{name})
	if err != nil {
		return err
	}
	b, err := all[0].Bundle(context.Background(), in)
	if err != nil {
		return err
	}
	b.Files = inAICRsLayout(b)
	if ref, pushed := strings.CutPrefix(f.one("--output"), "oci://"); pushed {
		if _, err := publish.PublishBundle(context.Background(), b, ref, publish.Target{PlainHTTP: f.one("--plain-http") == "true"}); err != nil || d.variant == Pushing {
			return err
		}
	}
	if d.variant == Linked {
		if err := os.Mkdir("elsewhere", 0o755); err != nil {
			return err
		}
		if err := os.Symlink("elsewhere", out); err != nil {
			return err
		}
	}
	if d.variant == Shapeless {
		b.Files = []bundle.File{{Path: "helmfile.yaml", Mode: 0o644, Content: []byte("releases: []\n")}}
	}
	if err := b.WriteTo(out, true); err != nil {
		return err
	}
	return d.spoil(out)
}
