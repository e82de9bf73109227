package aicrcli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script is a CLI of this text.
func script(t *testing.T, text string) CLI {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aicr")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return CLI{Path: path, Lookup: os.LookupEnv}
}

// A CLI says its version in one of several ways.
func TestVersion(t *testing.T) {
	const flag = `[ "$1" = --version ] && echo aicr version v1.2.3 && exit 0` + "\n"
	for text, want := range map[string]string{
		"echo aicr version v1.2.3-rc.1":                                                       "1.2.3-rc.1",
		`echo '{"version":"v1.2.3","commit":"0a1b2c"}'`:                                       "1.2.3",
		`printf '\033[1maicr\033[0m\nversion: \033[32mv1.2.3\033[0m\n'`:                       "1.2.3",
		"echo aicr version v1.2.3 >&2":                                                        "1.2.3",
		"echo 'aicr version dev (commit: unknown)'":                                           "dev",
		"echo 'aicr (devel)'":                                                                 "dev",
		"echo aicr version v0.15.1-next+dirty":                                                "0.15.1-next+dirty",
		"echo aicr version 0.15":                                                              "0.15",
		"echo aicr version main-1a2b3c4":                                                      "main-1a2b3c4",
		"echo aicr version development":                                                       "dev",
		"echo 'A release v9.9.9 of aicr is there'; echo aicr v1.2.3":                          "1.2.3",
		"echo helm v3.18.2; echo aicr: v1.2.3":                                                "1.2.3",
		"echo 'aicr version:'; echo '  GoVersion: go1.26.1'; echo '  Version: v1.2.3'":        "1.2.3",
		"echo 'A release v9.9.9 is there'; echo '{\"go\":\"1.26.1\",\"version\":\"v1.2.3\"}'": "1.2.3",
		`[ "$1" = --version ] && echo aicr v1.2.3 || echo 'v9.9.9 is there'`:                  "1.2.3",
		"echo v1.2.3": "1.2.3",
		flag + "echo 'No help topic for version'":           "1.2.3",
		flag + "echo 'unknown command version' >&2; exit 2": "1.2.3",
	} {
		if got, err := script(t, text+"\n").Version(t.Context(), 10*time.Second); err != nil || got != want {
			t.Errorf("%s\ngot %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"echo hello":                 "prints no version, neither for the command version nor for the flag --version: is this AICR's CLI?; printed:\n  hello",
		"exit 0":                     "prints no version",
		"[ \"$1\" = version ]":       "prints no version",
		"echo no config >&2; exit 2": "aicr version: exit status 2 (in AICR: invalid input or an unknown flag); stderr:\n  no config",
	} {
		if _, err := script(t, text+"\n").Version(t.Context(), 10*time.Second); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v; want %q", text, err, want)
		}
	}
}

// A CLI that hangs when it is asked for its version is asked once, and ended.
func TestVersion_Hangs(t *testing.T) {
	c := script(t, `[ "$1" = --version ] && echo v1.2.3 && exit 0`+"\necho waiting; exec sleep 60\n")
	_, err := c.Version(t.Context(), time.Second)
	for _, want := range []string{"ask AICR's CLI for its version", "it did not end within 1s, and was ended", "waiting"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A program that the CLI leaves behind, in a session of its own, keeps nothing waiting, and has a message.
func TestRun_LeavesAProgram(t *testing.T) {
	began := time.Now()
	_, err := script(t, "setsid sleep 20 &\necho started\n").Run(t.Context(), time.Minute, t.TempDir(), nil, "recipe")
	if err == nil || !strings.Contains(err.Error(), "a program that it has started still holds its output") || !strings.Contains(err.Error(), "started") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}

// What a failed command printed is quoted from both of its outputs, with what its exit code means.
func TestRun_Failed(t *testing.T) {
	for code, want := range map[string]string{
		"1": "exit status 1; stderr:\n  50%100%",
		"2": "exit status 2 (in AICR: invalid input or an unknown flag); stderr:",
		"3": "(in AICR: not found)", "4": "(in AICR: not permitted to log in)", "5": "(in AICR: timeout)",
		"6": "(in AICR: a service is unavailable)", "7": "(in AICR: too many requests)", "8": "(in AICR: an internal error of the CLI)",
		"9": "exit status 9; stderr:",
	} {
		_, err := script(t, `printf '50%%\r\033[2K\033[32m100%%\033[0m\n' >&2; echo the reason; exit `+code+"\n").Run(t.Context(), 10*time.Second, t.TempDir(), nil, "bundle")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; stdout:\n  the reason") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// What a command refuses may come before all of its help, or after it.
func TestRun_LongHelp(t *testing.T) {
	const help = "for i in 1 2 3 4 5 6 7 8 9 10; do printf '%0999d\\n' $i; done\n"
	_, err := script(t, "echo 'flag provided but not defined: -output'\n"+help+"echo last; exit 1\n").Run(t.Context(), 10*time.Second, t.TempDir(), nil, "recipe")
	for _, want := range []string{"stdout:\n  flag provided but not defined: -output\n  (some lines are left out)\n  0000", "\n  last", "run that with --bundle-dir DIR"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err = script(t, "echo 'no such service' >&2; exit 2\n").Run(t.Context(), 10*time.Second, t.TempDir(), nil, "recipe"); err == nil || strings.Contains(err.Error(), "flags that AICR") {
		t.Errorf("its exit code alone says nothing of flags: %v", err)
	}
	if _, err = script(t, "kill -KILL $$\n").Run(t.Context(), 10*time.Second, t.TempDir(), nil, "recipe"); err == nil || !strings.Contains(err.Error(), "signal: killed (not by matrix: most likely by the kernel, for want of memory)") {
		t.Errorf("a command that is killed: %v", err)
	}
	if _, err = script(t, "echo 'lookup example.com: no such host' >&2; exit 6\n").Run(t.Context(), 10*time.Second, t.TempDir(), nil, "recipe"); err == nil || !strings.Contains(err.Error(), "It can reach nothing but the registry") {
		t.Errorf("a command without a network: %v", err)
	}
}
