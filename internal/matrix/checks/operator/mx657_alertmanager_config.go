package operator

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var alertmanagerConfiguration = judge.Check{
	ID: "MX657", Name: "alertmanager-route-leads-nowhere", Needs: judge.Rendered, Kinds: judge.KindsOf(monitoring, "Alertmanager"), Gives: reason.WorkloadFailed,
	Title: "The routes of an Alertmanager's configuration lead to receivers that it has",
	Why: "prometheus-operator reads the configuration from a Secret, checks it as Alertmanager does (https://prometheus.io/docs/alerting/latest/configuration/#route), and makes no StatefulSet for one that is wrong. " +
		"Without the Secret it makes a configuration of its own. A warning where the bundle has no prometheus-operator.",
	Fix:  "Add the receiver, or correct the route; amtool check-config says the same.",
	Says: "is the configuration of %s, and %s", Then: "prometheus-operator makes no StatefulSet of the Alertmanager",
	Run: func(s *judge.Scope) {
		for _, o := range s.OfKind(judge.KindsOf(monitoring, "Alertmanager")...) {
			name := cmp.Or(facts.Text(o.Object, "spec.configSecret"), "alertmanager-"+o.Object.GetName())
			secret := s.Find(judge.KindsOf("", "Secret")[0], o.Object.GetNamespace(), name)
			if secret == nil {
				continue
			}
			if why, receiver := unrouted(fileOf(secret.Object, configFile)); why != "" {
				operated(s, s.Report(secret, `stringData["`+configFile+`"]`, o.Ref(), why).SetBy(receiver).OneCause(secret.Ref().String()), reason.WorkloadFailed)
			}
		}
	},
}

// configFile is the key of the Secret with the configuration of an Alertmanager.
const configFile = "alertmanager.yaml"

// alertRoute is what of a route of Alertmanager leads to receivers.
type alertRoute struct {
	Receiver string       `json:"receiver"`
	Routes   []alertRoute `json:"routes"`
}

// alertmanagerConfig is what of Alertmanager's configuration is checked.
type alertmanagerConfig struct {
	Route     *alertRoute `json:"route"`
	Receivers []struct {
		Name string `json:"name"`
	} `json:"receivers"`
}

// fileOf is a file of a Secret; empty without it.
func fileOf(secret *unstructured.Unstructured, key string) string {
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
	var c alertmanagerConfig
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
func nowhere(first alertRoute, receivers []string) (why, receiver string) {
	for left := []alertRoute{first}; len(left) > 0; left = left[1:] {
		if to := left[0].Receiver; to != "" && !slices.Contains(receivers, to) {
			return fmt.Sprintf("has a route to receiver %s, which it does not have", to), to
		}
		left = append(left, left[0].Routes...)
	}
	return "", ""
}
