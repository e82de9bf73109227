package kwok

import (
	"bytes"
	"os"
	"testing"
)

func TestEmbeddedPartsListIsTheRealOne(t *testing.T) {
	for _, c := range []struct {
		file string
		copy []byte
	}{{"stack/go.mod", StackMod}, {"stack/go.sum", StackSum}} {
		real, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(real, c.copy) {
			t.Errorf("the embedded copy of kwok/%s is old: run `make generate` and commit the result", c.file)
		}
	}
}
