package lists

import "testing"

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"eks", "eks", 0}, {"eks", "gke", 2}} {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("%q, %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
	if got := Nearest("ek", []string{"aks", "eks", "gke"}); got != "eks" {
		t.Errorf("got %q", got)
	}
}
