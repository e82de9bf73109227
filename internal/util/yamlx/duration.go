package yamlx

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a time as Go writes it, e.g. 30s or 5m.
type Duration time.Duration

// UnmarshalYAML reads such a time of 0 or more; 0 is the only one without a unit.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := time.ParseDuration(n.Value)
	if err != nil || parsed < 0 || n.Kind != yaml.ScalarNode {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %q is no duration of 0 or more, e.g. 30s or 5m", n.Line, n.Value)}}
	}
	*d = Duration(parsed)
	return nil
}
