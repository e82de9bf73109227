package intake

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nvidia/aicr-action/internal/bundle"
)

// someHelmfile is a bundle of two levels as AICR's CLI writes them.
func someHelmfile() map[string]string {
	return map[string]string{
		"helmfile.yaml": "helmfiles:\n  - path: level-0.yaml\n  - path: level-1.yaml\n",
		"level-0.yaml": `repositories:
  - name: charts-example-org
    url: https://charts.example.org
  - name: ghcr-io-example
    url: ghcr.io/example
    oci: true
helmDefaults:
  wait: true
  timeout: 600
  createNamespace: true
releases:
  - name: b
    namespace: one
    chart: ghcr-io-example/deep/chart-b
    version: v1.0.0
    values:
      - ./002-b/values.yaml
    needs:
      - a
  - name: a
    namespace: one
    chart: charts-example-org/chart-a
    version: 2.0.0
    values:
      - ./001-a/values.yaml
    disableValidation: true
`,
		"level-1.yaml":                "releases:\n  - name: a-post\n    namespace: one\n    chart: ./003-a-post\n    values:\n      - ./003-a-post/values.yaml\n",
		"001-a/values.yaml":           "x: 1\n",
		"002-b/values.yaml":           "limit: 2\n",
		"003-a-post/Chart.yaml":       "apiVersion: v2\nname: a-post\nversion: 0.1.0\n",
		"003-a-post/values.yaml":      "z: 3\n",
		"003-a-post/templates/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n",
	}
}

func helmfileTree(t *testing.T, change func(files map[string]string)) *tree {
	t.Helper()
	files := someHelmfile()
	if change != nil {
		change(files)
	}
	return treeOf(t, files)
}

func treeOf(t *testing.T, files map[string]string) *tree {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read, err := readTree(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// Levels and needs give the order; charts, versions, namespaces and values are those of the files.
func TestReadHelmfile(t *testing.T) {
	f, err := readHelmfile(helmfileTree(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range f.units() {
		got = append(got, strings.Join([]string{u.name, u.namespace, u.repo, u.chart, u.version, u.dir}, " "))
	}
	want := []string{
		"a one https://charts.example.org chart-a 2.0.0 ", "b one oci://ghcr.io/example/deep chart-b v1.0.0 ", "a-post one    003-a-post",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if needs := f.units()[2].needs; !slices.Contains(needs, "a") || !slices.Contains(needs, "b") {
		t.Errorf("a release of the next level: got needs %q, want those of the level before", needs)
	}
	if v := f.units()[1].values.values["limit"]; v == nil {
		t.Error("the values of b are not those of its file")
	}
}

// What helmfile would do and nothing here understands is refused, by its place.
func TestReadHelmfile_Refused(t *testing.T) {
	edit := func(file, old, now string) func(map[string]string) {
		return func(files map[string]string) { files[file] = strings.Replace(files[file], old, now, 1) }
	}
	for name, c := range map[string]struct {
		change func(map[string]string)
		want   string
	}{
		"no root":   {func(files map[string]string) { delete(files, "helmfile.yaml") }, "it has no helmfile.yaml"},
		"hook":      {edit("level-0.yaml", "    disableValidation: true", "    hooks: [{events: [presync], command: bash, args: [./001-a/other.sh]}]"), "releases.hooks: this hook of release a runs a program"},
		"program":   {edit("level-0.yaml", "    disableValidation: true", "    hooks: [{events: [presync], command: touch, args: [./001-a/apply-crds.sh]}]"), "releases.hooks: this hook of release a runs a program"},
		"later":     {edit("level-0.yaml", "    disableValidation: true", "    hooks: [{events: [postsync], command: bash, args: [./001-a/apply-crds.sh]}]"), "releases.hooks: this hook of release a runs a program"},
		"no script": {edit("level-0.yaml", "    disableValidation: true", "    hooks: [{events: [presync], command: bash, args: [./001-a/apply-crds.sh]}]"), "001-a/apply-crds.sh is not in the bundle"},
		"template":  {edit("helmfile.yaml", "level-1.yaml", "level-1.yaml.gotmpl"), "helmfile.yaml:3: this entry of helmfiles is not understood"},
		"outside":   {edit("helmfile.yaml", "level-1.yaml", "../level-1.yaml"), "leads out of the bundle"},
		"missing":   {edit("helmfile.yaml", "level-1.yaml", "level-2.yaml"), "level-2.yaml is not in the bundle"},
		"cycle":     {edit("level-0.yaml", "    disableValidation: true", "    needs: [one/b]"), "one is not in this file or needs it in turn"},
		"stranger":  {edit("level-1.yaml", "    namespace: one\n", "    namespace: one\n    needs: [one/a]\n"), "release a-post needs one/a"},
		"unknown":   {edit("level-0.yaml", "charts-example-org/chart-a", "elsewhere/chart-a"), `chart "elsewhere/chart-a" of release a is not understood`},
		"no values": {edit("level-0.yaml", "./001-a/values.yaml", "./001-a/other.yaml"), "values file 001-a/other.yaml is not in the bundle"},
		"inline":    {edit("level-0.yaml", "- ./001-a/values.yaml", "- {x: 1}"), "these values of release a are not understood"},
		"reference": {func(files map[string]string) { files["001-a/values.yaml"] = "a:\n  b: x ref+file:///etc/passwd\n" }, "001-a/values.yaml:2: a value of release a has a reference (ref+…://)"},
		"password":  {edit("level-0.yaml", "    oci: true", "    password: x"), "repositories.password of helmfile is not understood"},
	} {
		_, err := readHelmfile(helmfileTree(t, c.change))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// Each chart comes from the cell's registry in the version that is there, whatever repository the
// bundle was made for; what else the files say stays.
func TestFitHelmfile(t *testing.T) {
	read := helmfileTree(t, func(files map[string]string) {
		files["001-a/apply-crds.sh"] = "helm show crds x | kubectl apply --server-side -f -\n"
		files["level-0.yaml"] = strings.Replace(files["level-0.yaml"], "    disableValidation: true", "    disableValidation: true\n    hooks:\n      - events: [presync]\n        command: bash\n        args:\n          - ./001-a/apply-crds.sh\n        showlogs: true", 1)
	})
	f, err := readHelmfile(read)
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle.Bundle{Expectation: bundle.Expectation{Releases: []bundle.Release{
		{Name: "a", Chart: "chart-a", ChartVersion: "2.0.0", Given: bundle.Given{CRDScript: f.units()[0].crdScript}}, {Name: "b", Chart: "chart-b", ChartVersion: "1.0.0"}, {Name: "a-post", Local: true},
	}}}
	if err := f.fit(context.Background(), bundle.Input{ChartRepository: "oci://127.0.0.1:5500/charts"}, b); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, file := range b.Files {
		files[file.Path] = string(file.Content)
	}
	for _, want := range []string{
		"url: 127.0.0.1:5500/charts", "plainHttp: true", "chart: ghcr-io-example/chart-b", "version: 1.0.0", "chart: charts-example-org/chart-a", "timeout: 600", "disableValidation: true", "needs:\n      - a\n",
	} {
		if !strings.Contains(files["level-0.yaml"], want) {
			t.Errorf("level-0.yaml lacks %q:\n%s", want, files["level-0.yaml"])
		}
	}
	for _, old := range []string{"example.org\n    oci: false", "https://", "ghcr.io", "v1.0.0", "hooks:"} {
		if strings.Contains(files["level-0.yaml"], old) {
			t.Errorf("level-0.yaml still has %q:\n%s", old, files["level-0.yaml"])
		}
	}
	if got := f.units()[0].crdScript; got != "001-a/apply-crds.sh" || len(b.Expectation.Overrides) != 1 || !strings.Contains(b.Expectation.Overrides[0], got) {
		t.Errorf("got the script %q and the overrides %q", got, b.Expectation.Overrides)
	}
	if files["level-1.yaml"] == "" || files["003-a-post/values.yaml"] != "z: 3\n" {
		t.Errorf("files are lost: %q", files)
	}
}

// Whether helm waits for a release is the release's own word, else that of its file; helmfile's default is not to.
func TestHelmfile_Waits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files map[string]string)
		want   string
	}{
		"as of the file":   {nil, "a-post"},
		"not one of them":  {func(f map[string]string) { f["level-0.yaml"] += "    wait: false\n" }, "a a-post"},
		"only one of them": {func(f map[string]string) { f["level-1.yaml"] += "    wait: true\n" }, ""},
	} {
		f, err := readHelmfile(helmfileTree(t, c.change))
		if err != nil {
			t.Fatal(err)
		}
		var not []string
		for _, u := range f.units() {
			if u.unawaited {
				not = append(not, u.name)
			}
		}
		if got := strings.Join(not, " "); got != c.want {
			t.Errorf("%s: helm does not wait for %q, want %q", name, got, c.want)
		}
	}
}

// Which releases helm-diff has validated, and together with which others: MX562 goes by it.
func TestHelmfile_Compared(t *testing.T) {
	const release = "- {name: %s, namespace: n, chart: r/a, version: 1.0.0%s}\n"
	one := "repositories: [{name: r, url: https://example.com}]\nreleases:\n" + fmt.Sprintf(release, "a", "") + fmt.Sprintf(release, "b", ", disableValidation: true") + fmt.Sprintf(release, "c", ", disableValidationOnInstall: true") + fmt.Sprintf(release, "d", ", disableValidation: false")
	f, _, err := whole(readHelmfile)(t.Context(), treeOf(t, map[string]string{
		"helmfile.yaml": "helmfiles:\n- path: one.yaml\n- path: two.yaml\n", "one.yaml": one, "two.yaml": "helmDefaults: {disableValidation: true}\n" + one,
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range f.units() {
		got = append(got, fmt.Sprintf("%s %s %t", u.file, u.name, u.compared))
	}
	if want := []string{
		"one.yaml a true", "one.yaml b false", "one.yaml c false", "one.yaml d true",
		"two.yaml a false", "two.yaml b false", "two.yaml c false", "two.yaml d true",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A file with forceConflicts, which helmfile passes on to Helm 4 only, is for Helm 4; with Helm 3 helmfile ends at once.
func TestHelmfile_ForceConflicts(t *testing.T) {
	const releases = "releases:\n- {name: a, namespace: n, chart: r/a, version: 1.0.0%s}\n- {name: b, namespace: n, chart: r/a, version: 1.0.0}\n"
	for name, c := range map[string]struct {
		file string
		want string
	}{
		"of a release": {fmt.Sprintf(releases, ", forceConflicts: true"), "true false"},
		"of all":       {"helmDefaults: {forceConflicts: true}\n" + fmt.Sprintf(releases, ", forceConflicts: false"), "false true"},
		"of none":      {fmt.Sprintf(releases, ""), "false false"},
	} {
		f, _, err := whole(readHelmfile)(t.Context(), treeOf(t, map[string]string{"helmfile.yaml": "repositories: [{name: r, url: https://example.com}]\n" + c.file}))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(f.units()[0].forces, f.units()[1].forces); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
