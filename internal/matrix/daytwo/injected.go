package daytwo

import (
	"context"
	"encoding/base64"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/lane"
)

// vouches is a cluster with an authority that its API server trusts for the stand-ins of webhooks.
type vouches interface{ Authority() []byte }

// injector is the field manager of what is written in the place of cert-manager's cainjector and its like.
const injector = "injector"

// inject writes a caBundle, as an injector would, into each definition that the new bundle has without the
// webhook which converts: what an injector has written is not the deployer's, so that server-side apply
// leaves a piece of what is to go. (A webhook of a configuration goes as a whole: it is the item of a list.)
func (all *Filled) inject(ctx context.Context, env *lane.Env) error {
	cluster, ok := env.Cluster.(vouches)
	if !ok {
		return nil
	}
	for _, now := range all.bundles.unconverted() {
		live, err := read(ctx, env, now)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s, to write a caBundle as an injector would: %w", now.Ref(), err)
		}
		client := converter(live)
		if client == nil || client["caBundle"] != nil {
			continue
		}
		client["caBundle"] = base64.StdEncoding.EncodeToString(cluster.Authority())
		if _, err := env.Clients.Dynamic.Resource(infra.CRDResource).Update(ctx, live, metav1.UpdateOptions{FieldManager: injector}); err != nil {
			return fmt.Errorf("write a caBundle into %s, as an injector would: %w", now.Ref(), err)
		}
		all.written = append(all.written, fmt.Sprintf("%s is converted by a webhook without a caBundle, which an injector fills in: written before the second delivery in its place", now.Ref()))
	}
	return nil
}

// unconverted lists the definitions that the new bundle has without the webhook that converted, whose
// caBundle no chart renders.
func (b Bundles) unconverted() (all []*bundle.Object) {
	if b.Before == nil || b.Now == nil {
		return nil
	}
	for i := range b.Before.Expectation.Objects {
		old := &b.Before.Expectation.Objects[i]
		client := converter(old.Object)
		if client == nil || client["service"] == nil || client["caBundle"] != nil || old.Ephemeral {
			continue
		}
		if now := b.Now.Expectation.Object(old.Ref()); now != nil && converter(now.Object) == nil {
			all = append(all, now)
		}
	}
	return all
}

// converter is how the API server reaches the webhook that converts a definition's objects; nil if there is none.
func converter(o *unstructured.Unstructured) map[string]any {
	if o.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	client, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "conversion", "webhook", "clientConfig")
	config, _ := client.(map[string]any)
	return config
}

// halfLeft says of a definition that the API server finds incomplete what an injector has written into it.
func (b Bundles) halfLeft(name string) string {
	for _, now := range b.unconverted() {
		if now.Object.GetName() == name {
			return fmt.Sprintf("CustomResourceDefinition %s: spec.conversion.webhook is not rendered any more (component %s, %s), and its caBundle stays: an injector wrote it, and server-side apply removes only what it has set itself; before the upgrade, with the deployer suspended: kubectl patch customresourcedefinition %[1]s --type=json -p '[{\"op\": \"replace\", \"path\": \"/spec/conversion\", \"value\": {\"strategy\": \"None\"}}]'",
				name, now.Component, b.place(now, ""))
		}
	}
	return ""
}
