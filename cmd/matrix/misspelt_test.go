package main

import (
	"strings"
	"testing"
)

func TestWarnMisspelt(t *testing.T) {
	known := []string{"KWOK_SCHEDULING_TIMEOUT", "KWOK_CLUSTER", "AICR_ACTION_DATA"}
	for pair, want := range map[string]string{
		"KWOK_SCHEDULING_TIMOUT=5":  "m: warning: nothing reads the variable KWOK_SCHEDULING_TIMOUT; did you mean KWOK_SCHEDULING_TIMEOUT?\n",
		"AICR_ACTION_DATAS=x":       "m: warning: nothing reads the variable AICR_ACTION_DATAS; did you mean AICR_ACTION_DATA?\n",
		"KWOK_SCHEDULING_TIMEOUT=5": "",
		"KWOK_KUBE_VERSION=1":       "",
		"HOME=/root":                "",
	} {
		var out strings.Builder
		warnMisspelt(&out, "m", []string{pair}, known)
		if out.String() != want {
			t.Errorf("%s: got %q, want %q", pair, out.String(), want)
		}
	}
}
