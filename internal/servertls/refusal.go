package servertls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Refusal explains why a handshake failed, with attributes for a log: subject, issuer and validity of a client's
// certificate, and the local time, because the clock of either end may be wrong.
func Refusal(err error, now time.Time) (string, []slog.Attr) {
	var header tls.RecordHeaderError
	if errors.As(err, &header) {
		return "the client speaks no TLS", []slog.Attr{slog.String("error", err.Error())}
	}
	var refused *tls.CertificateVerificationError
	if !errors.As(err, &refused) || len(refused.UnverifiedCertificates) == 0 {
		return "the handshake failed", []slog.Attr{slog.String("error", err.Error())}
	}
	leaf := refused.UnverifiedCertificates[0]
	attrs := []slog.Attr{
		slog.String("subject", leaf.Subject.String()), slog.String("issuer", leaf.Issuer.String()),
		slog.Time("not_before", leaf.NotBefore.UTC()), slog.Time("not_after", leaf.NotAfter.UTC()), slog.Time("now", now.UTC()),
		slog.String("error", refused.Err.Error()),
	}
	return why(refused, leaf, now), attrs
}

func why(refused *tls.CertificateVerificationError, leaf *x509.Certificate, now time.Time) string {
	var unknown x509.UnknownAuthorityError
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Sprintf("the client's certificate expired %s ago: renew it, or set this host's clock right if that is wrong", now.Sub(leaf.NotAfter).Round(time.Second))
	case now.Before(leaf.NotBefore):
		return fmt.Sprintf("the client's certificate is not valid for another %s: this host's clock or its issuer's is probably wrong", leaf.NotBefore.Sub(now).Round(time.Second))
	case errors.As(refused.Err, &unknown):
		return "the client's certificate is signed by none of the authorities that this listener accepts"
	default:
		return "the client's certificate is not acceptable"
	}
}
