package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Life of the webhook's certificate.
const (
	certificateLife  = 365 * 24 * time.Hour
	certificateRenew = 30 * 24 * time.Hour // before its end
	certificateCheck = time.Minute         // how soon a replica takes another's renewal
)

// certificate keeps the webhook's certificate: one for all replicas, in a Secret, its own authority, which the webhook's
// configuration names. Whichever replica finds it missing or old replaces it.
type certificate struct {
	client  client.Client // without a cache: reading one Secret must not need the right to list all
	options Options
	now     func() time.Time
	current atomic.Pointer[tls.Certificate]
}

func newCertificate(cluster *rest.Config, o Options) (*certificate, error) {
	c, err := client.New(cluster, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &certificate{client: c, options: o, now: time.Now}, nil
}

// NeedLeaderElection says that every replica keeps the certificate.
func (c *certificate) NeedLeaderElection() bool { return false }

// Start keeps the certificate until the context ends.
func (c *certificate) Start(ctx context.Context) error {
	tick := time.NewTicker(certificateCheck)
	defer tick.Stop()
	for {
		if err := c.refresh(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "keep the webhook's certificate")
		}
		wait := tick.C
		if c.current.Load() == nil { // the first one is needed soon
			wait = time.After(time.Second)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wait:
		}
	}
}

// get returns the certificate for a connection.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cert := c.current.Load(); cert != nil {
		return cert, nil
	}
	return nil, fmt.Errorf("the webhook has no certificate yet")
}

// refresh loads the certificate, replaces it if it is missing, old or for other names, and names it in the webhook's
// configuration.
func (c *certificate) refresh(ctx context.Context) error {
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: c.options.Namespace, Name: secretName}
	err := c.client.Get(ctx, key, &secret)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read secret %s: %w", key, err)
	}
	missing := err != nil
	cert, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if missing || err != nil || !c.good(cert.Leaf) {
		text, private, err := c.generate()
		if err != nil {
			return fmt.Errorf("make a certificate: %w", err)
		}
		secret.Data = map[string][]byte{corev1.TLSCertKey: text, corev1.TLSPrivateKeyKey: private}
		if missing {
			secret.Name, secret.Namespace, secret.Type = key.Name, key.Namespace, corev1.SecretTypeTLS
			err = c.client.Create(ctx, &secret)
		} else {
			err = c.client.Update(ctx, &secret)
		}
		if err != nil { // another replica was faster, and the next round takes its certificate
			return fmt.Errorf("write secret %s: %w", key, err)
		}
		if cert, err = tls.X509KeyPair(text, private); err != nil {
			return err
		}
	}
	c.current.Store(&cert)
	return c.publish(ctx, secret.Data[corev1.TLSCertKey])
}

func (c *certificate) good(leaf *x509.Certificate) bool {
	for _, name := range c.options.Names {
		if leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return c.now().Add(certificateRenew).Before(leaf.NotAfter)
}

func (c *certificate) generate() (text, private []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: serviceName}, DNSNames: c.options.Names,
		NotBefore: c.now().Add(-time.Hour), NotAfter: c.now().Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
}

// publish names the certificate as an authority in the webhook's configuration. Earlier ones stay as long as they are valid:
// other replicas use them until their next round.
func (c *certificate) publish(ctx context.Context, text []byte) error {
	var w admissionv1.MutatingWebhookConfiguration
	switch err := c.client.Get(ctx, client.ObjectKey{Name: webhookName}, &w); {
	case apierrors.IsNotFound(err):
		return nil // the site does not use the webhook
	case err != nil:
		return fmt.Errorf("read mutatingwebhookconfiguration %s: %w", webhookName, err)
	}
	before := w.DeepCopy()
	for i := range w.Webhooks {
		config := &w.Webhooks[i].ClientConfig
		config.CABundle = bundle(text, config.CABundle, c.now())
	}
	if equality.Semantic.DeepEqual(before, &w) {
		return nil
	}
	if err := c.client.Patch(ctx, &w, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write mutatingwebhookconfiguration %s: %w", webhookName, err)
	}
	return nil
}

// bundle returns a certificate followed by the other valid ones of an earlier bundle, so far as they are the webhook's own.
func bundle(text, earlier []byte, now time.Time) []byte {
	all := bytes.Clone(text)
	for len(earlier) > 0 {
		block, rest := pem.Decode(earlier)
		if block == nil {
			break
		}
		earlier = rest
		cert, err := x509.ParseCertificate(block.Bytes)
		encoded := pem.EncodeToMemory(block)
		if err == nil && cert.Subject.CommonName == serviceName && now.Before(cert.NotAfter) && !bytes.Contains(all, encoded) {
			all = append(all, encoded...)
		}
	}
	return all
}
