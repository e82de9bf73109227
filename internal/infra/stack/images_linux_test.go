package stack

import (
	"context"
	"crypto/rand"
	"debug/elf"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/compression"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nvidia/aicr-action/internal/result/reason"
	"github.com/nvidia/aicr-action/internal/testkit/testskip"
)

// A whole stack comes out of images, without Go, and then without a network. Layers below the programs
// are not even asked for.
func TestImages(t *testing.T) {
	noGo(t)
	m := newMakers(t)
	base := m.pushAll(t)
	o := m.origin(t, sourceAuto)
	s, progress := stackOf(t, o), &recorded{}
	if err := s.Build(t.Context(), progress, s.groups...); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(progress.lines, "\n"))
	}
	if !progress.has("Choosing where programs come from: done, 13 programs from images") {
		t.Errorf("progress: %q", progress.lines)
	}
	want := elfProgram(t, ownMachine(), "")
	for _, g := range s.groups {
		for _, p := range g.Parts() {
			if got := contentOf(t, s.Bin(p.Name)); got != want {
				t.Errorf("%s has %d bytes, and not those of its image", p.Name, len(got))
			}
			if info, err := os.Stat(s.Bin(p.Name)); err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("%s: %v, %v", p.Name, info.Mode(), err)
			}
		}
	}
	for group, least := range map[Group]int{GroupArgoCD: 3, GroupFlux: 9} {
		if files, err := os.ReadDir(s.CRDs(group)); err != nil || len(files) != least {
			t.Errorf("CRDs of %s: %v, %v; want %d", group, files, err, least)
		}
	}
	digest, err := base.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if n := m.blobs(digest.String()); n > 0 {
		t.Errorf("the layer below the programs was asked for %d times", n)
	}
	for _, v := range s.Versions() {
		if v.Pulled == nil || !v.Pulled.Pinned || !v.Built || !strings.Contains(v.Pulled.Image, "@sha256:") {
			t.Errorf("%+v: want the image that it is from", v)
		}
	}
	var foreign []string
	for _, f := range s.Foreign(s.groups...) {
		foreign = append(foreign, fmt.Sprint(f.Name, f.Lacks != "", f.Shared))
	}
	if got := strings.Join(foreign, " "); got != "kwoktrue kube-controller-managertrue helmfalseargocd kustomizefalseargocd helm-4falseargocd" {
		t.Errorf("programs that differ from compiled ones: %s", got)
	}
	if dirs := s.BinDirs("helm", "kustomize"); len(dirs) != 1 || dirs[0] != filepath.Dir(s.Bin("argocd")) {
		t.Errorf("the programs of Argo CD's image are in %q", dirs)
	}
	m.server.Close()
	if err := s.Build(t.Context(), progress, s.groups...); err != nil || s.NeedsGo(s.groups...) {
		t.Errorf("with everything there: %v", err)
	}
	modules := newStack(t, hostPathsOf(s))
	if s.Identity() == modules.Identity() || !strings.Contains(s.Identity(), digestOf(m, "etcd")) {
		t.Error("a verdict with programs of images is taken for one with compiled programs")
	}
	if s.Complete() || len(modules.Missing(Groups()...)) != 12 {
		t.Error("programs of images count as compiled")
	}
}

func digestOf(m *makers, program string) string {
	for _, p := range m.lock.Programs {
		if p.Program == program {
			return p.Digests[platform()]
		}
	}
	return "none"
}

// trouble is what goes wrong with the image of etcd.
type trouble struct {
	name string
	// of answers in place of the registry.
	of func(w http.ResponseWriter, r *http.Request) bool
	// layers, if set, are the image's.
	layers []packed
	want   string
}

func answerAll(status int, header ...string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/etcd/") {
			return false
		}
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		return true
	}
}

// An image that cannot be had is compiled instead, and the progress says why; with --stack images it is
// an error. Nothing of it stays.
func TestImages_Trouble(t *testing.T) {
	program := elfProgram(t, ownMachine(), "")
	other := elf.EM_AARCH64
	if ownMachine() == other {
		other = elf.EM_X86_64
	}
	const at = "usr/local/bin/etcd"
	for _, c := range []trouble{
		{"401", answerAll(http.StatusUnauthorized), nil, "docker login"},
		{"403", answerAll(http.StatusForbidden), nil, "does not let it be pulled"},
		{"404", answerAll(http.StatusNotFound), nil, "404"},
		{"429 for long", answerAll(http.StatusTooManyRequests, "Retry-After", "3600"), nil, "asks to wait longer than 1m0s"},
		{"another manifest", func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/etcd/manifests/") {
				return false
			}
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			_, _ = w.Write([]byte(`{"schemaVersion":2}`))
			return true
		}, nil, "does not fit its digest, so that nothing of it is used"},
		{"another layer", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/etcd/blobs/") {
				return false
			}
			_, _ = w.Write([]byte("another content"))
			return true
		}, nil, "does not fit its digest, so that nothing of it is used"},
		{"no such file", nil, []packed{executable("usr/local/bin/etcdctl", program), executable("bin/x", program)}, "has no /usr/local/bin/etcd; it has /usr/local/bin/etcdctl"},
		{"no program at all", nil, []packed{{name: "readme", kind: '0', mode: 0o644}}, "it has no program at all"},
		{"another processor", nil, []packed{executable(at, elfProgram(t, other, ""))}, "is for another processor (" + other.String() + ") than linux/"},
		{"dynamically linked", nil, []packed{executable(at, elfProgram(t, ownMachine(), "/lib64/ld-linux.so.2"))}, "is dynamically linked: it needs /lib64/ld-linux.so.2"},
		{"a script", nil, []packed{executable(at, "#!/bin/sh\nexec etcd\n")}, "is no program for Linux"},
		{"a directory", nil, []packed{directory(at)}, "/" + at + " is no file"},
		{"an absolute name", nil, []packed{executable("/"+at, program)}, "is absolute or leads out of the image"},
		{"a name that leads out", nil, []packed{executable("usr/../../etc/x", program), executable(at, program)}, "is absolute or leads out of the image"},
		{"a link that leads out", nil, []packed{symlink(at, "../../../../bin/sh")}, "leads out of the image, to \"../../../../bin/sh\""},
		{"a hard link that leads out", nil, []packed{hardlink(at, "../../bin/sh")}, "is absolute or leads out of the image"},
		{"links in a circle", nil, []packed{symlink(at, "etcd2"), symlink("usr/local/bin/etcd2", "etcd")}, "more than 40 links"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := fakeGo(t, goodBuild)
			m := newMakers(t)
			m.pushAll(t)
			if c.layers != nil {
				m.push(t, "registry.k8s.io/etcd:3.6.8-0", func(elf.Machine) []v1.Layer { return []v1.Layer{packedLayer(t, compression.GZip, c.layers...)} })
			}
			m.answering(c.of)
			o := m.origin(t, sourceAuto)
			s, progress := stackOf(t, o), &recorded{}
			if err := s.Build(t.Context(), progress, GroupControlPlane); err != nil {
				t.Fatal(err)
			}
			if got := calls(t, log); len(got) != 1 || got[0] != "go.etcd.io/etcd/server/v3" {
				t.Errorf("compiled %q, want etcd alone", got)
			}
			said := strings.Join(progress.lines, "\n")
			if !strings.Contains(said, "Pulling etcd from registry.k8s.io/etcd:3.6.8-0: failed, compiled instead: ") || !strings.Contains(said, c.want) {
				t.Errorf("progress lacks %q:\n%s", c.want, said)
			}
			if r := s.recordOf("etcd"); r != nil || s.Bin("etcd") != s.compiled("etcd") || strings.Contains(s.Identity(), "etcd=") {
				t.Errorf("etcd is said to be of an image: %v", r)
			}
			strict := m.origin(t, sourceImages)
			err := stackOf(t, strict).Build(t.Context(), &recorded{}, GroupControlPlane)
			if err == nil || reason.Of(err) != reason.StackBuildFailed || !strings.Contains(err.Error(), c.want) {
				t.Errorf("--stack images: %v, want %q", err, c.want)
			}
			for _, o := range []*Origin{o, strict} {
				if left, _ := filepath.Glob(filepath.Join(o.Dir, "*", "etcd*")); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
				if left, _ := filepath.Glob(filepath.Join(o.Dir, unfinished+"*")); len(left) > 0 {
					t.Errorf("left: %q", left)
				}
			}
		})
	}
}

// A busy registry is asked again when it says.
func TestImages_Busy(t *testing.T) {
	noGo(t)
	m := newMakers(t)
	m.pushAll(t)
	var mu sync.Mutex
	var refused time.Time
	m.answering(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if !strings.Contains(r.URL.Path, "/etcd/manifests/") || !refused.IsZero() {
			return false
		}
		refused = time.Now()
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	})
	if err := stackOf(t, m.origin(t, sourceAuto)).Build(t.Context(), &recorded{}, GroupControlPlane); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(refused); waited < time.Second {
		t.Errorf("asked again after %s", waited)
	}
}

// Registries that do not answer cost three seconds once, for all programs.
func TestImages_Silent(t *testing.T) {
	log := fakeGo(t, goodBuild)
	m := newMakers(t)
	m.pushAll(t)
	release := make(chan struct{})
	defer close(release)
	m.answering(func(http.ResponseWriter, *http.Request) bool { <-release; return false })
	s, progress := stackOf(t, m.origin(t, sourceAuto)), &recorded{}
	started := time.Now()
	if err := s.Build(t.Context(), progress, GroupControlPlane, GroupFlux); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(started); took > 3*probeTime {
		t.Errorf("took %s", took)
	}
	if len(calls(t, log)) != 9 || !progress.has("Choosing where programs come from: done, 9 programs from modules: "+m.host+" did not answer within 3s") {
		t.Errorf("progress: %q", progress.lines)
	}
	gone := m.origin(t, sourceImages)
	gone.Mirror = "127.0.0.1:1"
	if err := stackOf(t, gone).Build(t.Context(), &recorded{}, GroupControlPlane); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1 cannot be reached") || !strings.Contains(err.Error(), "use --stack auto") {
		t.Errorf("got %v", err)
	}
}

// Proxies of the environment are used.
func TestImages_Proxy(t *testing.T) {
	noGo(t)
	m := newMakers(t)
	m.pushAll(t)
	t.Setenv("HTTP_PROXY", m.server.URL)
	t.Setenv("NO_PROXY", "none")
	o := m.origin(t, sourceImages)
	o.Mirror = "10.255.0.1:5000" // plain HTTP, since it is a private address, where nothing answers
	if err := stackOf(t, o).Build(t.Context(), &recorded{}, GroupHelm); err != nil {
		t.Fatal(err)
	}
}

// What nothing pins needs leave, and is named.
func TestImages_Unpinned(t *testing.T) {
	log := fakeGo(t, goodBuild)
	m := newMakers(t)
	m.pushAll(t)
	for i := range m.lock.Programs {
		if m.lock.Programs[i].Program == "etcd" {
			m.lock.Programs[i].Digests = nil
		}
	}
	s, progress := stackOf(t, m.origin(t, sourceAuto)), &recorded{}
	if !s.NeedsGo(GroupControlPlane) {
		t.Error("no Go is needed for a program that is not pinned")
	}
	if err := s.Build(t.Context(), progress, GroupControlPlane); err != nil {
		t.Fatal(err)
	}
	if len(calls(t, log)) != 1 || !progress.has("Choosing where programs come from: done, 4 programs from images; etcd from modules: images.lock has no digest for "+platform()) {
		t.Errorf("progress: %q", progress.lines)
	}
	const want = "--stack images: etcd cannot come from an image: images.lock has no digest for "
	if err := stackOf(t, m.origin(t, sourceImages)).Build(t.Context(), &recorded{}, GroupControlPlane); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	o := m.origin(t, sourceAuto)
	o.AllowUnpinned = true
	s = stackOf(t, o)
	if err := s.Build(t.Context(), progress, GroupControlPlane); err != nil {
		t.Fatal(err)
	}
	found := s.Foreign(GroupControlPlane)
	if len(found) != 3 || found[0].Name != "etcd" || found[0].Pinned || !strings.HasPrefix(found[0].Image, "registry.k8s.io/etcd:3.6.8-0@sha256:") {
		t.Errorf("got %+v, want etcd, which is not pinned, by the digest that it had", found)
	}
	o.AllowUnpinned = false
	if s = stackOf(t, o); len(s.Missing(GroupControlPlane)) != 1 {
		t.Error("a program that is not pinned is used without leave, because it is there")
	}
}

// Two runs at once pull each program once.
func TestImages_TwoRuns(t *testing.T) {
	noGo(t)
	m := newMakers(t)
	m.pushAll(t)
	o, paths := m.origin(t, sourceImages), t.TempDir()
	var both sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		both.Go(func() {
			s := newStack(t, hostPaths(paths))
			s.From(o.With(o.Source)) // as another process
			errs[i] = s.Build(t.Context(), &recorded{}, Groups()...)
		})
	}
	both.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := map[string]int{}
	for _, p := range m.asked {
		if asked[p]++; asked[p] > 1 && p != "/v2/" {
			t.Errorf("asked twice for %s", p)
		}
	}
}

func TestImages_Interrupted(t *testing.T) {
	m := newMakers(t)
	m.pushAll(t)
	why := errors.New("interrupted by a test")
	ctx, cancel := context.WithCancelCause(t.Context())
	m.answering(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "/blobs/") {
			cancel(why)
			<-r.Context().Done()
		}
		return false
	})
	o := m.origin(t, sourceAuto)
	if err := stackOf(t, o).Build(ctx, &recorded{}, GroupHelm); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// asRoot runs a command with sudo, if this is not root already; it does not ask for a password.
func asRoot(command ...string) ([]byte, error) {
	if os.Getuid() != 0 {
		command = append([]string{"sudo", "-n"}, command...)
	}
	return exec.Command(command[0], command[1:]...).CombinedOutput()
}

// A disk that fills up midway has its own reason, and is no reason to compile.
func TestImages_DiskFull(t *testing.T) {
	small := t.TempDir()
	if out, err := asRoot("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=64k,uid=%d", os.Getuid()), "none", small); err != nil {
		testskip.Missing(t, "mount a small disk: %v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = asRoot("umount", "-l", small) })
	noise := make([]byte, 1<<20) // which no layer has smaller
	_, _ = rand.Read(noise)
	m := newMakers(t)
	m.push(t, "registry.k8s.io/etcd:3.6.8-0", func(machine elf.Machine) []v1.Layer {
		return []v1.Layer{packedLayer(t, compression.GZip, executable("usr/local/bin/etcd", elfProgram(t, machine, "")), packed{name: "large", content: string(noise), kind: '0'})}
	})
	fakeGo(t, goodBuild)
	o := m.origin(t, sourceAuto)
	o.Dir = small
	err := stackOf(t, o).Build(t.Context(), &recorded{}, GroupControlPlane)
	if reason.Of(err) != reason.NoSpace {
		t.Errorf("got %v, want NO_SPACE", err)
	}
	if left, _ := filepath.Glob(filepath.Join(small, "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// Each source uses what it names, and nothing else.
func TestImages_Sources(t *testing.T) {
	log := fakeGo(t, goodBuild)
	m := newMakers(t)
	m.pushAll(t)
	m.asked = nil
	o, paths := m.origin(t, sourceModules), hostPaths(t.TempDir())
	s := newStack(t, paths)
	s.From(o)
	if err := s.Build(t.Context(), &recorded{}, GroupHelm); err != nil || len(calls(t, log)) != 1 || len(m.asked) > 0 {
		t.Errorf("modules: %v, asked for %q", err, m.asked)
	}
	images := newStack(t, paths)
	images.From(o.With(sourceImages))
	if len(images.Missing(GroupHelm)) != 1 {
		t.Error("--stack images takes what was compiled")
	}
	auto := newStack(t, paths)
	auto.From(o.With(sourceAuto))
	if auto.Bin("helm") != s.Bin("helm") {
		t.Error("auto does not take what was compiled")
	}
	archive := stackOf(t, m.origin(t, sourceArchive))
	if err := archive.Build(t.Context(), &recorded{}, GroupHelm); err == nil || !strings.Contains(err.Error(), "lacks helm; run `matrix stack install FILE`") {
		t.Errorf("archive: %v", err)
	}
	lacking := m.origin(t, sourceImages)
	lacking.Lock = &ImagesLock{}
	if err := stackOf(t, lacking).Build(t.Context(), &recorded{}, GroupHelm); err == nil || !strings.Contains(err.Error(), "images.lock has no image of helm") {
		t.Errorf("images: %v", err)
	}
	if _, err := ParseSource("docker"); err == nil || !strings.Contains(err.Error(), "want auto, images, modules or archive") {
		t.Errorf("got %v", err)
	}
	old := m.origin(t, sourceAuto)
	old.Lock = &ImagesLock{[]LockedProgram{{Program: "etcd", Version: "v3.5.0", Image: "registry.k8s.io/etcd:3.5.0-0", Path: "/usr/local/bin/etcd"}}}
	if _, why := stackOf(t, old).plan(partNamed("etcd")); why != fmt.Sprintf("images.lock has etcd v3.5.0, and the stack needs %s", s.versions["go.etcd.io/etcd/server/v3"]) {
		t.Errorf("another version: %s", why)
	}
}
