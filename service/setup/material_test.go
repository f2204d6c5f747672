package setup

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/internal/testkit/filetest"
	"fairlane/internal/usage"
	"fairlane/service/config"
)

// What `config check` accepts, the service begins with: both read all that a configuration names, and one fault hides no other.
func TestEveryFaultOfAConfigurationIsFound(t *testing.T) {
	t.Parallel()
	good := func() *config.Config {
		c := config.Default()
		c.Database = filepath.Join(t.TempDir(), "fairlane.db")
		return &c
	}
	if m, err := Load(good(), "/callback", nil); err != nil || m.Database == "" || m.Certificates != nil || m.OpenID != nil || m.Site.Sources == nil {
		t.Errorf("the default: %+v, %v", m, err)
	}
	short := filetest.Write(t, "token", "short\n")
	faults := map[string]func(*config.Config){
		"database":                func(c *config.Config) { c.Database = t.TempDir() },
		"database_password_file":  func(c *config.Config) { c.Database, c.DatabasePasswordFile = "postgres://u@h/d", "absent" },
		"admin_token_file":        func(c *config.Config) { c.AdminTokenFile = short },
		"cc_key_file":             func(c *config.Config) { c.CCKeyFile = short },
		"m_key_file":              func(c *config.Config) { c.MKeyFile = short },
		"cc_layouts":              func(c *config.Config) { c.CCLayouts = []string{"old-*=upside-down"} },
		"ib_profiles":             func(c *config.Config) { c.IBProfiles = "absent" },
		"subnet_managers":         func(c *config.Config) { c.SubnetManagers = []string{"lab=absent"} },
		"discovery.sources":       func(c *config.Config) { c.Discovery.Sources = []string{"floppy:a"} },
		"tls":                     func(c *config.Config) { c.TLS.CertFile, c.TLS.KeyFile = "absent", "absent" },
		"oidc.roles":              func(c *config.Config) { c.OIDC.Issuer, c.OIDC.Roles = "https://id.example", []string{"x=king@*"} },
		"oidc.client_secret_file": func(c *config.Config) { c.OIDC.Issuer, c.OIDC.ClientSecretFile = "https://id.example", "absent" },
	}
	mailed := func(c *config.Config) {
		c.Receivers.Mail.Server, c.Receivers.Mail.From, c.Receivers.Mail.To = "mail.example:587", "f@example.net", []string{"t@example.net"}
	}
	faults["alerts.webhook_key_file"] = func(c *config.Config) { c.Receivers.WebhookKeyFile = short }
	faults["alerts.ca_file"] = func(c *config.Config) { c.Receivers.CAFile = short }
	faults["alerts.mail.password_file"] = func(c *config.Config) { mailed(c); c.Receivers.Mail.PasswordFile = "absent" }
	faults["audit.export.key_file"] = func(c *config.Config) { c.AuditExport.KeyFile = short }
	faults["audit.export.ca_file"] = func(c *config.Config) { c.AuditExport.CAFile = "absent" }
	for key, spoil := range faults {
		c := good()
		spoil(c)
		if _, err := Load(c, "/callback", nil); !errors.As(err, new(*usage.Error)) || !strings.HasPrefix(err.Error(), key+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error is %v", key, err)
		}
	}
	c, all := good(), []string{"admin_token_file", "cc_key_file", "m_key_file", "cc_layouts", "ib_profiles", "subnet_managers", "discovery.sources", "tls", "oidc.roles"}
	for _, key := range all {
		faults[key](c)
	}
	_, err := Load(c, "/callback", nil)
	if err == nil {
		t.Fatal("a configuration with many faults is accepted")
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		if i >= len(all) || !strings.HasPrefix(line, all[i]+": ") {
			t.Errorf("line %d is %q, want the faults of %v", i+1, line, all)
		}
	}
}
