package podspec

import "strings"

// Expand replaces $(NAME) as k8s.io/kubernetes/third_party/forked/golang/expansion does for kubelets: $$ is a dollar, a name
// ends at the first bracket, and what has no end stays.
func Expand(text string, value func(name string) string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		if text[i+1] == '$' {
			out.WriteByte('$')
			i++
			continue
		}
		name, _, ends := strings.Cut(text[i+1:], ")")
		if !ends || name == "" || name[0] != '(' {
			out.WriteByte('$')
			continue
		}
		i += len(name) + 1
		out.WriteString(value(name[1:]))
	}
	return out.String()
}
