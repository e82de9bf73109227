package workload

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/nvidia/aicr-action/internal/infra"
	"github.com/nvidia/aicr-action/internal/matrix/facts"
	"github.com/nvidia/aicr-action/internal/matrix/judge"
	"github.com/nvidia/aicr-action/internal/result"
	"github.com/nvidia/aicr-action/internal/result/reason"
)

var pullSecretUnreadable = judge.Check{
	ID: "MX145", Name: "pull-secret-unreadable", Needs: judge.Rendered, Gives: reason.WorkloadFailed,
	Title: "A kubelet can read the logins of a Secret for pulling images",
	Why:   "The API server wants any JSON in .dockerconfigjson. A kubelet wants logins by registry, with auth as base64 of username:password, and pulls no image of the pod if one is something else, not even a public one (https://github.com/kubernetes/kubernetes/blob/master/pkg/credentialprovider/config.go).",
	Fix:   "Make it as kubectl create secret docker-registry does: auths, by registry, with username and password, or with auth.",
	Says:  "imagePullSecrets names Secret %s, whose %s a kubelet cannot read: %v", Then: "it pulls no image of the pod",
	Run: func(s *judge.Scope) {
		for _, p := range s.Pods() {
			namespace := p.Object.Object.GetNamespace()
			for i, secret := range p.Template.Spec.ImagePullSecrets {
				ref := result.Ref{Kind: facts.NeedSecret, Namespace: namespace, Name: secret.Name}
				o := s.Find(schema.GroupKind{Kind: facts.NeedSecret}, namespace, secret.Name)
				if o == nil || len(s.SecretKeys(ref, p.Object.Ref())) == 0 {
					continue
				}
				if key, err := readLogins(facts.Text(o.Object, "type"), func(key string) string { return facts.SecretText(o, key) }); err != nil {
					s.Report(p.Object, fmt.Sprintf("%s.imagePullSecrets[%d].name", p.Path(), i), infra.NamespacedName(namespace, secret.Name), key, err)
				}
			}
		}
	},
}

// readLogins reads the logins of a Secret of a type as a kubelet does, from the key that goes with the type.
func readLogins(kind string, text func(key string) string) (key string, err error) {
	switch corev1.SecretType(kind) {
	case corev1.SecretTypeDockerConfigJson:
		key = corev1.DockerConfigJsonKey
		var all struct {
			Auths   map[string]login  `json:"auths"`
			Headers map[string]string `json:"HttpHeaders"`
		}
		if content := text(key); content != "" {
			err = json.Unmarshal([]byte(content), &all)
		}
	case corev1.SecretTypeDockercfg:
		key = corev1.DockerConfigKey
		var all map[string]login
		if content := text(key); content != "" {
			err = json.Unmarshal([]byte(content), &all)
		}
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) { // without the names of types
		err = fmt.Errorf("%s is a %s", strings.TrimPrefix(wrong.Field+" ", " ")+"it", wrong.Value)
	}
	return key, err
}

// login is that of one registry.
type login struct{}

// UnmarshalJSON reads one, and keeps nothing of it.
func (l *login) UnmarshalJSON(text []byte) error {
	var fields struct {
		Username string `json:"username"`
		Password string `json:"password"`
		Email    string `json:"email"`
		Auth     string `json:"auth"`
	}
	if err := json.Unmarshal(text, &fields); err != nil || fields.Auth == "" {
		return err
	}
	encoding := base64.RawStdEncoding
	if strings.HasSuffix(strings.TrimSpace(fields.Auth), "=") {
		encoding = base64.StdEncoding
	}
	switch decoded, err := encoding.DecodeString(fields.Auth); {
	case err != nil:
		return errors.New("auth is no base64")
	case !strings.Contains(string(decoded), ":"):
		return errors.New("auth is base64 of something else than username:password")
	}
	return nil
}
