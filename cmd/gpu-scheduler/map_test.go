package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadMap(t *testing.T) {
	file := filepath.Join(t.TempDir(), "map.yaml")
	text := "schedulingMap:\n- podIndex: 2\n  nodeName: node3\n  gpuDevices: \"2,0\"\n- podIndex: 0\n  nodeName: node1\n  gpuDevices: \"0\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := ReadMap(file)
	if err != nil || m.indexes() != "0, 2" {
		t.Fatalf("got %v, %v", m, err)
	}
	if e, ok := m.Find(2); !ok || e.NodeName != "node3" || e.Visible() != "2,0" {
		t.Errorf("got %+v", e)
	}
	if _, ok := m.Find(1); ok {
		t.Error("an entry that is not there was found")
	}
	if _, err := ReadMap(file + "x"); err == nil || !strings.Contains(err.Error(), "read the scheduling map: ") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// Each mistake is named with its line, and all of them at once.
func TestMapMistakes(t *testing.T) {
	entry := func(text string) string { return "schedulingMap:\n- {" + text + "}\n" }
	for text, want := range map[string]string{
		"":                                    "m.yaml:1: schedulingMap has no entries",
		"schedulingMap: []\n":                 "m.yaml:1: schedulingMap has no entries",
		"a: 1\n":                              `m.yaml:1: unknown field "a"`,
		"schedulingMap: {\n":                  "m.yaml:",
		entry(`nodeName: a, gpuDevices: "0"`): "m.yaml:2: an entry has no podIndex",
		entry(`podIndex: -1, nodeName: a, gpuDevices: "0"`):           "m.yaml:2: podIndex -1: want 0 or more",
		entry(`podIndex: 0, gpuDevices: "0"`):                         "m.yaml:2: the entry of podIndex 0 has no nodeName",
		entry(`podIndex: 0, nodeName: a`):                             "m.yaml:2: the entry of podIndex 0 has no gpuDevices",
		entry(`podIndex: 0, nodeName: a, gpuDevices: "0, 1"`):         `gpuDevices "0, 1": want the numbers of GPUs`,
		entry(`podIndex: 0, nodeName: a, gpuDevices: "-1"`):           `gpuDevices "-1": want the numbers of GPUs`,
		entry(`podIndex: 0, nodeName: a, gpuDevices: "1,1"`):          `gpuDevices "1,1": device 1 is named twice`,
		entry(`podIndex: x, nodeName: a, gpuDevices: "1"`):            "m.yaml:2: cannot unmarshal",
		entry(`podIndex: 0, nodeName: a, gpuDevices: "1", gpus: "1"`): `m.yaml:2: unknown field "gpus"`,
		entry(`podIndex: 0, nodeName: a, gpuDevices: "1"`) + "- {podIndex: 0, nodeName: b, gpuDevices: \"1\"}\n- {podIndex: 1}\n": "m.yaml:3: podIndex 0 has two entries\nm.yaml:4: the entry of podIndex 1 has no nodeName",
	} {
		if _, err := parseMap("m.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
