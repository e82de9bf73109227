// Command kindnode makes a Kind node image, and the images of the controllers that a Kind run
// needs, on a machine that reaches no image registry: from Debian packages and Go modules. It is a
// test fixture. What it makes is not kindest/node. Where a Docker engine runs and the registries
// have the pinned images, it pulls those instead. The variable KIND_IMAGES forces either: auto (the
// default), pinned or assembled.
//
//	go run ./test/kindnode status print "kept in DIRECTORY" or "missing in DIRECTORY", then which images these are, and why
//	go run ./test/kindnode build  build or pull what is missing
//	go run ./test/kindnode up     the same, then start a private Docker engine if none runs, and load the node image
//	go run ./test/kindnode env    print the environment of an engine that is up
//	go run ./test/kindnode down   stop that engine and remove all that it left; built images stay in the cache directory
//	go run ./test/kindnode test [ARGUMENTS]
//	                              up, then go test -tags kind ARGUMENTS with that environment, then down if up started the engine
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if filepath.Base(os.Args[0]) == runtimeName {
		if err := runtimeMain(os.Args); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", runtimeName, err)
			os.Exit(1)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kindnode:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) == 0 || (len(args) > 1 && args[0] != "test") {
		return fmt.Errorf("expected one of status, build, up, env, down, test; got %q", strings.Join(args, " "))
	}
	f, err := newFixture(ctx)
	if err != nil {
		return err
	}
	if args[0] != "down" {
		if err := f.choose(ctx); err != nil {
			return err
		}
		if args[0] != "status" {
			fmt.Fprintf(os.Stderr, "==> Images: %s\n", f.choice)
		}
	}
	switch args[0] {
	case "status":
		state := "missing"
		if f.built() {
			state = "kept"
		}
		fmt.Printf("%s in %s: %s\n", state, f.dir(), f.choice)
		return nil
	case "build":
		unlock, err := f.lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		return f.make(ctx)
	case "up":
		if _, err := f.up(ctx); err != nil {
			return err
		}
		return f.printEnv(ctx, os.Stdout)
	case "env":
		return f.printEnv(ctx, os.Stdout)
	case "down":
		unlock, err := f.lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		return f.engine().down(ctx)
	case "test":
		return f.test(ctx, args[1:])
	}
	return fmt.Errorf("unknown command %q; there are status, build, up, env, down and test", args[0])
}
