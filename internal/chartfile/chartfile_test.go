package chartfile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

// packed is an archive of these entries; a regular file has its name as content.
func packed(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, h := range entries {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content = "# " + h.Name
			if strings.HasSuffix(h.Name, "Chart.yaml") {
				content = "{apiVersion: v2, name: web, version: 1.0.0}"
			}
		}
		h.Size, h.Mode = int64(len(content)), 0o644
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name} }

func TestLoad(t *testing.T) {
	good := []tar.Header{{Typeflag: tar.TypeDir, Name: "web/"}, file("web/Chart.yaml"), file("web/templates/a..b.yaml")}
	ch, err := Load(packed(t, good...))
	if err != nil {
		t.Fatal(err)
	}
	if ch.Name() != "web" || len(ch.Templates) != 1 {
		t.Errorf("got chart %s with %d templates", ch.Name(), len(ch.Templates))
	}
	for name, c := range map[string]struct {
		entry tar.Header
		want  string
	}{
		"symbolic link":          {tar.Header{Typeflag: tar.TypeSymlink, Name: "web/values.yaml", Linkname: "/etc/passwd"}, `a link, "web/values.yaml" to "/etc/passwd"`},
		"hard link":              {tar.Header{Typeflag: tar.TypeLink, Name: "web/values.yaml", Linkname: "web/Chart.yaml"}, "a link"},
		"device":                 {tar.Header{Typeflag: tar.TypeChar, Name: "web/null"}, "neither a file nor a directory"},
		"parent directory":       {file("web/../../x"), "leads out of the chart"},
		"parent inside":          {file("web/templates/../x.yaml"), "leads out of the chart"},
		"parent, with backslash": {file(`web\..\..\x`), "leads out of the chart"},
		"absolute path":          {file("/etc/x"), "leads out of the chart"},
	} {
		_, err := Load(packed(t, append(good, c.entry)...))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	whole := packed(t, good...)
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"not an archive": {[]byte("<html>please log in</html>"), "no archive of a chart"},
		"truncated":      {whole[:len(whole)/2], "no whole archive"},
		"too large":      {make([]byte, Max+1), "more than a chart may have"},
	} {
		if _, err := Load(c.archive); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestReadAllIsLimited(t *testing.T) {
	if _, err := ReadAll(endless{}); err == nil || !strings.Contains(err.Error(), "more than a chart may have") {
		t.Errorf("got %v", err)
	}
}
