package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The pictures of README.md are those of the text beside them.
func TestPictures(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "docs", "images")
	text, err := os.ReadFile(filepath.Join(dir, "run.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, theme := range themes() {
		have, err := os.ReadFile(filepath.Join(dir, "run-"+theme.name+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != svg(string(text), theme) {
			t.Errorf("run-%s.svg is not drawn from run.txt: make picture", theme.name)
		}
		decoder := xml.NewDecoder(strings.NewReader(string(have)))
		for err == nil {
			_, err = decoder.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("run-%s.svg is no XML: %v", theme.name, err)
		}
	}
}

func TestWrap(t *testing.T) {
	long := "    " + strings.Repeat("word ", 30) + "end"
	lines := wrap(long)
	if len(lines) != 2 || !strings.HasPrefix(lines[1], "      word") || len(lines[0]) > columns {
		t.Errorf("got %q", lines)
	}
	var words []string
	for _, line := range lines {
		words = append(words, strings.Fields(line)...)
	}
	if !slices.Equal(words, strings.Fields(long)) {
		t.Errorf("got the words %q", words)
	}
	if unbroken := strings.Repeat("x", columns+10); len(wrap(unbroken)) != 1 {
		t.Errorf("got %q", wrap(unbroken))
	}
}

func TestColored(t *testing.T) {
	for line, want := range map[string]string{
		"eks   ✓ 3.1 s, 2 pods   ✗ DEPLOY_FAILED (51)": `eks   <tspan class="good">✓ 3.1 s</tspan>, 2 pods   <tspan class="bad">✗ DEPLOY_FAILED (51)</tspan>`,
		"$ matrix run <a>":   `<tspan class="command">$ matrix run &lt;a&gt;</tspan>`,
		"   edit: remove it": `<tspan class="hint">   edit: remove it</tspan>`,
	} {
		if got := colored(line); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
}
