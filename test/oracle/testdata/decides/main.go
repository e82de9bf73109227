// decides asks parts of Kubernetes that decide about a pod, without a cluster: `decides kubelet` and `decides scheduler`
// read a question as JSON from stdin and write the answer to stdout. It is compiled in the stack's module, so that the
// version is that of the cells. It opens no port and no connection.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/resource"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	resourcevalidation "k8s.io/kubernetes/pkg/apis/resource/validation"
	"k8s.io/kubernetes/pkg/apis/storage"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	storagevalidation "k8s.io/kubernetes/pkg/apis/storage/validation"
)

// question has inputs that do not know each other.
type question struct {
	Inputs []input `json:"inputs"`
	// Seconds bound the answer to all of them.
	Seconds int `json:"seconds"`
	// Root is a directory for files.
	Root string `json:"root"`
}

// input is a pod, and the objects that are there.
type input struct {
	Name    string            `json:"name"`
	Pod     json.RawMessage   `json:"pod"`
	Objects []json.RawMessage `json:"objects"`
}

type answer struct {
	Version  string             `json:"version"`
	Verdicts map[string]verdict `json:"verdicts"`
	// Requests are those that were answered here and would have written.
	Requests map[string]int `json:"requests,omitempty"`
}

// verdict is what becomes of one pod.
type verdict struct {
	// Word is starts, refused, invalid (for the API server), unread or undecided.
	Word    string `json:"word"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Nodes are those that do not fit, each with the plugins that say so and their words.
	Nodes map[string]map[string]string `json:"nodes,omitempty"`
}

func main() {
	quiet := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(quiet)
	_ = quiet.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "decides:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	var q question
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return fmt.Errorf("read the question from stdin: %w", err)
	}
	a := answer{Version: version(), Verdicts: map[string]verdict{}}
	all := map[string]*read{}
	for _, i := range q.Inputs {
		r, v := readInput(&i)
		if v != nil {
			a.Verdicts[i.Name] = *v
			continue
		}
		all[i.Name] = r
	}
	var err error
	switch name := append(args, "")[0]; name {
	case "kubelet":
		err = askKubelet(ctx, &q, all, &a)
	case "scheduler":
		err = askScheduler(ctx, &q, all, &a)
	default:
		err = fmt.Errorf("%q: want kubelet or scheduler", name)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(a)
}

// read is an input as Kubernetes' types.
type read struct {
	pod     *v1.Pod
	objects []runtime.Object
}

// readInput decodes and validates an input as the API server does, with its defaults.
func readInput(in *input) (*read, *verdict) {
	decoder := legacyscheme.Codecs.UniversalDeserializer()
	o, _, err := decoder.Decode(in.Pod, nil, nil)
	if err != nil {
		return nil, &verdict{Word: "unread", Message: err.Error()}
	}
	p, ok := o.(*v1.Pod)
	if !ok {
		return nil, &verdict{Word: "unread", Message: fmt.Sprintf("%T is no pod", o)}
	}
	if p.Spec.ServiceAccountName == "" {
		p.Spec.ServiceAccountName = "default" // as an admission plugin does
	}
	legacyscheme.Scheme.Default(p)
	if v := valid(p); v != nil {
		return nil, v
	}
	r := &read{pod: p}
	for _, raw := range in.Objects {
		o, _, err := decoder.Decode(raw, nil, nil)
		if runtime.IsNotRegisteredError(err) {
			continue // of a kind that neither program reads
		}
		if err != nil {
			return nil, &verdict{Word: "unread", Message: err.Error()}
		}
		legacyscheme.Scheme.Default(o)
		if s, ok := o.(*v1.Secret); ok { // as the API server stores it
			for k, text := range s.StringData {
				if s.Data == nil {
					s.Data = map[string][]byte{}
				}
				s.Data[k] = []byte(text)
			}
			s.StringData = nil
		}
		if v := valid(o); v != nil {
			return nil, v
		}
		r.objects = append(r.objects, o)
	}
	return r, nil
}

// valid is a verdict if the API server takes no such object; nil for one that it takes, and of kinds that are not asked.
func valid(o runtime.Object) *verdict {
	var all field.ErrorList
	var err error
	to := func(internal runtime.Object) bool {
		err = legacyscheme.Scheme.Convert(o, internal, nil)
		return err == nil
	}
	switch o.(type) {
	case *v1.Pod:
		if p := (&core.Pod{}); to(p) {
			options := pod.GetValidationOptionsFromPodSpecAndMeta(&p.Spec, nil, &p.ObjectMeta, nil)
			options.ResourceIsPod = true
			all = validation.ValidatePodCreate(p, options)
		}
	case *v1.Node:
		if n := (&core.Node{}); to(n) {
			all = validation.ValidateNode(n)
		}
	case *v1.PersistentVolume:
		if p := (&core.PersistentVolume{}); to(p) {
			all = validation.ValidatePersistentVolume(p, validation.ValidationOptionsForPersistentVolume(p, nil))
		}
	case *v1.PersistentVolumeClaim:
		if p := (&core.PersistentVolumeClaim{}); to(p) {
			all = validation.ValidatePersistentVolumeClaim(p, validation.ValidationOptionsForPersistentVolumeClaim(p, nil))
		}
	case *storagev1.StorageClass:
		if c := (&storage.StorageClass{}); to(c) {
			all = storagevalidation.ValidateStorageClass(c)
		}
	case *resourcev1.ResourceClaim:
		if c := (&resource.ResourceClaim{}); to(c) {
			all = resourcevalidation.ValidateResourceClaim(c)
		}
	case *resourcev1.DeviceClass:
		if c := (&resource.DeviceClass{}); to(c) {
			all = resourcevalidation.ValidateDeviceClass(c)
		}
	case *resourcev1.ResourceSlice:
		if s := (&resource.ResourceSlice{}); to(s) {
			all = resourcevalidation.ValidateResourceSlice(s)
		}
	}
	if err != nil {
		return &verdict{Word: "unread", Message: err.Error()}
	}
	if len(all) > 0 {
		return &verdict{Word: "invalid", Reason: all[0].Field, Message: all.ToAggregate().Error()}
	}
	return nil
}

// version is that of the Kubernetes that this program is made of.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == "k8s.io/kubernetes" {
			return m.Version
		}
	}
	return "unknown"
}

func (q *question) limit() time.Duration { return time.Duration(max(q.Seconds, 5)) * time.Second }
