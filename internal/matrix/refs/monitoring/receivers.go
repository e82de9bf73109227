package monitoring

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

// configFile is the key of the Secret with the configuration of an Alertmanager.
const configFile = "alertmanager.yaml"

// route is what of a route of Alertmanager leads to receivers.
type route struct {
	Receiver string  `json:"receiver"`
	Routes   []route `json:"routes"`
}

// config is what of Alertmanager's configuration is checked.
type config struct {
	Route     *route `json:"route"`
	Receivers []struct {
		Name string `json:"name"`
	} `json:"receivers"`
}

// configuration finds a route to a receiver that the configuration of an Alertmanager does not have. Of a Secret that
// is missing, the operator makes a configuration of its own.
func (f *finder) configuration(o *bundle.Object) {
	own, _, _ := unstructured.NestedString(o.Object.Object, "spec", "configSecret")
	name := cmp.Or(own, "alertmanager-"+o.Object.GetName())
	for i := range f.e.Objects {
		s := &f.e.Objects[i]
		if s.Object.GetKind() != "Secret" || s.Object.GetName() != name || s.Object.GetNamespace() != o.Object.GetNamespace() {
			continue
		}
		why, receiver := unrouted(textOf(s.Object, configFile))
		if why == "" {
			return
		}
		p := problem.Of(s)
		p.Name, p.Cause = receiver, "receivers "+s.Ref().String()
		p.Text = fmt.Sprintf("is the configuration of %s, and %s", o.Ref(), why)
		p.Then = "prometheus-operator makes no StatefulSet of the Alertmanager"
		if f.operated {
			p.Reason = reason.WorkloadFailed
		}
		f.found = append(f.found, p)
		return
	}
}

// textOf is a file of a Secret; empty without it.
func textOf(secret *unstructured.Unstructured, key string) string {
	if text, _, _ := unstructured.NestedString(secret.Object, "stringData", key); text != "" {
		return text
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", key)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "" // the API server refuses it
	}
	return string(raw)
}

// unrouted is why a configuration leads nowhere, and the receiver that it names.
func unrouted(text string) (why, receiver string) {
	var c config
	if text == "" || yaml.Unmarshal([]byte(text), &c) != nil {
		return "", "" // one that cannot be read is the operator's to judge
	}
	switch {
	case c.Route == nil:
		return "has no route", "route"
	case c.Route.Receiver == "":
		return "its first route has no receiver", "route"
	}
	var all []string
	for _, r := range c.Receivers {
		if slices.Contains(all, r.Name) {
			return fmt.Sprintf("has two receivers %s", r.Name), r.Name
		}
		all = append(all, r.Name)
	}
	return nowhere(*c.Route, all)
}

// nowhere is why a route or one below it leads nowhere, and the receiver that it names.
func nowhere(first route, receivers []string) (why, receiver string) {
	for left := []route{first}; len(left) > 0; left = left[1:] {
		if to := left[0].Receiver; to != "" && !slices.Contains(receivers, to) {
			return fmt.Sprintf("has a route to receiver %s, which it does not have", to), to
		}
		left = append(left, left[0].Routes...)
	}
	return "", ""
}

// routed finds a route to a receiver that an AlertmanagerConfig does not have.
func (f *finder) routed(o *bundle.Object) {
	spec, _, _ := unstructured.NestedMap(o.Object.Object, "spec")
	var c config
	if runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &c) != nil || c.Route == nil {
		return // the API server says what is wrong with it
	}
	var all []string
	for _, r := range c.Receivers {
		all = append(all, r.Name)
	}
	if why, receiver := nowhere(*c.Route, all); why != "" {
		f.add(o, &mistake{name: receiver, text: why}, "prometheus-operator's webhook refuses it; without the webhook, the operator leaves it out")
	}
}
