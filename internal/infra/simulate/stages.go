package simulate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"
)

// Stages joins the KWOK stages in dir of fsys into one stream of YAML documents.
func Stages(fsys fs.FS, dir string) ([]byte, error) {
	files, err := fs.Glob(fsys, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var parts [][]byte
	for _, f := range files {
		raw, err := fs.ReadFile(fsys, f)
		if err != nil {
			return nil, fmt.Errorf("read KWOK stage %s: %w", f, err)
		}
		parts = append(parts, bytes.TrimSpace(raw))
	}
	return bytes.Join(parts, []byte("\n---\n")), nil
}

// MergeStages adds stages to a configuration of KWOK that has some. A stage that is added takes the
// place of the one of its name: with both, chance would decide which of them an object gets.
func MergeStages(config, stages []byte) ([]byte, error) {
	extra, err := yamlDocuments(stages)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, d := range extra {
		names[stageName(d)] = true
	}
	have, err := yamlDocuments(config)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, d := range have {
		if name := stageName(d); name == "" || !names[name] {
			all = append(all, d)
		}
	}
	return bytes.Join(append(all, extra...), []byte("\n---\n")), nil
}

// StageNames are the stages in a configuration of KWOK.
func StageNames(config []byte) ([]string, error) {
	docs, err := yamlDocuments(config)
	var names []string
	for _, d := range docs {
		if name := stageName(d); name != "" {
			names = append(names, name)
		}
	}
	return names, err
}

func yamlDocuments(raw []byte) ([][]byte, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw)))
	var all [][]byte
	for {
		d, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if d = bytes.TrimSpace(d); len(d) > 0 {
			all = append(all, d)
		}
	}
}

// stageName is the name of a stage, "" for a document of another kind.
func stageName(d []byte) string {
	var s struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if yaml.Unmarshal(d, &s) != nil || s.Kind != v1alpha1.StageKind {
		return ""
	}
	return s.Metadata.Name
}
