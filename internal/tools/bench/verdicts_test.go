package main

import (
	"strings"
	"testing"
)

func TestVerdictTable(t *testing.T) {
	all, err := readVerdicts(`{"cell":"F01/helm","reason":"A","after":3}
{"cell":"F02/helm","reason":"B","cause":"c","object":"Pod x/y","after":41.4}
{"cell":"F03/flux-oci","reason":"C","after":20}
`)
	if err != nil {
		t.Fatal(err)
	}
	got := verdictTable(all)
	for _, want := range []string{
		"| flux-oci | 1 | 100 % | 20.0 s | 20.0 s |\n", "| helm | 2 | 50 % | 3.0 s | 41.4 s |\n| all | 3 | 67 % | 20.0 s | 41.4 s |\n", "| F02/helm | B | 41 s | Pod x/y |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "F03") {
		t.Errorf("20 s is not late:\n%s", got)
	}
	if _, err := readVerdicts("no JSON\n"); err == nil {
		t.Error("a line that is no JSON passes")
	}
}
