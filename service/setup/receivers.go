package setup

import (
	"crypto/x509"
	"fmt"
	"net/mail"

	"fairlane/internal/certpool"
	"fairlane/internal/i18n"
	"fairlane/service/auditexport"
	"fairlane/service/config"
	"fairlane/service/notify"
	"fairlane/service/webhook"
)

// Receivers returns where a configuration sends alerts, and all faults of the files that it names for that.
func Receivers(c *config.Config) (o notify.Options, faults []error) {
	add := func(key string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", key, err))
		}
	}
	r := &c.Receivers
	o = notify.Options{
		Alertmanagers: r.Alertmanagers, ExternalURL: c.PublicURL, GroupWait: r.GroupWait, GroupInterval: r.GroupInterval, RepeatInterval: r.RepeatInterval,
	}
	if o.GroupWait == 0 {
		o.GroupWait = -1 // 0 is the default there
	}
	for _, text := range r.Webhooks {
		name, address := config.CutNamed(text)
		o.Webhooks = append(o.Webhooks, notify.Webhook{Name: name, URL: address})
	}
	var err error
	o.Key, err = signingKey(r.WebhookKeyFile)
	add("alerts.webhook_key_file", err)
	o.Roots, err = roots(r.CAFile)
	add("alerts.ca_file", err)
	if r.Mail.Server == "" {
		return o, faults
	}
	m := notify.Mail{Server: r.Mail.Server, Security: notify.Security(r.Mail.Security), User: r.Mail.User}
	m.Password, err = config.Secret(r.Mail.PasswordFile)
	add("alerts.mail.password_file", err)
	language, err := i18n.Load(r.Mail.Language)
	add("alerts.mail.language", err)
	if err == nil {
		m.Say = language.Say
	}
	for i, text := range append([]string{r.Mail.From}, r.Mail.To...) {
		a, err := mail.ParseAddress(text)
		switch {
		case err != nil: // the configuration checks its form
			add("alerts.mail", err)
		case i == 0:
			m.From = *a
		default:
			m.To = append(m.To, *a)
		}
	}
	o.Mail = &m
	return o, faults
}

// sinks returns where a configuration sends the audit log.
func sinks(c *config.Config) (o auditexport.Options, faults []error) {
	for _, text := range c.AuditExport.Sinks {
		name, address := config.CutNamed(text)
		o.Sinks = append(o.Sinks, auditexport.Sink{Name: name, URL: address})
	}
	var err error
	if o.Key, err = signingKey(c.AuditExport.KeyFile); err != nil {
		faults = append(faults, fmt.Errorf("audit.export.key_file: %w", err))
	}
	if o.Roots, err = roots(c.AuditExport.CAFile); err != nil {
		faults = append(faults, fmt.Errorf("audit.export.ca_file: %w", err))
	}
	return o, faults
}

// signingKey reads the key that signs webhooks; nil without a file.
func signingKey(path string) (*webhook.Key, error) {
	text, err := config.Secret(path)
	if err != nil || text == "" {
		return nil, err
	}
	k, err := webhook.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &k, nil
}

// roots reads the authorities that others are verified with; nil, those of the system, without a file.
func roots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // those of the system
	}
	return certpool.Read(path)
}
