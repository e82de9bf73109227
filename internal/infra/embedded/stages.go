package embedded

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	kwokruntime "sigs.k8s.io/kwok/pkg/kwokctl/runtime"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/infra/podrun"
)

// addStages appends the extra stages to the configuration that kwokctl wrote, which has its default stages. An extra stage takes the place
// of the default one of its name: with both, chance would decide which of them a pod gets. Pods that run are left out of all of them.
func (c *ControlPlane) addStages() error {
	path := filepath.Join(c.dir, kwokruntime.ConfigName)
	have, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	extra, err := yamlDocuments(c.stages)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, d := range extra {
		names[stageName(d)] = true
	}
	defaults, err := yamlDocuments(have)
	if err != nil {
		return err
	}
	var all [][]byte
	for _, d := range defaults {
		if name := stageName(d); name == "" || !names[name] {
			all = append(all, d)
		}
	}
	config, err := podrun.Exclude(bytes.Join(append(all, extra...), []byte("\n---\n")), c.programs)
	if err != nil {
		return err
	}
	return os.WriteFile(path, config, 0o644)
}

// StageNames are the KWOK stages that the cluster in a directory has, from the file that its kwok reads.
func StageNames(dir string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, kwokruntime.ConfigName))
	if err != nil {
		return nil, err
	}
	docs, err := yamlDocuments(raw)
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
