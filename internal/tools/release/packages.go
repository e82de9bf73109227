package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"github.com/nvidia/aicr-action/internal/util/filesys"
)

// The files for package managers.
const (
	// formulaFile is the formula for Homebrew.
	formulaFile = "matrix.rb"
	// krewFile is the manifest for krew, which installs plugins of kubectl.
	krewFile = "krew_matrix.yaml"
	// Downloads is where the files of this repository's releases are, below the version.
	Downloads = "https://github.com/nvidia/aicr-action/releases/download"
)

// pluginArchive is the name of a release's file with matrix as a plugin of kubectl: krew takes archives
// only.
func pluginArchive(version string, p Platform) string {
	return "kubectl-matrix_" + version + "_" + p.OS + "_" + p.Arch + ".tar.gz"
}

// Packages makes the files for package managers of the programs in the directory: an archive of each
// platform, the manifest for krew and the formula for Homebrew, with the digests of the files that
// they install. Address is where the directory's files will be, e.g. Downloads and the version.
// The license is a file that each archive has too.
func Packages(version, dir, address, license string) error {
	var all []packaged
	for _, p := range platforms() {
		one := packaged{Platform: p, Address: strings.TrimSuffix(address, "/"), Binary: Binary(version, p), Plugin: pluginArchive(version, p)}
		var err error
		if one.BinaryDigest, err = filesys.SHA256(filepath.Join(dir, one.Binary)); err != nil {
			return fmt.Errorf("make packages: %w", err)
		}
		if err := plugin(filepath.Join(dir, one.Plugin), filepath.Join(dir, one.Binary), license); err != nil {
			return fmt.Errorf("make packages: %w", err)
		}
		if one.PluginDigest, err = filesys.SHA256(filepath.Join(dir, one.Plugin)); err != nil {
			return fmt.Errorf("make packages: %w", err)
		}
		all = append(all, one)
	}
	for file, text := range map[string]string{formulaFile: formula, krewFile: krew} {
		var b bytes.Buffer
		t := template.Must(template.New(file).Parse(text))
		if err := t.Execute(&b, map[string]any{"Version": version, "Number": strings.TrimPrefix(version, "v"), "All": all, "Systems": systems(all)}); err != nil {
			return fmt.Errorf("make packages: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("make packages: %w", err)
		}
	}
	return nil
}

// packaged is what the package managers install on one platform.
type packaged struct {
	Platform
	Address              string
	Binary, BinaryDigest string
	Plugin, PluginDigest string
}

// system is a block of the formula: the packages of one operating system.
type system struct {
	Block    string
	Packages []packaged
}

// systems groups the packages by Homebrew's names for operating systems.
func systems(all []packaged) []system {
	list := []system{{Block: "on_macos"}, {Block: "on_linux"}}
	for _, p := range all {
		i := 0
		if p.OS == "linux" {
			i = 1
		}
		list[i].Packages = append(list[i].Packages, p)
	}
	return list
}

// plugin writes the archive of one platform, with neither times nor owners.
func plugin(file, binary, license string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	packed := gzip.NewWriter(f)
	archive := tar.NewWriter(packed)
	for _, part := range []struct {
		name, from string
		mode       int64
	}{{"LICENSE", license, 0o644}, {"kubectl-matrix", binary, 0o755}} {
		if err := addFile(archive, part.name, part.from, part.mode); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return packed.Close()
}

// addFile adds a file to an archive.
func addFile(archive *tar.Writer, name, from string, mode int64) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: mode, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

// formula is a formula for Homebrew. The program is one file, which is not unpacked.
const formula = `class Matrix < Formula
  desc "Run NVIDIA AICR recipes through Helm, Argo CD and Flux on simulated nodes"
  homepage "https://github.com/nvidia/aicr-action"
  version "{{ .Number }}"
  license "Apache-2.0"
{{ range .Systems }}
  {{ .Block }} do
{{- range .Packages }}
    {{ if eq .Arch "arm64" }}on_arm{{ else }}on_intel{{ end }} do
      url "{{ .Address }}/{{ .Binary }}", using: :nounzip
      sha256 "{{ .BinaryDigest }}"
    end
{{- end }}
  end
{{ end }}
  def install
    bin.install Dir["matrix_*"].first => "matrix"
    generate_completions_from_executable(bin/"matrix", "completion")
  end

  test do
    assert_match "v#{version}", shell_output("#{bin}/matrix version")
  end
end
`

// krew is a manifest for krew (krew.sigs.k8s.io/docs/developer-guide/plugin-manifest).
const krew = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: matrix
spec:
  version: {{ .Version }}
  homepage: https://github.com/nvidia/aicr-action
  shortDescription: Run AICR recipes through Helm, Argo CD and Flux
  description: |
    Runs recipes of NVIDIA's AI Cluster Runtime, or any chart, Argo CD Application or Flux
    HelmRelease, on a control plane of its own with simulated GPU nodes, and says what does not
    become ready and why. It needs no cluster.
  platforms:
{{- range .All }}
    - selector:
        matchLabels: {os: {{ .OS }}, arch: {{ .Arch }}}
      uri: {{ .Address }}/{{ .Plugin }}
      sha256: {{ .PluginDigest }}
      bin: kubectl-matrix
{{- end }}
`
