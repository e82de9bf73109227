package intake

import (
	"crypto/sha256"
	"fmt"
	"path"
	"strings"

	"github.com/nvidia/aicr-action/internal/util/yamlx"
	yamlv3 "go.yaml.in/yaml/v3"
)

// provenanceFile says where the charts inside of a bundle are from.
const provenanceFile = "provenance.yaml"

// checkVendored holds the charts inside of a bundle against what provenance.yaml says of each.
func (t *tree) checkVendored() error {
	if _, ok := t.files[provenanceFile]; !ok {
		return nil
	}
	docs, err := t.documents(provenanceFile)
	if err != nil {
		return err
	}
	if len(docs) != 1 {
		return t.bad(provenanceFile, 0, "want one document")
	}
	list := yamlx.Find(docs[0], "vendoredCharts")
	for i := 0; list != nil && list.Kind == yamlv3.SequenceNode && i < len(list.Content); i++ {
		v := list.Content[i]
		name, tarball, sum := yamlx.Text(v, "name"), yamlx.Text(v, "tarballName"), strings.TrimPrefix(yamlx.Text(v, "sha256"), "sha256:")
		if tarball == "" || sum == "" {
			continue // nothing to hold it against
		}
		var found []string
		fits := false
		for _, file := range t.names() {
			if path.Base(file) == path.Base(tarball) {
				found = append(found, file)
				fits = fits || strings.EqualFold(fmt.Sprintf("%x", sha256.Sum256(t.files[file].Content)), sum)
			}
		}
		if len(found) == 0 {
			return t.bad(provenanceFile, yamlx.LineOf(v, "tarballName"), "the vendored chart of %s, %s, is not in the bundle", name, tarball)
		}
		if !fits {
			return t.bad(provenanceFile, yamlx.LineOf(v, "sha256"), "the vendored chart of %s, %s, has another SHA-256 than %s: it is not the chart that the bundle was made with; make the bundle again", name, strings.Join(found, ", "), sum)
		}
	}
	return nil
}
