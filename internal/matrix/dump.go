package matrix

// dump.go writes objects of a cluster to files, as kubectl get -o yaml prints them, with the
// values of Secrets replaced. It must not know what they are for: lanes, cells or verdicts.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/nvidia/aicr-action/internal/infra"
)

// dumper prints a cluster's objects as kubectl does: the API server renders the tables, and
// kubectl's own library prints them.
type dumper struct {
	rest      rest.Interface
	discovery discovery.DiscoveryInterface
	dynamic   dynamic.Interface
	patience  time.Duration
}

// newDump returns clients whose requests all end after patience, whatever the API server does.
func newDump(cfg *rest.Config, patience time.Duration) (*dumper, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = patience
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for debug artifacts: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for debug artifacts: %w", err)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for debug artifacts: %w", err)
	}
	return &dumper{rest: client, discovery: disco, dynamic: dyn, patience: patience}, nil
}

// unanswered names what was requested, and replaces the error of a request that ran out of time.
func (d *dumper) unanswered(what string, err error) error {
	if timeout := (net.Error)(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%s: the API server did not answer within %s: %w", what, d.patience, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// asTable asks the API server for the columns that kubectl shows.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// table reads all objects of a resource. Rows have the objects' metadata or, with whole, the
// objects.
func (d *dumper) table(ctx context.Context, gvr schema.GroupVersionResource, whole bool) (*metav1.Table, error) {
	path := "/apis/" + gvr.Group
	if gvr.Group == "" {
		path = "/api"
	}
	include := metav1.IncludeMetadata
	if whole {
		include = metav1.IncludeObject
	}
	answer := d.rest.Get().AbsPath(path, gvr.Version, gvr.Resource).SetHeader("Accept", asTable).Param("includeObject", string(include)).Do(ctx)
	if err := answer.Error(); err != nil { // and not Raw's, which leaves out what the server said
		return nil, d.unanswered("list "+gvr.GroupResource().String(), err)
	}
	raw, err := answer.Raw()
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", gvr.GroupResource(), err)
	}
	table, err := decodeTable(raw)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", gvr.GroupResource(), err)
	}
	return table, nil
}

// decodeTable keeps integers, which encoding/json would print as 1e+06, and decodes the rows'
// objects, from which the printer takes the namespace.
func decodeTable(raw []byte) (*metav1.Table, error) {
	obj, err := runtime.Decode(unstructured.UnstructuredJSONScheme, raw)
	if err != nil {
		return nil, err
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || u.GroupVersionKind() != metav1.SchemeGroupVersion.WithKind("Table") {
		return nil, fmt.Errorf("the API server answered with %s instead of a table", obj.GetObjectKind().GroupVersionKind().Kind)
	}
	table := &metav1.Table{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, table); err != nil {
		return nil, err
	}
	for i := range table.Rows {
		row := &table.Rows[i].Object
		if row.Object, err = runtime.Decode(unstructured.UnstructuredJSONScheme, row.Raw); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// nothingFound is kubectl's text for an empty list.
const nothingFound = "No resources found\n"

func printTable(w *bytes.Buffer, table *metav1.Table, o printers.PrintOptions) error {
	if len(table.Rows) == 0 {
		w.WriteString(nothingFound)
		return nil
	}
	return printers.NewTablePrinter(o).PrintObj(table, w)
}

// Pods is `kubectl get pods --all-namespaces -o wide`: with nodes.
func (d *dumper) Pods(ctx context.Context) ([]byte, error) {
	return d.one(ctx, schema.GroupVersionResource{Version: "v1", Resource: "pods"}, printers.PrintOptions{WithNamespace: true, Wide: true})
}

// Nodes is `kubectl get nodes -o wide`.
func (d *dumper) Nodes(ctx context.Context) ([]byte, error) {
	return d.one(ctx, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, printers.PrintOptions{Wide: true})
}

func (d *dumper) one(ctx context.Context, gvr schema.GroupVersionResource, o printers.PrintOptions) ([]byte, error) {
	table, err := d.table(ctx, gvr, false)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = printTable(&out, table, o)
	return out.Bytes(), err
}

// Events is `kubectl get events --all-namespaces --sort-by=.lastTimestamp`, except for events of
// the newer API without a lastTimestamp, such as the scheduler's: they are sorted by their own time
// instead of coming first.
func (d *dumper) Events(ctx context.Context) ([]byte, error) {
	table, err := d.table(ctx, schema.GroupVersionResource{Version: "v1", Resource: "events"}, true)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(table.Rows, func(a, b metav1.TableRow) int { return lastSeen(a).Compare(lastSeen(b)) })
	var out bytes.Buffer
	err = printTable(&out, table, printers.PrintOptions{WithNamespace: true})
	return out.Bytes(), err
}

// lastSeen returns when an event last happened.
func lastSeen(row metav1.TableRow) time.Time {
	event, ok := row.Object.Object.(*unstructured.Unstructured)
	if !ok {
		return time.Time{}
	}
	for _, field := range [][]string{{"series", "lastObservedTime"}, {"lastTimestamp"}, {"eventTime"}, {"firstTimestamp"}, {"metadata", "creationTimestamp"}} {
		text, _, _ := unstructured.NestedString(event.Object, field...)
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// All is `kubectl get all --all-namespaces`: the resources of the category "all", a block for each
// kind that has objects. A kind that cannot be read has its error in its place.
func (d *dumper) All(ctx context.Context) ([]byte, error) {
	_, lists, err := d.discovery.ServerGroupsAndResources()
	if len(lists) == 0 {
		return nil, d.unanswered("discover the cluster's kinds", err)
	}
	var errs []error
	stale := (*discovery.ErrGroupDiscoveryFailed)(nil)
	if err != nil && !errors.As(err, &stale) {
		errs = append(errs, err)
	}
	resources := inCategory(lists, "all")
	tables := make([]*metav1.Table, len(resources))
	failed := make([]error, len(resources))
	var wg sync.WaitGroup
	for i, r := range resources {
		wg.Go(func() { tables[i], failed[i] = d.table(ctx, r.gvr, false) })
	}
	wg.Wait()
	var blocks []string
	for i, r := range resources {
		var block bytes.Buffer
		switch {
		case failed[i] != nil:
			errs = append(errs, failed[i])
			block.WriteString((&infra.UnreadError{Err: failed[i]}).Text())
		case len(tables[i].Rows) == 0:
			continue
		default:
			errs = append(errs, printTable(&block, tables[i], printers.PrintOptions{WithNamespace: r.namespaced, WithKind: true, Kind: r.kind}))
		}
		blocks = append(blocks, block.String())
	}
	if len(blocks) == 0 {
		blocks = []string{nothingFound}
	}
	if stale != nil { // as kubectl does: what the other groups have is shown all the same
		for _, gv := range slices.SortedFunc(maps.Keys(stale.Groups), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }) {
			blocks = append(blocks, (&infra.UnreadError{Err: fmt.Errorf("the kinds of %s: %w", gv, stale.Groups[gv])}).Text())
		}
	}
	return []byte(strings.Join(blocks, "\n")), errors.Join(errs...)
}

type listed struct {
	gvr        schema.GroupVersionResource
	kind       schema.GroupKind
	namespaced bool
}

// inCategory lists resources in the order of discovery, which is kubectl's. The preferred version
// of a group comes first.
func inCategory(lists []*metav1.APIResourceList, category string) []listed {
	var found []listed
	seen := map[schema.GroupResource]bool{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			gr := schema.GroupResource{Group: gv.Group, Resource: r.Name}
			if slices.Contains(r.Categories, category) && slices.Contains(r.Verbs, "list") && !seen[gr] {
				seen[gr] = true
				found = append(found, listed{gv.WithResource(r.Name), schema.GroupKind{Group: gv.Group, Kind: r.Kind}, r.Namespaced})
			}
		}
	}
	return found
}

// YAML is `kubectl get RESOURCE,… -o yaml`, in one namespace or, with "", in all: one List. A
// resource that cannot be read is a comment at the top; if none can, there is only the error.
func (d *dumper) YAML(ctx context.Context, namespace string, resources ...schema.GroupVersionResource) ([]byte, error) {
	all := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}}}
	lists := make([]*unstructured.UnstructuredList, len(resources))
	failed := make([]error, len(resources))
	var wg sync.WaitGroup
	for i, gvr := range resources {
		wg.Go(func() {
			lists[i], failed[i] = d.dynamic.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if failed[i] != nil {
				failed[i] = d.unanswered("list "+gvr.GroupResource().String(), failed[i])
			}
		})
	}
	wg.Wait()
	var out bytes.Buffer
	read := 0
	for i := range resources {
		if failed[i] != nil {
			out.WriteString("# " + strings.ReplaceAll(strings.TrimSpace((&infra.UnreadError{Err: failed[i]}).Text()), "\n", "\n# ") + "\n")
			continue
		}
		read++
		all.Items = append(all.Items, lists[i].Items...)
	}
	err := errors.Join(failed...)
	if read == 0 {
		return nil, err
	}
	printer := &printers.OmitManagedFieldsPrinter{Delegate: &printers.YAMLPrinter{}}
	err = errors.Join(err, printer.PrintObj(all, &out))
	return out.Bytes(), err
}
