package bundle

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// fakeHelm is a helm that writes its arguments to a file, one call a line with the words in
// brackets.
const fakeHelm = `#!/bin/sh
for word in "$@"; do printf '[%s]' "$word" >>"$CALLS"; done
echo >>"$CALLS"
`

// writtenHelmBundle writes the golden Helm bundle to dir/my bundle; a helm in dir writes down how
// it is called. It skips without bash.
func writtenHelmBundle(t *testing.T) (b *Bundle, bash, dir, bundleDir string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		testskip.Missing(t, "no bash here")
	}
	in := goldenInput(Helm)
	in.Components[0].Namespace = "it's odd" // must stay one word
	b = mustBundle(t, helmDeployer{}, in)
	dir = t.TempDir()
	bundleDir = filepath.Join(dir, "my bundle")
	if err := b.WriteTo(bundleDir, false); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte(fakeHelm), 0o755); err != nil {
		t.Fatal(err)
	}
	return b, bash, dir, bundleDir
}

func TestDeployScript(t *testing.T) {
	b, bash, dir, bundleDir := writtenHelmBundle(t)
	calls := filepath.Join(dir, "calls")
	script := filepath.Join(bundleDir, "deploy.sh")
	if out, err := exec.Command(bash, "-n", script).CombinedOutput(); err != nil {
		t.Fatalf("bash -n: %v\n%s", err, out)
	}
	if own := strings.Count(content(t, b, "deploy.sh"), "\n") - len(b.Installs); own >= 50 {
		t.Errorf("deploy.sh has %d lines beside the releases", own)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command(script, args...)
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CALLS="+calls)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("--kube-context", "a b")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "[4/5] gpu-post (namespace gpu)") {
		t.Errorf("progress:\n%s", out)
	}
	raw, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	end := "[--kube-context][a b]\n"
	want := "[upgrade][--install][web][oci://127.0.0.1:5500/charts/web][--namespace][it's odd][--create-namespace][--version][v1.4.0][--plain-http][-f][" + bundleDir + "/web/values.yaml]" + end
	if got := string(raw); !strings.HasPrefix(got, want) {
		t.Errorf("the first call is\n%s, want\n%s", got, want)
	}
	if !strings.Contains(string(raw), "[upgrade][--install][tuning]["+bundleDir+"/tuning/chart][--namespace][tuning][--create-namespace]"+end) {
		t.Errorf("calls:\n%s", raw)
	}
	if strings.Contains(string(raw), "--wait") {
		t.Error("deploy.sh waits")
	}
	if out, err := run("--help"); err != nil || !strings.Contains(out, "HELM FLAG") || strings.Contains(out, "set -e") {
		t.Errorf("--help: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err == nil || strings.Contains(out, "[2/5]") {
		t.Errorf("a failed release does not stop deploy.sh:\n%s", out)
	}
}

func TestDeployScript_Repositories(t *testing.T) {
	b := mustBundle(t, helmDeployer{}, fixture())
	script := content(t, b, "deploy.sh")
	for _, want := range []string{
		`release web web-system web --repo https://charts.example.com/stable --version v1.4.0 -f "${here}/web/values.yaml"`,
		`release monitor monitoring oci://registry.example.com/charts/monitor --version 82.8.0 -f`,
	} {
		if !strings.Contains(script, want) {
			t.Errorf("deploy.sh lacks %q:\n%s", want, script)
		}
	}
}

// A person runs the commands in the bundle, which has a directory with each chart's name. Helm
// would read that directory as the chart, and ignore --repo.
func TestDeployScript_WorkingDirectory(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		testskip.Missing(t, "no bash here")
	}
	b := mustBundle(t, helmDeployer{}, fixture())
	dir := t.TempDir()
	bundleDir, calls := filepath.Join(dir, "my bundle"), filepath.Join(dir, "calls")
	if err := b.WriteTo(bundleDir, false); err != nil {
		t.Fatal(err)
	}
	// Like Helm, it refuses a chart that is there and has no Chart.yaml, and a values file that is
	// not there.
	const helm = `#!/bin/sh
[ -e "$4" ] && [ ! -e "$4/Chart.yaml" ] && { echo "$4: Chart.yaml file is missing" >&2; exit 1; }
case "$4" in /*|./*) [ -e "$4" ] || { echo "$4: not found" >&2; exit 1; } ;; esac
file=
for word in "$@"; do [ "$file" != -f ] || [ -e "$word" ] || { echo "no $word" >&2; exit 1; }; file="$word"; done
echo "$3 $KUBECONFIG" >>"$CALLS"
`
	if err := os.WriteFile(filepath.Join(dir, "helm"), []byte(helm), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(in string, command string) {
		t.Helper()
		cmd := exec.Command(bash, "-c", command)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CALLS="+calls, "KUBECONFIG=own:/other")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("in %s: %s: %v\n%s", in, command, err, out)
		}
	}
	want := ""
	run(bundleDir, "./deploy.sh")
	for _, r := range b.Expectation.Releases {
		want += r.Name + " " + bundleDir + "/own:/other\n"
	}
	for _, r := range b.Expectation.Releases {
		command := ""
		for _, line := range strings.Split(content(t, b, r.Name+"/README.md"), "\n") {
			if code, ok := strings.CutPrefix(line, "    "); ok {
				command += code + "\n"
			}
		}
		if !strings.HasPrefix(command, "helm upgrade --install "+r.Name+" ") {
			t.Errorf("%s/README.md has the commands %q", r.Name, command)
		}
		run(filepath.Join(bundleDir, r.Name), command)
		want += r.Name + " own:/other\n"
	}
	if got, err := os.ReadFile(calls); err != nil || string(got) != want {
		t.Errorf("%v; helm was called for\n%s, want\n%s", err, got, want)
	}
}

// The installs that a library caller gets are those of deploy.sh.
func TestInstalls(t *testing.T) {
	b := mustBundle(t, helmDeployer{}, goldenInput(Helm))
	var got []string
	for _, i := range b.Installs {
		got = append(got, i.Release.Name+" "+i.Ref)
		if i.Release.Local {
			ch, err := b.Chart(i.Release.Name + "/chart")
			if err != nil || ch.Metadata.Name != i.Chart.Metadata.Name || i.Values != nil {
				t.Errorf("%s: %v", i.Release.Name, err)
			}
			continue
		}
		fromFile, err := readValues([]byte(content(t, b, i.Release.Name+"/values.yaml")))
		if err != nil || !reflect.DeepEqual(fromFile, i.Values) {
			t.Errorf("%s: other values than in its file: %v", i.Release.Name, err)
		}
	}
	want := []string{"web oci://127.0.0.1:5500/charts/web", "monitor oci://127.0.0.1:5500/charts/monitor", "gpu oci://127.0.0.1:5500/charts/gpu", "gpu-post ", "tuning "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if len(b.Charts) != 3 {
		t.Errorf("%d charts to push, want 3", len(b.Charts))
	}
}

// The script of a bundle for Helm 4 has conflicts forced, as AICR's own have, where Helm is 4; Helm 3 does not know the flag.
func TestDeployScript_ForceConflicts(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		testskip.Missing(t, "no bash here")
	}
	asked := fixture()
	asked.Helm = 4
	made := func(d Deployer, in Input) *Bundle { return mustBundle(t, d, in) }
	for name, tc := range map[string]struct {
		of      *Bundle
		version string
		forced  bool
	}{
		"for Helm 4, with Helm 4": {made(helmDeployer{major: 4}, fixture()), "v4.2.4", true},
		"for Helm 4, with Helm 3": {made(helmDeployer{major: 4}, fixture()), "v3.21.4+g1234567", false},
		"asked for":               {made(helmDeployer{}, asked), "v4.2.4", true},
		"for Helm 3, with Helm 4": {made(helmDeployer{}, fixture()), "v4.2.4", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tc.of.WriteTo(filepath.Join(dir, "bundle"), false); err != nil {
				t.Fatal(err)
			}
			helm := "#!/bin/sh\nif [ \"$1\" = version ]; then echo " + tc.version + "; exit; fi\n" + strings.TrimPrefix(fakeHelm, "#!/bin/sh\n")
			if err := os.WriteFile(filepath.Join(dir, "helm"), []byte(helm), 0o755); err != nil {
				t.Fatal(err)
			}
			calls := filepath.Join(dir, "calls")
			cmd := exec.Command(bash, filepath.Join(dir, "bundle", "deploy.sh"), "--debug")
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "CALLS="+calls)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			raw, err := os.ReadFile(calls)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
			for _, line := range lines {
				if forced := strings.Contains(line, "[--force-conflicts][--debug]"); forced != tc.forced || !strings.HasSuffix(line, "[--debug]") {
					t.Errorf("called with %s", line)
				}
			}
			for _, in := range tc.of.Installs {
				if in.ForceConflicts != (tc.of.Helm == 4) {
					t.Errorf("release %s forces: %t, and Helm is %d", in.Release.Name, in.ForceConflicts, tc.of.Helm)
				}
			}
			if len(lines) != len(tc.of.Installs) {
				t.Errorf("%d calls of helm for %d releases", len(lines), len(tc.of.Installs))
			}
		})
	}
}

// Which Helm delivers in the lane helm, and which one helmfile runs: the one that is asked for, else the one that the
// bundle is for.
func TestBundle_Helm(t *testing.T) {
	july := fixture()
	july.Recipe.APIVersion = "aicr.run/v1beta1"
	given, asked := fixture(), fixture()
	given.Given = map[string]Given{"web": {ForceConflicts: true}}
	asked.Given, asked.Helm = given.Given, 3
	plain := fixture()
	plain.Recipe.APIVersion, plain.Given = "aicr.run/v1beta1", map[string]Given{"web": {}}
	level := fixture()
	level.Given = map[string]Given{"web": {ForceConflicts: true, File: "level-0.yaml"}}
	for name, tc := range map[string]struct {
		deployer string
		in       Input
		want     int
		why      string
	}{
		"a recipe of March":                  {Helm, fixture(), 3, ""},
		"a recipe of today":                  {Helm, july, 4, "aicr.run/v1beta1"},
		"a script with Helm 4's flag":        {Helm, given, 4, "--force-conflicts"},
		"such a script, and Helm 3":          {Helm, asked, 3, "asks for it"},
		"a script of today without the flag": {Helm, plain, 3, ""},
		"helmfile, of March":                 {Helmfile, fixture(), 3, ""},
		"helmfile, of today":                 {Helmfile, july, 4, "aicr.run/v1beta1"},
		"files for helmfile, of today":       {Helmfile, plain, 4, "aicr.run/v1beta1"},
		"files with Helm 4's setting":        {Helmfile, level, 4, "level-0.yaml has forceConflicts"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, why := HelmOf(tc.deployer, tc.in); got != tc.want || !strings.Contains(why, tc.why) || (why == "") != (tc.why == "") {
				t.Errorf("got Helm %d, since %q", got, why)
			}
		})
	}
}
