package bundle

import (
	"strings"
	"testing"
)

// A recipe's texts are code or plain text in the READMEs of its bundles: none makes a tag, a link, a heading,
// another cell or line.
func TestReadme_Inert(t *testing.T) {
	const evil = "x|y` <img src=x onerror=alert(1)>\n\n# Z [a](javascript:alert(1)) https://evil.example @team"
	for _, d := range Deployers() {
		in := fixture()
		in.Components[0].DisplayName = evil
		in.Components[0].Values = map[string]any{evil: evil}
		in.PutIn = []string{evil}
		if strings.HasSuffix(d.Name(), "-git") {
			in.RepoURL, in.TargetRevision = "https://registry.example.com/aicr/demo.git", "main"
		}
		if d.Name() != HelmTemplate {
			in.Charts, in.Unrendered = nil, true
			in.Components[0].Version, in.Components[1].Source = "1.0.0-"+evil, "oci://registry.example.com/"+evil
		}
		b, err := d.Bundle(t.Context(), in)
		if err != nil {
			t.Fatalf("%s: %v", d.Name(), err)
		}
		seen := false
		for _, f := range b.Files {
			if !strings.HasSuffix(f.Path, "README.md") {
				continue
			}
			text := string(f.Content)
			seen = seen || strings.Contains(text, "img src")
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "    ") {
					continue // code
				}
				if strings.HasPrefix(line, "# Z") || strings.Contains(line, "img src") && strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 8 {
					t.Errorf("%s: %s has the line %q", d.Name(), f.Path, line)
				}
				line = outsideOfCode(line)
				for _, bad := range []string{"<", "](", "https://evil", "@team", "*b*"} {
					if i := strings.Index(line, bad); i > 0 && line[i-1] != '\\' || i == 0 {
						t.Errorf("%s: %s has %q outside of code: %q", d.Name(), f.Path, bad, line)
					}
				}
			}
		}
		if !seen {
			t.Errorf("%s: no README has the texts", d.Name())
		}
	}
}

// outsideOfCode is a line without its code spans, each of which ends with as many backticks as it begins with.
func outsideOfCode(line string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(line, "`")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		if strings.HasSuffix(before, `\`) {
			line = rest
			continue
		}
		n := 1 + len(rest) - len(strings.TrimLeft(rest, "`"))
		rest, ticks := rest[n-1:], strings.Repeat("`", n)
		end := -1
		for at := 0; at < len(rest); {
			i := strings.Index(rest[at:], "`")
			if i < 0 {
				break
			}
			at += i
			run := len(rest[at:]) - len(strings.TrimLeft(rest[at:], "`"))
			if run == n {
				end = at
				break
			}
			at += run
		}
		if end < 0 {
			b.WriteString(ticks)
			line = rest
			continue
		}
		line = rest[end+n:]
	}
}
