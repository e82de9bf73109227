package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const packageVersion = "v1.2.3"

// released is a server of a release whose programs are scripts, with the files for package managers.
func released(t *testing.T) (dir, address string) {
	t.Helper()
	dir = t.TempDir()
	server := httptest.NewServer(http.StripPrefix("/download/"+packageVersion, http.FileServer(http.Dir(dir))))
	t.Cleanup(server.Close)
	for _, p := range platforms() {
		for _, file := range []string{Binary(packageVersion, p), aicrBinary(packageVersion, p)} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte("the program "+file), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	license := filepath.Join(t.TempDir(), "LICENSE")
	if err := os.WriteFile(license, []byte("the licence"), 0o644); err != nil {
		t.Fatal(err)
	}
	address = server.URL + "/download/" + packageVersion
	if err := Packages(packageVersion, dir, address+"/", license); err != nil {
		t.Fatal(err)
	}
	return dir, address
}

// download gets a file as a package manager does: what does not have the digest is not installed.
func download(t *testing.T, url, digest string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != digest {
		t.Fatalf("%s has not the digest %s", url, digest)
	}
	return content
}

// krew finds the archive of each platform on the server, with the digest and the program in it.
func TestPackages_Krew(t *testing.T) {
	dir, address := released(t)
	raw, err := os.ReadFile(filepath.Join(dir, krewFile))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description string
			Platforms                                        []struct {
				Selector         struct{ MatchLabels Platform }
				URI, SHA256, Bin string
			}
		}
	}
	if err := yaml.UnmarshalStrict(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Metadata.Name != "matrix" || manifest.Spec.Version != packageVersion || len(manifest.Spec.ShortDescription) > 50 || manifest.Spec.ShortDescription == "" {
		t.Errorf("got %+v", manifest)
	}
	if len(manifest.Spec.Platforms) != len(platforms()) {
		t.Fatalf("got %d platforms", len(manifest.Spec.Platforms))
	}
	for i, p := range platforms() {
		one := manifest.Spec.Platforms[i]
		if one.Selector.MatchLabels != p || !strings.HasPrefix(one.URI, address+"/") {
			t.Errorf("got %+v, want %s below %s", one, p, address)
		}
		files := unpacked(t, download(t, one.URI, one.SHA256))
		if files[one.Bin] != "the program "+Binary(packageVersion, p) || files["LICENSE"] != "the licence" || len(files) != 2 {
			t.Errorf("%s: got %q", p, files)
		}
	}
}

func unpacked(t *testing.T, content []byte) map[string]string {
	t.Helper()
	packed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == "kubectl-matrix" && header.Mode != 0o755 {
			t.Errorf("%s has the mode %o", header.Name, header.Mode)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}

// Homebrew finds the program of each platform on the server, with its digest.
func TestPackages_Homebrew(t *testing.T) {
	dir, address := released(t)
	raw, err := os.ReadFile(filepath.Join(dir, formulaFile))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if !strings.Contains(text, `version "1.2.3"`) {
		t.Errorf("no version in\n%s", text)
	}
	mac, linux, ok := strings.Cut(text, "on_linux do")
	if !ok || !strings.Contains(mac, "on_macos do") {
		t.Fatalf("not both systems in\n%s", text)
	}
	install := regexp.MustCompile(`(?s)on_(arm|intel) do\s+url "([^"]+)", using: :nounzip\s+sha256 "([0-9a-f]{64})"\s+end`)
	for os, part := range map[string]string{"darwin": mac, "linux": linux} {
		found := install.FindAllStringSubmatch(part, -1)
		if len(found) != 2 {
			t.Errorf("%s: got %q", os, found)
		}
		for _, f := range found {
			arch := map[string]string{"arm": "arm64", "intel": "amd64"}[f[1]]
			if want := address + "/" + Binary(packageVersion, Platform{os, arch}); f[2] != want {
				t.Errorf("got %s, want %s", f[2], want)
			}
			if got := string(download(t, f[2], f[3])); got != "the program "+Binary(packageVersion, Platform{os, arch}) {
				t.Errorf("%s: got %q", f[2], got)
			}
		}
	}
	if depth := strings.Count(text, " do\n") + strings.Count(text, "def ") + strings.Count(text, "class "); strings.Count(text, "end\n") != depth {
		t.Errorf("%d blocks, and %d ends in\n%s", depth, strings.Count(text, "end\n"), text)
	}
}

// The same programs make the same packages; without one there are none.
func TestPackages_Again(t *testing.T) {
	dir, address := released(t)
	before, err := os.ReadFile(filepath.Join(dir, krewFile))
	if err != nil {
		t.Fatal(err)
	}
	license := filepath.Join(t.TempDir(), "LICENSE")
	if err := os.WriteFile(license, []byte("the licence"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Packages(packageVersion, dir, address, license); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, krewFile)); err != nil || !bytes.Equal(before, after) {
		t.Errorf("got another manifest, %v", err)
	}
	if err := os.Remove(filepath.Join(dir, Binary(packageVersion, platforms()[0]))); err != nil {
		t.Fatal(err)
	}
	if err := Packages(packageVersion, dir, address, license); err == nil || !strings.Contains(err.Error(), Binary(packageVersion, platforms()[0])) {
		t.Errorf("got %v", err)
	}
}
