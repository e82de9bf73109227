package stack

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// treeOf is an image of these layers, the lowest first; asked has the layers that were needed.
func treeOf(t *testing.T, asked *[]int, layers ...[]packed) *tree {
	t.Helper()
	dir := t.TempDir()
	return &tree{layers: make([]*layer, len(layers)), most: 1 << 20, get: func(_ context.Context, i int) (string, error) {
		*asked = append(*asked, i)
		file := filepath.Join(dir, strconv.Itoa(i))
		return file, os.WriteFile(file, tarOf(t, layers[i]...), 0o600)
	}}
}

// A file is the one that a container would see.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers [][]packed
		want   string // content; empty if it is not there
		asked  int    // layers
	}{
		{"the upper of two", [][]packed{{executable("bin/x", "old")}, {executable("bin/x", "new")}}, "new", 1},
		{"in a lower layer", [][]packed{{executable("bin/x", "low")}, {directory("bin"), executable("bin/y", "y")}}, "low", 2},
		{"named ./", [][]packed{{executable("./bin/x", "dot")}}, "dot", 1},
		{"the later of two in one layer", [][]packed{{executable("bin/x", "first"), executable("bin/x", "second")}}, "second", 1},
		{"removed", [][]packed{{executable("bin/x", "old")}, {empties("bin/.wh.x")}}, "", 1},
		{"its directory removed", [][]packed{{executable("bin/x", "old")}, {empties(".wh.bin")}}, "", 1},
		{"its directory emptied", [][]packed{{executable("bin/x", "old")}, {empties("bin/.wh..wh..opq"), executable("bin/y", "y")}}, "", 1},
		{"removed and written again", [][]packed{{executable("bin/x", "old")}, {empties("bin/.wh.x"), executable("bin/x", "new")}}, "new", 1},
		{"another one removed", [][]packed{{executable("bin/x", "old")}, {empties("bin/.wh.xy")}}, "old", 2},
		{"an absolute link", [][]packed{{executable("opt/x", "linked")}, {symlink("bin/x", "/opt/x")}}, "linked", 2},
		{"a relative link", [][]packed{{symlink("bin/x", "../opt/x"), executable("opt/x", "linked")}}, "linked", 1},
		{"a link of a directory", [][]packed{{executable("usr/bin/x", "merged")}, {symlink("bin", "usr/bin")}}, "merged", 2},
		{"a link to what is above", [][]packed{{symlink("bin/x", "y")}, {executable("bin/y", "above")}}, "above", 2},
		{"a link to what was removed", [][]packed{{executable("opt/x", "old")}, {symlink("bin/x", "/opt/x"), empties("opt/.wh.x")}}, "", 1},
		{"a hard link", [][]packed{{executable("opt/x", "same"), hardlink("bin/x", "opt/x")}}, "same", 1},
		{"a hard link to a lower layer", [][]packed{{executable("opt/x", "same")}, {hardlink("bin/x", "opt/x")}, {empties("opt/.wh.x")}}, "same", 3},
		{"a file where its directory was", [][]packed{{executable("bin/x", "old")}, {executable("bin", "file")}}, "", 1},
		{"nowhere", [][]packed{{executable("bin/y", "y")}}, "", 1},
		{"no layers", nil, "", 0},
	} {
		var asked []int
		tree := treeOf(t, &asked, c.layers...)
		l, m, err := tree.find(t.Context(), "/bin/x")
		if c.want == "" {
			if !errors.Is(err, errNoSuchFile) {
				t.Errorf("%s: got %v, want that it is not there", c.name, err)
			}
		} else {
			var got bytes.Buffer
			if err == nil {
				err = l.copyTo(t.Context(), m, &got)
			}
			if err != nil || got.String() != c.want {
				t.Errorf("%s: got %q, %v; want %q", c.name, got.String(), err, c.want)
			}
		}
		if len(asked) != c.asked {
			t.Errorf("%s: layers %v were asked for, want %d", c.name, asked, c.asked)
		}
	}
}

// What unpacks to too much ends before it is read whole.
func TestFind_Bomb(t *testing.T) {
	var asked []int
	tree := treeOf(t, &asked, []packed{{name: "zeros", content: strings.Repeat("\x00", 2<<20), kind: '0'}, executable("bin/x", "x")})
	if _, _, err := tree.find(t.Context(), "/bin/x"); err == nil || !strings.Contains(err.Error(), "it unpacks to more than 1 MiB") {
		t.Errorf("got %v", err)
	}
}
