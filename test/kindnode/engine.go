package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// engine is a Docker engine of the fixture's own. It shares no socket, directory, bridge or
// firewall rule with another one.
type engine struct {
	dir string // data and log
}

// lockEvery is how often a lock is tried that another run holds.
const lockEvery = 200 * time.Millisecond

// runDir has the sockets: a path in the cache directory may be longer than a socket's may be.
func (e *engine) runDir() string {
	sum := sha256.Sum256([]byte(e.dir))
	return "/run/kindnode-" + hex.EncodeToString(sum[:4])
}

func (e *engine) socket() string  { return "unix://" + filepath.Join(e.runDir(), "docker.sock") }
func (e *engine) pidFile() string { return filepath.Join(e.runDir(), "docker.pid") }
func (e *engine) data() string    { return filepath.Join(e.dir, "data") }
func (e *engine) log() string     { return filepath.Join(e.dir, "dockerd.log") }

// docker runs the client against an address; "" is whatever the client's environment says.
func docker(ctx context.Context, address string, args ...string) (string, error) {
	p := program{}
	if address != "" {
		p.env = []string{"DOCKER_HOST=" + address}
	}
	return p.run(ctx, "docker", args...)
}

// answers is quick where no engine is. One that is there may take its time on a busy machine, and
// must not be taken for dead.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := docker(ctx, address, "version", "--format", "{{.Server.Version}}")
	return err
}

// address is that of the engine in use: the private one if it is up, else the machine's.
func (e *engine) address(ctx context.Context) (string, error) {
	if answers(ctx, e.socket()) == nil {
		return e.socket(), nil
	}
	address := os.Getenv("DOCKER_HOST")
	if address == "" {
		address = "unix:///var/run/docker.sock"
	}
	if err := answers(ctx, address); err != nil {
		return "", fmt.Errorf("no Docker engine answers: %w", err)
	}
	return address, nil
}

// up starts the private engine where no engine answers.
func (e *engine) up(ctx context.Context) (started bool, err error) {
	if _, err := e.address(ctx); err == nil {
		return false, nil
	}
	return true, step("Starting a Docker engine of our own", func() error {
		if err := e.down(ctx); err != nil { // what one that was killed has left
			return err
		}
		return e.start(ctx)
	})
}

// containerdGone waits for the containerd of an engine that was killed. The kernel kills it with
// the engine, but a moment later. An engine that starts in that moment takes it for one that runs,
// starts none, and waits in vain for it to answer.
func (e *engine) containerdGone(ctx context.Context) error {
	file := filepath.Join(e.runDir(), "exec", "containerd", "containerd.pid")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil // no engine has run
	}
	err = poll(ctx, 30*time.Second, func() error {
		stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(text)), "stat"))
		if err != nil || !strings.Contains(string(stat), "(containerd) ") || strings.Contains(string(stat), "(containerd) Z ") {
			return nil // it has ended; its number may be another process's by now
		}
		return fmt.Errorf("process %s, the containerd of an engine that was killed, still runs", strings.TrimSpace(string(text)))
	})
	return errors.Join(err, os.Remove(file))
}

func (e *engine) start(ctx context.Context) error {
	if err := e.containerdGone(ctx); err != nil {
		return err
	}
	for _, dir := range []string{e.data(), e.runDir()} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	wrapper := filepath.Join(e.dir, runtimeName)
	if err := copyFile(wrapper, self); err != nil {
		return err
	}
	config := filepath.Join(e.dir, "daemon.json")
	if err := os.WriteFile(config, []byte("{}\n"), 0o644); err != nil {
		return err
	}
	log, err := os.Create(e.log())
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the daemon has its own copy
	daemon := exec.Command("dockerd",
		"--host", e.socket(), "--data-root", e.data(), "--exec-root", filepath.Join(e.runDir(), "exec"), "--pidfile", e.pidFile(), "--config-file", config,
		// Nodes need no way out of this machine, and pods reach each other inside the node: the
		// machine's firewall and routes stay as they are.
		"--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false",
		"--add-runtime", "kindnode="+wrapper, "--default-runtime", "kindnode")
	daemon.Stdout, daemon.Stderr = log, log
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := daemon.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- daemon.Wait() }()
	err = poll(ctx, 2*time.Minute, func() error {
		select {
		case err := <-exited:
			exited <- err
			return nil
		default:
			return answers(ctx, e.socket())
		}
	})
	select {
	case gone := <-exited:
		err = fmt.Errorf("dockerd exited: %w", errors.Join(gone, err))
	default:
	}
	if err != nil {
		_ = daemon.Process.Signal(syscall.SIGTERM) // it may have exited
		text, _ := os.ReadFile(e.log())            // without it the error still says what failed
		return fmt.Errorf("%w\n%s", err, text[max(0, len(text)-4096):])
	}
	return nil
}

// loadAssembled gives the engine the assembled images: the node image where it lacks it, and those
// of the controllers where it may have others under their names. A fresh engine has none, and the
// program under test loads them.
func (e *engine) loadAssembled(ctx context.Context, f *fixture, fresh bool) error {
	address, err := e.address(ctx)
	if err != nil {
		return err
	}
	load := func(what, archive string) error {
		return step("Loading "+what, func() error {
			_, err := docker(ctx, address, "load", "--quiet", "--input", archive)
			return err
		})
	}
	if _, err := docker(ctx, address, "image", "inspect", f.nodeImage()); err != nil {
		if err := load("the node image", f.nodeTar()); err != nil {
			return err
		}
	}
	if fresh {
		return nil
	}
	return load("the images of controllers", f.imagesTar())
}

// pid is the private engine's, 0 if none runs. Another process that has got the number of a dead
// engine is not taken for it.
func (e *engine) pid() int {
	text, err := os.ReadFile(e.pidFile())
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil || !strings.Contains(string(line), e.pidFile()) {
		return 0
	}
	return pid
}
