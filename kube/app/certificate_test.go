package app

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// verified reports whether the webhook's configuration trusts what a replica presents for the service's name.
func verified(t *testing.T, c *certificate) (*x509.Certificate, bool) {
	t.Helper()
	var w admissionv1.MutatingWebhookConfiguration
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: webhookName}, &w); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.Webhooks[0].ClientConfig.CABundle)
	cert, err := c.get(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = cert.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "fairlane-kube.fairlane-system.svc", CurrentTime: c.now()})
	return cert.Leaf, err == nil
}

func TestReplicasShareACertificateAndRenewIt(t *testing.T) {
	t.Parallel()
	store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(&admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookName},
		Webhooks:   []admissionv1.MutatingWebhook{{Name: "pods.fairlane.dev", ClientConfig: admissionv1.WebhookClientConfig{CABundle: []byte("no certificate\n")}}},
	}).Build()
	now := time.Now()
	replica := func() *certificate {
		return &certificate{client: store, now: func() time.Time { return now }, options: Options{Namespace: "fairlane-system", Names: []string{"fairlane-kube.fairlane-system.svc"}}}
	}
	one, two := replica(), replica()
	if _, err := one.get(nil); err == nil {
		t.Error("a certificate before the first one was made")
	}
	refresh := func(all ...*certificate) {
		t.Helper()
		for _, c := range all {
			if err := c.refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	refresh(one, two)
	first, ok := verified(t, one)
	if second, ok2 := verified(t, two); !ok || !ok2 || !first.Equal(second) {
		t.Error("the replicas do not share a certificate that is trusted")
	}
	now = now.Add(certificateLife - certificateRenew - time.Hour)
	refresh(one)
	if same, _ := verified(t, one); !same.Equal(first) {
		t.Error("renewed early")
	}
	now = now.Add(2 * time.Hour)
	refresh(two)
	renewed, ok := verified(t, two)
	if renewed.Equal(first) || !ok {
		t.Error("not renewed")
	}
	if old, ok := verified(t, one); !old.Equal(first) || !ok {
		t.Error("the other replica's certificate is not trusted until its next round")
	}
	refresh(one)
	if got, ok := verified(t, one); !got.Equal(renewed) || !ok {
		t.Error("the other replica did not take the new certificate")
	}
	var w admissionv1.MutatingWebhookConfiguration
	now = now.Add(certificateRenew) // the first one has ended
	refresh(one, two)
	if err := store.Get(t.Context(), client.ObjectKey{Name: webhookName}, &w); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(w.Webhooks[0].ClientConfig.CABundle, []byte("BEGIN CERTIFICATE")); n != 1 {
		t.Errorf("%d authorities, want the current one", n)
	}
}

func TestADamagedSecretIsReplaced(t *testing.T) {
	t.Parallel()
	store := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "fairlane-system", Name: secretName}, Data: map[string][]byte{corev1.TLSCertKey: []byte("x")},
	}).Build()
	c := &certificate{client: store, now: time.Now, options: Options{Namespace: "fairlane-system", Names: []string{"x"}}}
	if err := c.refresh(t.Context()); err != nil { // a site without the webhook's configuration is fine too
		t.Fatal(err)
	}
	if _, err := c.get(nil); err != nil {
		t.Error(err)
	}
}
