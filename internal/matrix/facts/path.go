package facts

import (
	"strconv"
	"strings"
)

// At is the value at a path as kubectl explain and the API server write it: names with dots between them, the
// items of lists by their number, names with dots in brackets and quotes, e.g.
// spec.template.spec.containers[0].env[1].name or metadata.annotations["example.com/x"]. Nil if there is none.
func At(v any, path string) any {
	for _, step := range Steps(path) {
		switch in := v.(type) {
		case map[string]any:
			v = in[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// Steps are the names and numbers of a path.
func Steps(path string) (steps []string) {
	for path != "" {
		switch {
		case strings.HasPrefix(path, `["`):
			name, rest, ok := strings.Cut(path[2:], `"]`)
			if !ok {
				return append(steps, path[2:])
			}
			steps, path = append(steps, name), rest
		case path[0] == '[':
			number, rest, _ := strings.Cut(path[1:], "]")
			steps, path = append(steps, number), rest
		default:
			path = strings.TrimPrefix(path, ".")
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				return append(steps, path)
			}
			steps, path = append(steps, path[:end]), path[end:]
		}
	}
	return steps
}
