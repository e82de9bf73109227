// renders asks the libraries of GitOps controllers what they make of a repository, without a cluster: `renders flux`,
// `renders argo` and `renders appset` read a question as JSON from stdin and write the answer to stdout. It is compiled in
// the stack's module, so that the versions are those of the cells. It opens no port and no connection.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	log "github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/fluxcd/pkg/ssa/utils"
)

// question has inputs that do not know each other.
type question struct {
	Inputs []input `json:"inputs"`
	// Root is a directory for files.
	Root string `json:"root"`
}

// input is a repository.
type input struct {
	Name    string `json:"name"`
	Subject struct {
		Files map[string]string `json:"files"`
	} `json:"pod"`
}

type answer struct {
	Version  string             `json:"version"`
	Verdicts map[string]verdict `json:"verdicts"`
}

// verdict is what is made of one repository: Word is renders or fails.
type verdict struct {
	Word    string           `json:"word"`
	Message string           `json:"message,omitempty"`
	Objects []map[string]any `json:"objects,omitempty"`
}

// made are the objects of one repository in a directory.
type made func(ctx context.Context, dir string, r *repository) ([]map[string]any, error)

func main() {
	log.SetOutput(io.Discard)
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "renders:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	var q question
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return fmt.Errorf("read the question from stdin: %w", err)
	}
	parts := map[string]struct {
		module string
		make   made
	}{
		"flux":   {"github.com/fluxcd/pkg/kustomize", flux},
		"argo":   {"github.com/argoproj/argo-cd/v3", argo},
		"appset": {"github.com/argoproj/argo-cd/v3", appset},
	}
	part, ok := parts[append(args, "")[0]]
	if !ok {
		return fmt.Errorf("%q: want flux, argo or appset", args)
	}
	a := answer{Version: version(part.module), Verdicts: map[string]verdict{}}
	for i, in := range q.Inputs {
		fmt.Fprintln(os.Stderr, "input:", in.Name)
		dir := filepath.Join(q.Root, fmt.Sprint("repository-", i))
		r, err := lay(dir, in.Subject.Files)
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		objects, err := part.make(ctx, dir, r)
		if err != nil {
			a.Verdicts[in.Name] = verdict{Word: "fails", Message: err.Error()}
		} else {
			a.Verdicts[in.Name] = verdict{Word: "renders", Objects: objects}
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(a)
}

func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return d.Version
			}
		}
	}
	return ""
}

// repository has the objects of the files that a person applies: those of cluster/.
type repository struct {
	files   map[string]string
	objects []*unstructured.Unstructured
}

func lay(dir string, files map[string]string) (*repository, error) {
	r := &repository{files: files}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, "cluster/") {
			objects, err := utils.ReadObjects(strings.NewReader(text))
			if err != nil {
				return nil, err
			}
			r.objects = append(r.objects, objects...)
		}
	}
	return r, nil
}

// read decodes the one object of a kind.
func (r *repository) read(kind string, into any) error {
	at := slices.IndexFunc(r.objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if at < 0 {
		return fmt.Errorf("the repository has no %s", kind)
	}
	raw, err := yaml.Marshal(r.objects[at].Object)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(raw, into)
}

// cluster answers for the API server: it has the ConfigMaps and Secrets of the repository.
type cluster struct {
	client.Client
	r *repository
}

func (c cluster) objectsOf(kind string) (all []*unstructured.Unstructured) {
	for _, o := range c.r.objects {
		if o.GetKind() == kind {
			all = append(all, o)
		}
	}
	return all
}

// Get reads a ConfigMap or a Secret.
func (c cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := "ConfigMap"
	switch into.(type) {
	case *corev1.Secret:
		kind = "Secret"
	case *v1alpha1.AppProject: // one that allows everything
		return nil
	}
	for _, o := range c.objectsOf(kind) {
		if o.GetName() == key.Name && o.GetNamespace() == key.Namespace {
			return stored(o, into)
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: strings.ToLower(kind) + "s"}, key.Name)
}

// List reads the Secrets that a selector selects.
func (c cluster) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	into, ok := list.(*corev1.SecretList)
	if !ok {
		return errors.New("only Secrets are listed here")
	}
	var o client.ListOptions
	o.ApplyOptions(options)
	for _, u := range c.objectsOf("Secret") {
		var s corev1.Secret
		if err := stored(u, &s); err != nil {
			return err
		}
		if o.LabelSelector == nil || o.LabelSelector.Matches(labelsOf(s.Labels)) {
			into.Items = append(into.Items, s)
		}
	}
	return nil
}

type labelsOf map[string]string

// Has reports whether there is a label.
func (l labelsOf) Has(key string) bool { _, ok := l[key]; return ok }

// Get is its value.
func (l labelsOf) Get(key string) string { return l[key] }

// Lookup is both.
func (l labelsOf) Lookup(key string) (string, bool) { v, ok := l[key]; return v, ok }

// stored is an object as the API server has it: with stringData in data.
func stored(o *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return err
	}
	if s, ok := into.(*corev1.Secret); ok {
		for k, v := range s.StringData {
			if s.Data == nil {
				s.Data = map[string][]byte{}
			}
			s.Data[k] = []byte(v)
		}
		s.StringData = nil
	}
	return nil
}
