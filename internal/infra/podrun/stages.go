package podrun

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/nvidia/aicr-action/internal/infra"
)

// Exclude makes the KWOK stages for pods in a configuration ignore pods that these programs are of, by
// more expressions in the selector of each. Without programs it returns the configuration unchanged.
// It fails if the configuration has no such stage, since KWOK would then write its own status.
func Exclude(config []byte, programs []infra.Program) ([]byte, error) {
	if len(programs) == 0 {
		return config, nil
	}
	var images, commands []any
	for _, p := range programs {
		if p.Command == "" {
			images = append(images, p.Image)
		} else {
			commands = append(commands, p.Image+" "+p.Command)
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	found := 0
	for decoder := yaml.NewDecoder(bytes.NewReader(config)); ; {
		var doc map[string]any
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read KWOK's configuration: %w", err)
		}
		if doc == nil {
			continue
		}
		if exclude(doc, images, commands) {
			found++
		}
		if err := encoder.Encode(doc); err != nil {
			return nil, fmt.Errorf("write KWOK's configuration: %w", err)
		}
	}
	if found == 0 {
		return nil, errors.New("KWOK's configuration has no stage for pods; pods that run would get two statuses")
	}
	return out.Bytes(), encoder.Close()
}

// commandKey is the image of each container and the base name of its command, as infra.Program.Of compares them.
const commandKey = `.spec.containers.[] | .image + " " + ((.command // [""])[0] | split("/") | last // "")`

func exclude(doc map[string]any, images, commands []any) bool {
	spec, _ := doc["spec"].(map[string]any)
	ref, _ := spec["resourceRef"].(map[string]any)
	if doc["kind"] != "Stage" || ref["kind"] != "Pod" {
		return false
	}
	selector, _ := spec["selector"].(map[string]any)
	if selector == nil {
		selector = map[string]any{}
		spec["selector"] = selector
	}
	expressions, _ := selector["matchExpressions"].([]any)
	if len(images) > 0 {
		expressions = append(expressions, map[string]any{"key": ".spec.containers.[].image", "operator": "NotIn", "values": images})
	}
	if len(commands) > 0 {
		expressions = append(expressions, map[string]any{"key": commandKey, "operator": "NotIn", "values": commands})
	}
	selector["matchExpressions"] = expressions
	return true
}
