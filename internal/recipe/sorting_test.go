package recipe

import (
	"strings"
	"testing"
)

func TestDependencies_Order(t *testing.T) {
	for name, c := range map[string]struct {
		depends, off, order, cycle string
	}{
		"nothing":                     {"", "", "", ""},
		"alphabetical":                {"b: a: c:", "", "a b c", ""},
		"after what they depend on":   {"a:c b:a c:", "", "c a b", ""},
		"a choice is alphabetical":    {"z: y:z a:z b:y", "", "z a y b", ""},
		"a dependency twice":          {"a:b,b b:", "", "b a", ""},
		"nothing waits for one off":   {"a:b b:", "b", "a", ""},
		"a cycle":                     {"c:a a:b b:c d:", "", "", "a b c"},
		"of itself":                   {"a:a", "", "", "a"},
		"one that leads into a cycle": {"a:c c:d d:c", "", "", "c d"},
		"a cycle through one off":     {"a:b b:a", "b", "a", ""},
	} {
		depends, off := map[string][]string{}, map[string]bool{}
		for _, part := range strings.Fields(c.depends) {
			of, on, _ := strings.Cut(part, ":")
			depends[of] = strings.FieldsFunc(on, func(r rune) bool { return r == ',' })
		}
		for _, part := range strings.Fields(c.off) {
			off[part] = true
		}
		order, cycle := orderDependencies(depends, off)
		if strings.Join(order, " ") != c.order || strings.Join(cycle, " ") != c.cycle {
			t.Errorf("%s: got the order %q and the cycle %q, want %q and %q", name, order, cycle, c.order, c.cycle)
		}
	}
}
