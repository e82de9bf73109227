package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// KnownDifference is a difference between two platforms that is reviewed and not the recipe's.
type KnownDifference struct {
	// Object and Path are patterns in which * stands for any text: "DaemonSet gpu-operator/*",
	// "spec.template.*".
	Object string `yaml:"object"`
	Path   string `yaml:"path"`
	// Values, if set, are the values that the field must have for the entry to count, by platform:
	// JSON, or "nothing" for a missing one.
	Values map[string]string `yaml:"values"`
	// Reason says in one line where the difference comes from. Link is the page that explains what
	// it means for a verdict.
	Reason string `yaml:"reason"`
	Link   string `yaml:"link"`
}

// The format of the list of known differences.
const (
	knownAPIVersion = "aicr.nvidia.com/v1alpha1"
	knownKind       = "KnownPlatformDifferences"
)

// ParseKnown reads a list of known differences, strictly. Errors are: an unknown field; an entry
// without an object, a path, a reason or a link; and a pattern that covers every field of every
// object.
func ParseKnown(file string, data []byte) ([]KnownDifference, error) {
	var doc struct {
		APIVersion  string            `yaml:"apiVersion"`
		Kind        string            `yaml:"kind"`
		Differences []KnownDifference `yaml:"differences"`
	}
	if err := yamlx.DecodeStrict(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if doc.APIVersion != knownAPIVersion || doc.Kind != knownKind {
		return nil, fmt.Errorf("%s: it is %q; want %q", file, doc.APIVersion+" "+doc.Kind, knownAPIVersion+" "+knownKind)
	}
	var found []error
	for i, d := range doc.Differences {
		for name, value := range map[string]string{"object": d.Object, "path": d.Path, "reason": d.Reason, "link": d.Link} {
			if strings.TrimSpace(value) == "" {
				found = append(found, fmt.Errorf("%s: entry %d has no %s", file, i+1, name))
			}
		}
		if strings.Trim(d.Path, "*") == "" && strings.Trim(d.Object, "* ") == "" {
			found = append(found, fmt.Errorf("%s: entry %d covers every field of every object", file, i+1))
		}
	}
	return doc.Differences, errors.Join(found...)
}

// covers reports whether the entry covers a difference between these platforms, with the values as
// texts.
func (k KnownDifference) covers(object, path string, platforms, values [2]string) bool {
	if !MatchWildcard(k.Object, object) || !MatchWildcard(k.Path, path) {
		return false
	}
	for i, p := range platforms {
		if want, ok := k.Values[p]; ok && want != values[i] {
			return false
		}
	}
	return true
}

// Platforms are the differences between one cell on two platforms.
type Platforms struct {
	// Objects is the number of compared objects; 0 unless the cell passed on both.
	Objects int
	// Known are the differences on the list, with their reasons; Unknown are the others. Each is a
	// line.
	Known, Unknown []string
}

// OnPlatforms compares a cell with itself on another platform: the verdicts and, if both passed,
// every object. live is nil for a cell that has not passed.
func OnPlatforms(ctx context.Context, results [2]result.Result, live [2]*Captured, known []KnownDifference) (Platforms, error) {
	var found Platforms
	names := [2]string{results[0].Cluster, results[1].Cluster}
	for _, field := range []struct {
		what string
		of   func(result.Result) string
	}{
		{"status", func(r result.Result) string {
			return strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Status, r.Reason, result.FirstLine(r.Cause)))
		}},
		{"pods", func(r result.Result) string { return fmt.Sprint(r.Pods) }},
		{"components", func(r result.Result) string { return fmt.Sprint(r.Components) }},
		{"assertions of health checks", func(r result.Result) string { return fmt.Sprint(r.Checks) }},
	} {
		a, b := field.of(results[0]), field.of(results[1])
		if field.what == "status" && results[0].Status == results[1].Status && results[0].Reason == results[1].Reason {
			continue // messages have names and times in them
		}
		if a != b {
			found.Unknown = append(found.Unknown, fmt.Sprintf("%s  %s: %s; %s: %s", field.what, names[0], a, names[1], b))
		}
	}
	if live[0] == nil || live[1] == nil {
		return found, nil
	}
	c := &comparison{reference: Lane{Live: live[0]}}
	keys := keysOf(live[0], live[1])
	found.Objects = len(keys)
	for _, key := range keys {
		object, diffs, err := compareObject(live[0], live[1], key)
		if err != nil {
			return found, err
		}
		for _, d := range diffs {
			generated, err := c.isGenerated(ctx, key, d.path)
			if err != nil {
				return found, err
			}
			a, b := d.texts()
			line := fmt.Sprintf("%s  %s  %s: %s; %s: %s", object, cmp.Or(d.path, "the object"), names[0], a, names[1], b)
			i := slices.IndexFunc(known, func(k KnownDifference) bool {
				return k.covers(object.String(), d.path, names, [2]string{valueText(d.a), valueText(d.b)})
			})
			switch {
			case generated:
				found.Known = append(found.Known, fmt.Sprintf("%s  %s: the chart generates a new value each time that it is rendered", object, d.path))
			case i >= 0:
				found.Known = append(found.Known, fmt.Sprintf("%s: %s (%s)", line, known[i].Reason, known[i].Link))
			default:
				found.Unknown = append(found.Unknown, line)
			}
		}
	}
	return found, nil
}
