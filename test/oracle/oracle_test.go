// Package oracle compares the rules of this module with the programs that decide: the kubelet, the scheduler's filters,
// the API server, Helm and bash. `make oracle` runs it with many inputs, `make test` with a few. It has tests only.
package oracle

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nvidia/aicr-action/internal/charts/render"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/infra/stack"
	"github.com/nvidia/aicr-action/internal/testkit/infratest"
	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
	"github.com/nvidia/aicr-action/internal/util/texttemplate"
)

var (
	seed     = flag.Uint64("seed", 1, "of what is generated; 0 takes one from the clock")
	inputs   = flag.Int("inputs", 12, "how many are generated for each oracle; without any, only the cases and the known differences are asked about")
	sample   = flag.Int("sample", 40, "how many cases are asked about besides, by the seed; 0 for all")
	compiled = flag.String("compiled", "", "directory with the programs of testdata, if they are compiled already")
	only     = flag.String("only", "", "the one input that is asked about, e.g. generated-7 of a seed; it is printed")
	found    = flag.String("found", "", "directory in which new differences are saved, each made small")
)

// oracle asks a program and our rules about inputs.
type oracle struct {
	name string
	// bases are what inputs are generated from.
	bases []input
	// asked are further inputs.
	asked []input
	// generate, if set, makes an input of nothing.
	generate func(g *generator) input
	// prepare, if set, leaves out of an input what another program decides about.
	prepare func(in *input)
	// program says what the program does; ours what our rules say; agree whether these are the same.
	program func(ctx context.Context, all []input) (map[string]verdict, error)
	// compare returns the difference of an input, nil if there is none.
	compare func(ctx context.Context, in *input, v *verdict) (*difference, error)
	version string
	// limit is how long our side may take for one input; 0 is two minutes.
	limit time.Duration
	// has, if set, says of the input of a row whether there is what to ask the program about.
	has func(in *input) bool
}

// run asks about everything, and fails the test for what is not in the table.
func (o *oracle) run(t *testing.T, all schemas) {
	rows, err := readKnown(filepath.Join("testdata", "differences"))
	if err != nil {
		t.Fatal(err)
	}
	rows = slices.DeleteFunc(rows, func(k known) bool { return k.oracle == o.name && o.has != nil && !o.has(&k.input) })
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%s of %s: -seed %d -inputs %d", o.name, o.version, *seed, *inputs)
	list := slices.Concat(o.bases, sampled(o.asked))
	for _, k := range rows {
		if k.oracle == o.name {
			list = append(list, k.input)
		}
	}
	g := newGenerator(*seed, all, list)
	stored := o.generate == nil && len(o.bases) == 0
	for i, tries := 0, 0; i < *inputs && tries < 20**inputs && !stored; tries++ {
		var in input
		ok := true
		if o.generate != nil {
			in = o.generate(g)
		} else {
			in = o.bases[g.IntN(len(o.bases))]
			for n := 1 + g.IntN(2); n > 0 && ok; n-- {
				in, ok = g.mutated(in)
			}
		}
		if ok {
			in.Name = fmt.Sprintf("generated-%d", i)
			list = append(list, in)
			i++
		}
	}
	for i := range list {
		if o.prepare != nil {
			list[i] = list[i].copy()
			o.prepare(&list[i])
		}
	}
	names := map[string]bool{}
	for i := range list { // what is said of one would be taken for what is said of another
		if names[list[i].Name] {
			t.Fatalf("two inputs have the name %s", list[i].Name)
		}
		names[list[i].Name] = true
	}
	if *only != "" {
		list = slices.DeleteFunc(list, func(in input) bool { return in.Name != *only })
		rows = nil
		for i := range list {
			t.Logf("%s:\n%s", list[i].From, list[i].yaml())
		}
	}
	begin := time.Now()
	differ, words, err := o.differences(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	t.Logf("%d inputs in %s, %.0f a minute: %v; %d differ", len(list), took.Round(time.Millisecond), float64(len(list))/took.Minutes(), words, len(differ))
	if len(words) < 2 && o.generate == nil && !stored && *only == "" {
		t.Errorf("the program says the same of all %d inputs (%v): they tell nothing", len(list), words)
	}
	wrong := settle(o.name, o.version, rows, differ)
	for _, line := range wrong {
		t.Error(line)
	}
	if *found != "" && len(wrong) > 0 {
		o.shrink(t, rows, differ)
	}
}

// sampled are those of some inputs that are asked about.
func sampled(all []input) []input {
	if *sample == 0 || len(all) <= *sample {
		return all
	}
	g := rand.New(rand.NewPCG(*seed, 0))
	var some []input
	for _, i := range g.Perm(len(all))[:*sample] {
		some = append(some, all[i])
	}
	return some
}

// differences asks the program about all at once.
func (o *oracle) differences(ctx context.Context, list []input) (all []difference, words map[string]int, err error) {
	verdicts, err := o.program(ctx, list)
	if err != nil {
		return nil, nil, err
	}
	words = map[string]int{}
	for i := range list {
		v, ok := verdicts[list[i].Name]
		if !ok {
			return nil, nil, fmt.Errorf("the program said nothing of %s", list[i].Name)
		}
		words[v.Word]++
		d, err := o.compared(ctx, &list[i], &v)
		if err != nil {
			return nil, nil, fmt.Errorf("%s (%s): %w\n%s", list[i].Name, list[i].From, err, list[i].yaml())
		}
		if d != nil {
			all = append(all, *d)
		}
	}
	return all, words, nil
}

// compared is what compare says; an error if that takes too long, which no rule may.
func (o *oracle) compared(ctx context.Context, in *input, v *verdict) (*difference, error) {
	type answer struct {
		d   *difference
		err error
	}
	limit := cmp.Or(o.limit, 2*time.Minute)
	done := make(chan answer, 1)
	go func() {
		d, err := o.compare(ctx, in, v)
		done <- answer{d, err}
	}()
	select {
	case a := <-done:
		return a.d, a.err
	case <-time.After(limit):
		return nil, fmt.Errorf("our rules gave no answer within %s, and the program said: %s", limit, v)
	}
}

// shrink makes one input of each new kind of difference as small as it can be while it differs in the same way, and saves it.
func (o *oracle) shrink(t *testing.T, rows []known, differ []difference) {
	one := map[string]difference{}
	for _, d := range differ {
		if slices.ContainsFunc(rows, func(k known) bool { return k.oracle == o.name && k.is(&d) }) {
			continue
		}
		if have, ok := one[d.signature()]; !ok || len(d.input.yaml()) < len(have.input.yaml()) {
			one[d.signature()] = d
		}
	}
	for _, of := range slices.Sorted(maps.Keys(one)) { // for the case that the test is ended meanwhile
		d := one[of]
		save(t, *found, o.name, o.version, &d)
	}
	for round := 0; round < 12; round++ {
		var list []input
		for _, of := range slices.Sorted(maps.Keys(one)) {
			d := one[of]
			for i, smaller := range smaller(&d.input) {
				smaller.Name = fmt.Sprintf("%s %d", d.input.Name, i)
				list = append(list, smaller)
			}
		}
		if len(list) == 0 {
			break
		}
		next, _, err := o.differences(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		better := false
		for _, d := range next {
			have, ok := one[d.signature()]
			if name, _, _ := strings.Cut(d.input.Name, " "); ok && name == have.input.Name && len(d.input.yaml()) < len(have.input.yaml()) {
				d.input.Name, better = name, true
				one[d.signature()] = d
			}
		}
		if !better {
			break
		}
	}
	for _, of := range slices.Sorted(maps.Keys(one)) {
		d := one[of]
		save(t, *found, o.name, o.version, &d)
	}
}

// smaller are an input's copies that each lack something.
func smaller(in *input) (all []input) {
	var cut func(v any, drop func(func(any) any))
	add := func(at int, change func(any) any) {
		out := in.copy()
		objects := out.all()
		if at == 0 {
			out.Subject = change(objects[0]).(map[string]any)
		} else {
			out.Objects[at-1] = change(objects[at]).(map[string]any)
		}
		all = append(all, out)
	}
	for i := range in.Objects {
		out := in.copy()
		out.Objects = slices.Delete(out.Objects, i, i+1)
		all = append(all, out)
	}
	for at, o := range in.all() {
		cut = func(v any, drop func(func(any) any)) {
			switch v := v.(type) {
			case map[string]any:
				for _, k := range slices.Sorted(maps.Keys(v)) {
					if slices.Contains([]string{"apiVersion", "kind", "name", "namespace"}, k) {
						continue
					}
					drop(func(x any) any { delete(x.(map[string]any), k); return x })
					cut(v[k], func(change func(any) any) {
						drop(func(x any) any { m := x.(map[string]any); m[k] = change(m[k]); return m })
					})
				}
			case string: // of a file, a line
				for i := range strings.Count(v, "\n") {
					drop(func(x any) any {
						lines := strings.SplitAfter(x.(string), "\n")
						return strings.Join(slices.Delete(lines, i, i+1), "")
					})
				}
			case []any:
				for i := range v {
					drop(func(x any) any { return slices.Delete(x.([]any), i, i+1) })
					cut(v[i], func(change func(any) any) {
						drop(func(x any) any { l := x.([]any); l[i] = change(l[i]); return l })
					})
				}
			}
		}
		cut(o, func(change func(any) any) { add(at, change) })
	}
	return all
}

// theStack is the stack's module: its directory and version.
func theStack(t *testing.T) (dir, version string, s *stack.Stack) {
	t.Helper()
	s = infratest.Stack(t, infratest.Cache(t))
	out, err := host.RunCommand(t.Context(), filepath.Join(root, "kwok", "stack"), nil, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	if err != nil {
		t.Fatalf("find Kubernetes' module: %v", err)
	}
	return strings.TrimSpace(out), s.Version("k8s.io/kubernetes"), s
}

// theSchemas are those of the stack's Kubernetes.
func theSchemas(t *testing.T, dir string) schemas {
	t.Helper()
	all, err := readSchemas(filepath.Join(dir, "api", "openapi-spec", "v3"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

type program struct {
	d   *decider
	err error
}

var built = map[string]program{}

// TestMain removes the compiled program.
func TestMain(m *testing.M) {
	workers.Serve(sandbox.Hidden(), render.Hidden(), texttemplate.Hidden())
	flag.Parse()
	dir, err := os.MkdirTemp("", "oracle")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var buildDir string

// theProgram is one of testdata, compiled once.
func theProgram(t *testing.T, name, version string) *decider {
	t.Helper()
	p, ok := built[name]
	if !ok {
		p.d, p.err = build(t.Context(), buildDir, name, version)
		built[name] = p
	}
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.d
}
