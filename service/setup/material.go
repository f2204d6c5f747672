// Package setup makes of a configuration what the service begins with: certificates, sign-in at a provider, and the contents of all files
// that it names.
package setup

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fairlane/internal/servertls"
	"fairlane/internal/usage"
	"fairlane/service/auditexport"
	"fairlane/service/config"
	"fairlane/service/control/identity"
	"fairlane/service/notify"
	"fairlane/service/openid"
	"fairlane/service/series/embedded"
	"fairlane/service/site"
	"fairlane/service/store"
)

// Material is what the files that a configuration names hold, in the form in which the service uses it.
type Material struct {
	Database     string // path of a SQLite file, or a URL with its password
	AdminToken   string // empty: the service makes one at its first start
	Site         site.Settings
	Certificates *servertls.Source        // nil: plain HTTP
	OpenID       *openid.Provider         // nil: there is no provider to sign in at
	Receivers    notify.Options           // of alerts
	Audit        auditexport.Options      // sinks of the audit log
	Series       embedded.ExternalOptions // without URL: the series are in a folder
	PeerTLS      *tls.Config              // for other managers; nil: the system's authorities
}

// Load is Read for a service, which begins with all of the material or not at all. It also judges the database. Its error is one of wrong
// usage.
func Load(c *config.Config, callbackPath string, log *slog.Logger) (*Material, error) {
	var faults []error
	err := store.CheckPath(c.Database)
	if err == nil {
		err = store.CheckHeader(c.Database)
	}
	if err != nil {
		faults = append(faults, fmt.Errorf("database: %w", err))
	}
	m, more := Read(c, callbackPath, log)
	if faults = append(faults, more...); len(faults) > 0 {
		return nil, usage.Wrap(errors.Join(faults...))
	}
	return m, nil
}

// Read reads every file that a configuration names, and returns what they hold, as far as that is valid, and all faults. callbackPath is
// where the API takes answers of an OpenID provider. The log, nil for none, is that of the certificates.
func Read(c *config.Config, callbackPath string, log *slog.Logger) (m *Material, faults []error) {
	m = &Material{}
	add := func(key string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", key, err))
		}
	}
	var err error
	m.Database, err = config.DatabaseURL(c)
	add("database_password_file", err)
	if m.AdminToken, err = config.Secret(c.AdminTokenFile); err == nil && m.AdminToken != "" {
		if err = identity.CheckAdminToken(m.AdminToken); err != nil {
			err = fmt.Errorf("%s: %w", c.AdminTokenFile, err)
		}
	}
	add("admin_token_file", err)
	if m.Site, err = site.ReadSettings(c); err != nil {
		faults = append(faults, err) // it names its keys
	}
	if c.TLS.CertFile != "" {
		m.Certificates, err = certificates(c.TLS, log)
		add("tls", err)
	}
	if m.OpenID, err = openID(c, callbackPath); err != nil {
		faults = append(faults, err) // it names its key
	}
	m.Series.URL = c.Series.URL
	m.Series.Token, err = config.Secret(c.Series.TokenFile)
	add("series.token_file", err)
	if m.PeerTLS, err = peerTLS(c, m.Certificates); err != nil {
		add("series.ca_file", err)
	}
	m.Series.TLS = m.PeerTLS
	var more []error
	m.Receivers, more = Receivers(c)
	faults = append(faults, more...)
	m.Audit, more = sinks(c)
	return m, append(faults, more...)
}

// peerTLS is what connections for series trust. The certificate of the API identifies this manager to others that require one.
func peerTLS(c *config.Config, own *servertls.Source) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if own != nil {
		t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &own.At(time.Now()).Certificates[0], nil
		}
	}
	var err error
	t.RootCAs, err = roots(c.Series.CAFile)
	return t, err
}
