// Package podrun runs pods of a cluster whose nodes are simulated: the container of a pod whose
// image has a program on this machine becomes a process, with the container's command, arguments,
// environment, mounts and ServiceAccount token, and the pod's status is the process's. The package
// is the kubelet of these pods; KWOK simulates all others. It must not know what the programs are,
// or which platform made the cluster.
package podrun

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/infra/host"
	"github.com/nvidia/aicr-action/internal/util/lists"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// Options of New.
type Options struct {
	Clients  *infra.Clients
	Sup      *host.Supervisor
	Programs []infra.Program
	// Ports are for the programs that name what they listen on (infra.Program.Listens).
	Ports *host.Ports
	// Dir is for the files of pods, Logs for their logs: a file per pod, pod-NAMESPACE-NAME.log.
	Dir, Logs string
	Log       *slog.Logger
	// Sandbox is what a process may do besides reading its mounts, writing to its emptyDirs and
	// listening on its container's ports. Nil starts processes without a sandbox.
	Sandbox *sandbox.Profile
}

// use names a program as a pod does.
type use struct{ image, command string }

// Runner runs the pods of one cluster.
type Runner struct {
	Options
	server *url.URL // of the API server
	kinds  definitions

	mu       sync.Mutex
	pods     map[types.UID]*worker
	used     map[use]int        // pods that were run
	answered map[types.UID]bool // pods whose replica has their port
	images   map[string]bool    // of all pods that were seen on a node
	wg       sync.WaitGroup
}

// New returns a runner that does nothing until Run.
func New(o Options) (*Runner, error) {
	server, err := url.Parse(o.Clients.Config.Host)
	if err != nil {
		return nil, fmt.Errorf("run pods: the address of the API server: %w", err)
	}
	for _, dir := range []string{o.Dir, o.Logs} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("run pods: %w", err)
		}
	}
	named, err := metadata.NewForConfig(o.Clients.Config)
	if err != nil {
		return nil, fmt.Errorf("run pods: %w", err)
	}
	return &Runner{
		Options: o, server: server, pods: map[types.UID]*worker{}, used: map[use]int{}, images: map[string]bool{}, answered: map[types.UID]bool{},
		kinds: definitions{metadata: named, dynamic: o.Clients.Dynamic, discovery: o.Clients.Discovery, served: map[types.UID]bool{}},
	}, nil
}

// CheckPrograms refuses a table of programs that cannot work: no image, an image twice, or a file
// that cannot be run. Paths are made absolute. One whose image is unpacked has no file.
func CheckPrograms(programs []infra.Program) ([]infra.Program, error) {
	var all []infra.Program
	seen := map[string]bool{}
	for _, p := range programs {
		if p.Image == "" || p.Path == "" && p.Unpacked == nil {
			return nil, fmt.Errorf("%q: want IMAGE=FILE, an image and an executable file, or IMAGE alone, which is pulled", p.Image+"="+p.Path)
		}
		if seen[p.Image] {
			return nil, fmt.Errorf("the image %s has two programs; give it one", p.Image)
		}
		seen[p.Image] = true
		if p.Unpacked != nil {
			all = append(all, p)
			continue
		}
		path, err := filepath.Abs(p.Path)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("the program of image %s, %s, does not exist", p.Image, p.Path)
		case err != nil:
			return nil, fmt.Errorf("the program of image %s: %w", p.Image, err)
		case !host.Executable(info):
			return nil, fmt.Errorf("the program of image %s, %s, is not an executable file", p.Image, p.Path)
		}
		if err := host.Starts(path); err != nil {
			return nil, fmt.Errorf("the program of image %s, %s, cannot run here: %w", p.Image, p.Path, err)
		}
		all = append(all, infra.Program{Image: p.Image, Path: path})
	}
	return all, nil
}

// program is that of a container.
func (r *Runner) program(c *corev1.Container) (infra.Program, bool) {
	i := slices.IndexFunc(r.Programs, func(p infra.Program) bool { return p.Of(c) })
	if i < 0 {
		return infra.Program{}, false
	}
	return r.Programs[i], true
}

// ours reports whether a pod is run here: one of its containers has a program. KWOK leaves exactly
// these alone (Exclude), so an init container's image does not count.
func (r *Runner) ours(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool { _, ok := r.program(&c); return ok })
}

// Used says which programs ran, a line each.
func (r *Runner) Used() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, p := range r.Programs {
		if n := r.used[use{p.Image, p.Command}]; n > 0 {
			what := p.Path
			switch {
			case p.Unpacked != nil && p.Unpacked.Digest == "": // a program that was compiled
				what = filepath.Join(p.Unpacked.Root, p.Unpacked.Entrypoint[0])
			case p.Unpacked != nil:
				what = "what it has itself (" + p.Unpacked.Digest + ")"
			}
			all = append(all, fmt.Sprintf("%s runs for the image %s (pods: %d)", what, p.Image, n))
		}
	}
	return all
}

// Unused are those of these programs for which there was no pod. Programs of one image that is unpacked
// are one: they are its names.
func (r *Runner) Unused(given []infra.Program) []infra.Unneeded {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []infra.Unneeded
	for i, p := range given {
		same := func(o infra.Program) bool { return o.Image == p.Image || o.Unpacked != nil && o.Unpacked == p.Unpacked }
		if slices.ContainsFunc(given[:i], same) || slices.ContainsFunc(given, func(o infra.Program) bool { return same(o) && r.used[use{o.Image, o.Command}] > 0 }) {
			continue
		}
		text := fmt.Sprintf("no pod has the image %s, so that its program did not run: a pod must name the image by exactly this text", p.Image)
		if near := lists.Nearest(p.Image, slices.Sorted(maps.Keys(r.images))); near != "" {
			text += fmt.Sprintf("; did you mean %s?", near)
		}
		all = append(all, infra.Unneeded{Image: p.Image, Text: text})
	}
	return all
}

// Run watches pods until ctx ends. Then it kills every process and returns.
func (r *Runner) Run(ctx context.Context) {
	factory := informers.NewSharedInformerFactoryWithOptions(r.Clients.Kube, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
	}))
	informer := factory.Core().V1().Pods().Informer()
	seen := func(obj any) {
		p, ok := obj.(*corev1.Pod)
		if !ok {
			return
		}
		r.saw(p)
		if r.ours(p) {
			r.changed(ctx, p)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: seen, UpdateFunc: func(_, obj any) { seen(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if p, ok := obj.(*corev1.Pod); ok {
				r.removed(p)
			}
		},
	})
	if err != nil {
		r.Log.Error("watch the pods that run", "err", err)
		return
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	r.wg.Wait()
}

// saw keeps the images of a pod, for those who misspell one.
func (r *Runner) saw(p *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range p.Spec.Containers {
		r.images[c.Image] = true
	}
}

// changed starts the worker of a pod, or tells it that the pod is to be deleted.
func (r *Runner) changed(ctx context.Context, p *corev1.Pod) {
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.pods[p.UID]
	if w == nil {
		if infra.PodEnded(p) {
			return
		}
		w = newWorker(r, p)
		r.pods[p.UID] = w
		for _, c := range p.Spec.Containers {
			if program, ok := r.program(&c); ok {
				r.used[use{program.Image, program.Command}]++
			}
		}
		r.wg.Go(func() { w.run(ctx) })
	}
	if p.DeletionTimestamp != nil {
		w.delete(p)
	}
}

// removed ends what is left of a pod that is not in the API any more.
func (r *Runner) removed(p *corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.pods[p.UID]; w != nil {
		w.kill()
		delete(r.pods, p.UID)
	}
}

// find is the worker of a pod by its name, the latest one.
func (r *Runner) find(namespace, name string) *worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	var latest *worker
	for _, w := range r.pods {
		if w.pod.Namespace == namespace && w.pod.Name == name && (latest == nil || latest.pod.CreationTimestamp.Before(&w.pod.CreationTimestamp)) {
			latest = w
		}
	}
	return latest
}

// logFile is where a pod's output goes. A file's name has room for 255 bytes, and a pod's and its
// namespace's for more.
func (r *Runner) logFile(p *corev1.Pod) string {
	name := "pod-" + p.Namespace + "-" + p.Name
	if len(name) > 200 {
		name = name[:200]
	}
	file := filepath.Join(r.Logs, name+".log")
	for i := 2; ; i++ { // a pod of a StatefulSet has its predecessor's name
		if _, err := os.Lstat(file); err != nil {
			return file
		}
		file = filepath.Join(r.Logs, name+"-"+strconv.Itoa(i)+".log")
	}
}
