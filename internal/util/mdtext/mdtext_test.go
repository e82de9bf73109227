package mdtext

import "testing"

func TestText(t *testing.T) {
	for _, tc := range []struct{ name, got, want string }{
		{"code", Code("a\n b"), "`a b`"},
		{"code with backticks", Code("a `b` ``c"), "```a `b` ``c```"},
		{"code that ends with a backtick", Code("`a"), "`` `a ``"},
		{"no code", Code(" \n"), ""},
		{"code in a cell", CellCode("a|b"), "`a\\|b`"},
		{"plain", Plain("GPU Operator, v1 (x-y)"), "GPU Operator, v1 (x-y)"},
		{"plain that would be more", Plain("<b>\n# a *b* [c](d) `e` & www.f.g \u202eh"), `\<b\> \# a \*b\* \[c\](d) \` + "`e\\`" + ` \& www\.f\.g \\u202eh`},
		{"fence", Fence("a\nb\n\n", "sh"), "```sh\na\nb\n```\n"},
		{"fence around a fence", Fence("````\nx", ""), "`````\n````\nx\n`````\n"},
		{"list", CodeList([]string{"a", "", "  b `c`", "    d\te", "  f", "g"}), "- `a`\n  - `` b `c` ``\n    - `d e`\n  - `f`\n- `g`\n"},
		{"list that begins below nothing", CodeList([]string{"    a", "  b", "   c"}), "- `a`\n- `b`\n  - `c`\n"},
		{"code that turns", Code("a\u202eb\u009bc é…"), "`a\\u202eb\\u009bc é…`"},
		{"fence that turns", Fence("\u2066a", ""), "```\n\\u2066a\n```\n"},
		{"folded, that turns", Folded("of", "\u2069", "x"), "\n<details><summary>of <code>\\u2069</code></summary>\n\nx\n\n</details>\n\n"},
		{"folded", Folded("<b>", "", "x\n\n"), "\n<details><summary>&lt;b&gt;</summary>\n\nx\n\n</details>\n\n"},
		{"folded, of a name", Folded("of", "a\n\n@b<", "x"), "\n<details><summary>of <code>a @b&lt;</code></summary>\n\nx\n\n</details>\n\n"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, tc.got, tc.want)
		}
	}
}
