package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
)

// entry is one of an archive: a file with that text, or what else the head says.
type entry struct {
	tar.Header
	text string
}

func file(name, text string) entry { return entry{tar.Header{Name: name, Typeflag: tar.TypeReg}, text} }

const meta = "apiVersion: v2\nname: c\nversion: 1.0.0\n"

// pack makes an archive of any entries, also of those that no packager would write.
func pack(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, e := range entries {
		e.Mode, e.Size = 0o644, int64(len(e.text))
		if err := archive.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// blanks is a file that packs to nearly nothing.
func blanks(name string) entry { return file(name, strings.Repeat(" ", MostFile)) }

// bomb is a text whose aliases stand for gigabytes.
func bomb() string {
	return "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 10_000) + "]\n"
}

// nested is a chart in a chart, that often.
func nested(t *testing.T, depth int, inside ...entry) []byte {
	all := append([]entry{file("c/Chart.yaml", meta)}, inside...)
	if depth > 0 {
		all = append(all, file("c/charts/c.tgz", string(nested(t, depth-1, inside...))))
	}
	return pack(t, all...)
}

func TestArchive(t *testing.T) {
	var many, inside []entry
	for i := range mostFiles + 1 {
		many = append(many, file(fmt.Sprintf("c/%d", i), ""))
	}
	large := []entry{file("c/Chart.yaml", meta)}
	for i := range 21 {
		large = append(large, blanks(fmt.Sprintf("c/%d", i)))
	}
	for i := range 5 {
		inside = append(inside, blanks(fmt.Sprintf("c/%d", i)))
	}
	for name, c := range map[string]struct {
		packed []byte
		want   string // "": it loads
	}{
		"a chart with a dependency":        {nested(t, 1), ""},
		"a name that leads out":            {pack(t, file("c/Chart.yaml", meta), file("c/../../x", "x")), "leads out of the chart"},
		"an absolute name":                 {pack(t, file("c//etc/x", "x")), "absolute paths"},
		"a name for Windows":               {pack(t, file(`c\..\..\x`, "x")), "leads out of the chart"},
		"a name that leads out and in":     {pack(t, file("c/Chart.yaml", meta), file("c/templates/../x", "x")), "leads out of the chart"},
		"a device":                         {pack(t, file("c/Chart.yaml", meta), entry{tar.Header{Name: "c/null", Typeflag: tar.TypeChar}, ""}), "neither a file nor a directory"},
		"a link":                           {pack(t, file("c/Chart.yaml", meta), entry{tar.Header{Name: "c/templates/x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, ""}), "it has a link, \"c/templates/x\" to \"/etc/passwd\""},
		"a hard link":                      {pack(t, file("c/Chart.yaml", meta), entry{tar.Header{Name: "c/templates/x", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}, ""}), "it has a link, \"c/templates/x\" to \"/etc/passwd\""},
		"unpacks to too much":              {pack(t, large...), "unpacks to more than 100 MiB"},
		"a file that unpacks to too much":  {pack(t, file("c/Chart.yaml", meta), file("c/x", strings.Repeat(" ", MostFile+1))), "larger than the maximum file size"},
		"too many files":                   {pack(t, many...), "more than 20000 files"},
		"unpacks to too much in archives":  {nested(t, 5, inside...), "unpacks to more than 100 MiB"},
		"archives in archives":             {nested(t, mostNested+1), "archives in archives, 9 deep"},
		"a bomb in its values":             {pack(t, file("c/Chart.yaml", meta), file("c/values.yaml", bomb())), "values.yaml: yaml: line 2: with this alias"},
		"a bomb in its Chart.yaml":         {pack(t, file("c/Chart.yaml", meta+bomb())), "Chart.yaml: yaml: line 5: with this alias"},
		"a bomb in a dependency":           {pack(t, file("c/Chart.yaml", meta), file("c/charts/c.tgz", string(pack(t, file("c/Chart.yaml", meta), file("c/values.yaml", bomb()))))), "charts/c.tgz: values.yaml: yaml: line 2"},
		"a bomb in an unpacked dependency": {pack(t, file("c/Chart.yaml", meta), file("c/charts/d/Chart.yaml", meta), file("c/charts/d/values.yaml", bomb())), "charts/d/values.yaml: yaml: line 2"},
		"what is no archive":               {[]byte("x"), "EOF"},
		"an archive that is cut off":       {nested(t, 0, inside...)[:200], "EOF"},
	} {
		start := time.Now()
		files, err := Archive(c.packed)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %d files, %v; want %q", name, len(files), err, c.want)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			ch, err := loader.LoadFiles(files)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, f := range ch.Templates {
				if len(f.Data) > 0 {
					t.Errorf("%s: %s is %q", name, f.Name, f.Data)
				}
			}
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

func TestMetadata(t *testing.T) {
	if got, err := Metadata(bytes.NewReader(nested(t, 1))); err != nil || string(got) != meta {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := Metadata(bytes.NewReader(pack(t, file("c/x", "")))); err == nil || !strings.Contains(err.Error(), "no Chart.yaml in it") {
		t.Errorf("got %v", err)
	}
	if _, err := Metadata(bytes.NewReader(pack(t, file("c/Chart.yaml", bomb())))); err == nil || !strings.Contains(err.Error(), "with this alias") {
		t.Errorf("got %v", err)
	}
	r, w := io.Pipe()
	go func() {
		zipped := gzip.NewWriter(w)
		archive := tar.NewWriter(zipped)
		err := archive.WriteHeader(&tar.Header{Name: "c/x", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1 << 40})
		for blank := make([]byte, 1<<20); err == nil; {
			_, err = archive.Write(blank)
		}
	}()
	_, err := Metadata(r)
	if err == nil || !strings.Contains(err.Error(), "unpacks to more than 100 MiB") {
		t.Errorf("got %v", err)
	}
	_ = r.Close()
}

func TestDirectory(t *testing.T) {
	fsys := fstest.MapFS{
		"c/Chart.yaml": {Data: []byte(meta)}, "c/values.yaml": {Data: []byte("a: 1\n")}, "c/.git/x": {Data: []byte("x")}, "c/templates/_x.tpl": {Data: []byte("x")}, "c/x~": {Data: []byte("x")}, "c/templates/.x.yaml": {Data: []byte("x")},
	}
	files, err := Directory(fsys, "c")
	if err != nil || len(files) != 4 {
		t.Errorf("got %v, %v", files, err)
	}
	for name, c := range map[string]struct {
		file string
		data []byte
		want string
	}{
		"a large file":             {"c/files/x", bytes.Repeat([]byte(" "), MostFile+1), "c/files/x is larger than 5 MiB"},
		"a bomb in its values":     {"c/values.yaml", []byte(bomb()), "values.yaml: yaml: line 2: with this alias"},
		"a bomb in a dependency":   {"c/charts/d.tgz", pack(t, file("d/Chart.yaml", meta), file("d/values.yaml", bomb())), "charts/d.tgz: values.yaml: yaml: line 2"},
		"a dependency leading out": {"c/charts/d.tgz", pack(t, file("d/../../x", meta)), "leads out of the chart"},
	} {
		with := fstest.MapFS{c.file: {Data: c.data}}
		for name, f := range fsys {
			if name != c.file {
				with[name] = f
			}
		}
		if _, err := Directory(with, "c"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	most := fstest.MapFS{}
	for i := range 21 {
		most[fmt.Sprintf("c/%d", i)] = &fstest.MapFile{Data: bytes.Repeat([]byte(" "), MostFile)}
	}
	if _, err := Directory(most, "c"); err == nil || !strings.Contains(err.Error(), "more than 100 MiB with its dependencies") {
		t.Errorf("got %v", err)
	}
}

func TestCheckName(t *testing.T) {
	for name, fine := range map[string]bool{
		"kube-prometheus-stack": true, "a": true, "A_b.c": true, "": false, "..": false, "a/../b": false, "/a": false, "a..b": false, "a\nb": false, "-a": false, strings.Repeat("a", 129): false,
	} {
		if err := CheckName(name); (err == nil) != fine {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

// What Helm loads of a directory is what its own loader has, links included.
func TestFiles_AsHelm(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"c/Chart.yaml": meta, "c/.helmignore": "*.bak\nci/\n!keep.txt\n", "c/keep.txt": "", "c/templates/a.yaml": "", "c/templates/a.yaml.bak": "", "c/templates/a.yaml.orig": "", "c/templates/.b.yaml": "",
		"c/ci/values.yaml": "", "c/.config/x": "", "c/charts/d/.helmignore": "*", "c/charts/d/Chart.yaml": meta, "shared/templates/s.yaml": "", "shared/one.yaml": "",
	} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("../../shared/templates", filepath.Join(dir, "c/templates/shared")), os.Symlink("../../shared/one.yaml", filepath.Join(dir, "c/templates/one.yaml"))); err != nil {
		t.Fatal(err)
	}
	for _, rules := range []string{"*.bak\nci/\n", "templates/a.yaml\n# no rule\n/charts\n", "!keep.txt\n", ""} {
		if err := os.WriteFile(filepath.Join(dir, "c/.helmignore"), []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
		fsys, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		files, err := Directory(fsys, "c")
		for _, f := range files {
			got = append(got, f.Name)
		}
		ch, helm := loader.LoadDir(filepath.Join(dir, "c"))
		if helm == nil {
			for _, f := range ch.Raw {
				want = append(want, f.Name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if (err == nil) != (helm == nil) && len(got) > 1 || helm == nil && !slices.Equal(got, want) {
			t.Errorf("with %q: got %q, %v, and Helm has %q, %v", rules, got, err, want, helm)
		}
	}
}

// Links that lead out of the directory, or in a circle, are refused.
func TestFiles_Links(t *testing.T) {
	for to, want := range map[string]string{"/etc/hostname": "out of the repository", "../../..": "out of the repository", "..": "in a circle"} {
		dir := t.TempDir()
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "c/templates"), 0o755), os.Symlink(to, filepath.Join(dir, "c/templates/l"))); err != nil {
			t.Fatal(err)
		}
		fsys, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := helmFiles(fsys, "c"); err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "too many") {
			t.Errorf("a link to %s: got %v, want %q", to, err, want)
		}
	}
	if _, err := helmFiles(fstest.MapFS{"c/.helmignore": {Data: []byte("**/x\n")}}, "c"); err == nil || !strings.Contains(err.Error(), "c/.helmignore: double-star") {
		t.Errorf("got %v", err)
	}
}
