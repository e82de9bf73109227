package certificates

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nvidia/aicr-action/internal/bundle"
	"github.com/nvidia/aicr-action/internal/matrix/refs/problem/problemtest"
)

func TestFind(t *testing.T) {
	object := func(kind, meta, spec string) string {
		return "apiVersion: cert-manager.io/v1\nkind: " + kind + "\nmetadata: {" + meta + "}\nspec: {" + spec + "}\n---\n"
	}
	cert := func(name, more string) string {
		return object(certificate, "namespace: x, name: "+name, "secretName: "+name+", issuerRef: {name: house}, "+more)
	}
	issuer := func(more string) string { return object("Issuer", "namespace: x, name: house", more) }
	cluster := object(clusterIssuer, "name: house", "ca: {secretName: root}")
	root := cert("root", "isCA: true, commonName: root")
	manager := []string{"--v=2", "--cluster-resource-namespace=$(POD_NAMESPACE)"}
	for name, c := range map[string]struct {
		objects string
		args    []string // of cert-manager; nil: there is none
		want    string
	}{
		"a name":                      {objects: cert("a", "dnsNames: [a.x.svc]")},
		"a common name":               {objects: cert("a", "commonName: a")},
		"a subject":                   {objects: cert("a", "literalSubject: CN=a")},
		"no name":                     {objects: cert("a", "dnsNames: []"), want: "Certificate a: names nothing that it is for"},
		"a long common name":          {objects: cert("a", "commonName: "+strings.Repeat("a", 65)), want: "has a commonName of 65 bytes"},
		"half an hour":                {objects: cert("a", "commonName: a, duration: 30m"), want: "lasts 30m0s (spec.duration), and an hour is the least"},
		"no duration":                 {objects: cert("a", "commonName: a, duration: long")},
		"renewed too late":            {objects: cert("a", "commonName: a, duration: 2h, renewBefore: 3h"), want: "is renewed 3h0m0s before its end (spec.renewBefore), and lasts 2h0m0s"},
		"renewed before the usual":    {objects: cert("a", "commonName: a, renewBefore: 2160h"), want: "and lasts 2160h0m0s"},
		"renewed in time":             {objects: cert("a", "commonName: a, duration: 2h, renewBefore: 1h")},
		"a key of no curve":           {objects: cert("a", "commonName: a, privateKey: {algorithm: ECDSA, size: 123}"), want: "has an ECDSA key of 123 bits"},
		"a key of a curve":            {objects: cert("a", "commonName: a, privateKey: {algorithm: ECDSA, size: 384}")},
		"a short key":                 {objects: cert("a", "commonName: a, privateKey: {size: 1024}"), want: "has an RSA key of 1024 bits"},
		"a key of the usual size":     {objects: cert("a", "commonName: a, privateKey: {algorithm: Ed25519, size: 1}")},
		"two types":                   {objects: issuer("selfSigned: {}, ca: {secretName: root}") + root, want: "Issuer house: is of more than one type (ca, selfSigned)"},
		"one Secret of two":           {objects: cert("a", "commonName: a") + strings.Replace(cert("b", "commonName: b"), "secretName: b", "secretName: a", 1), want: "Certificate b: is to be kept in Secret x/a (spec.secretName), and so is Certificate.cert-manager.io x/a (c)"},
		"the same in two namespaces":  {objects: cert("a", "commonName: a") + strings.Replace(cert("a", "commonName: a"), "namespace: x", "namespace: y", 1)},
		"an authority":                {objects: root + issuer("ca: {secretName: root}")},
		"an authority that is none":   {objects: cert("root", "commonName: root") + issuer("ca: {secretName: root}"), want: "Issuer house: signs with Secret root (spec.ca.secretName), which is that of Certificate.cert-manager.io x/root (c), no authority: it lacks isCA"},
		"a Secret that is given":      {objects: "apiVersion: v1\nkind: Secret\nmetadata: {name: root, namespace: x}\n---\n" + issuer("ca: {secretName: root}")},
		"a cluster's authority":       {objects: strings.Replace(root, "namespace: x", "namespace: cm", 1) + cluster, args: manager},
		"a cluster's in another":      {objects: root + cluster, args: manager, want: "ClusterIssuer house: signs with Secret root (spec.ca.secretName), which cert-manager reads in namespace cm (--cluster-resource-namespace), and Certificate.cert-manager.io x/root (c) is in namespace x"},
		"a cluster's in both":         {objects: root + strings.Replace(root, "namespace: x", "namespace: cm", 1) + cluster, args: manager},
		"a namespace that is named":   {objects: root + cluster, args: []string{"--cluster-resource-namespace=x"}},
		"the usual namespace":         {objects: root + cluster, args: []string{}, want: "reads in namespace kube-system"},
		"a namespace of a variable":   {objects: root + cluster, args: []string{"--cluster-resource-namespace=$(WHERE)"}},
		"a namespace of a file":       {objects: root + cluster, args: []string{"--config=/etc/a.yaml"}},
		"another cert-manager's":      {objects: root + cluster},
		"a Secret that is not there":  {objects: cluster, args: manager},
		"another program's kind":      {objects: strings.Replace(cert("a", ""), "cert-manager.io/v1", "networking.example.com/v1", 1)},
		"no issuer's name":            {objects: strings.Replace(cert("a", "commonName: a"), "name: house", "kind: Issuer", 1), want: "names no issuer (spec.issuerRef.name)"},
		"an issuer of no kind":        {objects: strings.Replace(cert("a", "commonName: a"), "name: house", "name: house, kind: AWSPCAIssuer", 1), want: "is to be signed by an issuer of kind AWSPCAIssuer"},
		"another program's issuer":    {objects: strings.Replace(cert("a", "commonName: a"), "name: house", "name: house, kind: AWSPCAIssuer, group: awspca.cert-manager.io", 1)},
		"an address that is none":     {objects: cert("a", "ipAddresses: [10.0.0.1, 10.0.0.256]"), want: `is for the IP address "10.0.0.256", which is none`},
		"an e-mail that is none":      {objects: cert("a", "emailAddresses: [A <a@example.com>]"), want: `is for the e-mail address "A <a@example.com>", which is none`},
		"a Secret of no name":         {objects: strings.Replace(cert("a", "commonName: a"), "secretName: a", "secretName: A_b", 1), want: "is to be kept in Secret A_b, which is no name"},
		"an annotation of its own":    {objects: cert("a", "commonName: a, secretTemplate: {annotations: {cert-manager.io/issuer-name: x}}"), want: "gives its Secret the annotation cert-manager.io/issuer-name"},
		"one that is allowed":         {objects: cert("a", "commonName: a, secretTemplate: {annotations: {cert-manager.io/allow-direct-injection: \"true\"}}")},
		"no password":                 {objects: cert("a", "commonName: a, keystores: {jks: {create: true}}"), want: "has no password for its keystore (spec.keystores.jks)"},
		"two passwords":               {objects: cert("a", "commonName: a, keystores: {pkcs12: {create: true, password: x, passwordSecretRef: {name: x, key: x}}}"), want: "has two passwords for its keystore (spec.keystores.pkcs12"},
		"one password":                {objects: cert("a", "commonName: a, keystores: {pkcs12: {create: true, passwordSecretRef: {name: x, key: x}}}")},
		"renewed within the last":     {objects: cert("a", "commonName: a, renewBefore: 4m"), want: "and five minutes is the least"},
		"renewed by two rules":        {objects: cert("a", "commonName: a, renewBefore: 5m, renewBeforePercentage: 50"), want: "is renewed by two rules"},
		"an issuer of no type":        {objects: issuer(""), want: "Issuer house: is of no type"},
		"an issuer of a later type":   {objects: issuer("later: {}")},
		"no server":                   {objects: issuer("acme: {privateKeySecretRef: {name: a}}"), want: "has no server (spec.acme)"},
		"no account":                  {objects: issuer("acme: {server: a, privateKeySecretRef: {name: \"\"}}"), want: "has no privateKeySecretRef.name (spec.acme)"},
		"a solver":                    {objects: issuer("acme: {server: a, privateKeySecretRef: {name: a}, solvers: [{http01: {ingress: {}}}, {selector: {}, dns01: {route53: {}}}]}")},
		"a solver of nothing":         {objects: issuer("acme: {server: a, privateKeySecretRef: {name: a}, solvers: [{http01: {ingress: {}}}, {selector: {}}]}"), want: "has a solver that is neither http01 nor dns01 (spec.acme.solvers[1])"},
		"a solver without a way":      {objects: issuer("acme: {server: a, privateKeySecretRef: {name: a}, solvers: [{http01: {}}]}"), want: "with neither ingress nor gatewayHTTPRoute"},
		"a Secret without a key":      {objects: "apiVersion: v1\nkind: Secret\nmetadata: {name: root, namespace: x}\nstringData: {ca.crt: a, tls.crt: a}\n---\n" + issuer("ca: {secretName: root}"), want: "signs with Secret x/root (c, spec.ca.secretName), which has no tls.crt and tls.key"},
		"a Secret with both":          {objects: "apiVersion: v1\nkind: Secret\nmetadata: {name: root, namespace: x}\ndata: {tls.key: YQ==}\nstringData: {tls.crt: a}\n---\n" + issuer("ca: {secretName: root}")},
		"a version of another format": {objects: strings.Replace(cert("a", ""), "cert-manager.io/v1", "cert-manager.io/v1alpha2", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			e := &bundle.Expectation{Objects: problemtest.Objects(t, "c", c.objects)}
			if c.args != nil {
				e.Workloads = []bundle.Workload{{Kind: "Deployment", Namespace: "cm", Name: "cm", PodSpec: corev1.PodSpec{Containers: []corev1.Container{{Image: "quay.io/jetstack/cert-manager-controller:v1", Args: c.args}}}}}
			}
			var got []string
			for _, p := range Find(e) {
				got = append(got, p.From.Kind+" "+p.From.Name+": "+p.Text)
				if p.Reason == "" || p.Then == "" || p.Cause == "" || p.Name == "" {
					t.Errorf("%+v", p)
				}
			}
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
