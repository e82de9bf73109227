package lists

import (
	"slices"
	"testing"
)

func TestAtMost(t *testing.T) {
	three := []string{"a", "b", "c"}
	for n, want := range map[int][]string{4: three, 3: three, 2: {"a", "b", "and 1 more"}, 0: {"and 3 more"}} {
		if got := AtMost(three, n); !slices.Equal(got, want) {
			t.Errorf("at most %d: got %q, want %q", n, got, want)
		}
	}
	if AtMost(three, 1)[1] = "x"; three[1] != "b" {
		t.Errorf("the list itself was changed: %q", three)
	}
}

func TestUnique(t *testing.T) {
	if got, want := Unique([]string{"b", "a", "b", "c", "a"}), []string{"b", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Unique([]string{}); got != nil {
		t.Errorf("got %q, want nil", got)
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 cells", 1: "1 cell", 2: "2 cells"} {
		if got := Count(n, "cell"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
