package infra

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/kwok"
)

type testProgress struct{ t *testing.T }
type testTask struct {
	t    *testing.T
	what string
}

func (p testProgress) Begin(what string) Task { p.t.Log(what); return testTask{p.t, what} }
func (testTask) Update(string)                {}
func (k testTask) End(detail string, err error) {
	k.t.Logf("%s: %s %v", k.what, detail, err)
}

func TestSmoke(t *testing.T) {
	paths, err := DefaultPaths(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	stack, err := NewStack(paths, kwok.StackMod, kwok.StackSum)
	if err != nil {
		t.Fatal(err)
	}
	if err := stack.Build(t.Context(), testProgress{t}, Groups()...); err != nil {
		t.Fatal(err)
	}
	stages, err := Stages(kwok.Files, "stages")
	if err != nil {
		t.Fatal(err)
	}
	sup := NewSupervisor()
	defer sup.Close(0)
	start := time.Now()
	c := NewEmbedded(EmbeddedOptions{Name: "smoke", Paths: paths, Stack: stack, Ports: NewPorts(paths.Ports()), Sup: sup, Stages: stages})
	defer func() { t.Log(c.Down(context.Background())) }()
	if err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log("up", time.Since(start))
	clients, err := NewClients(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := LoadProfiles(kwok.Files, "profiles")
	if err != nil {
		t.Fatal(err)
	}
	sys, acc, err := ChooseProfiles(profiles, "eks", "any")
	if err != nil {
		t.Fatal(err)
	}
	if err := EnsureNodes(t.Context(), clients, append(sys.Nodes(2), acc.Nodes(4)...)); err != nil {
		t.Fatal(err)
	}
	if err := EnsureStorage(t.Context(), clients); err != nil {
		t.Fatal(err)
	}
	t.Log("nodes", time.Since(start))
	if d := os.Getenv("SMOKE_HOLD"); d != "" {
		w, _ := time.ParseDuration(d)
		time.Sleep(w)
	}
}
