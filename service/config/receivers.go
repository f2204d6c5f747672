package config

import (
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlane/internal/phrase"
)

// Receivers are where alerts are sent; with none, nowhere.
type Receivers struct {
	Alertmanagers  []string // base URLs
	Webhooks       []string // "NAME=URL"
	WebhookKeyFile string
	CAFile         string // PEM; empty: the system's authorities
	GroupWait      time.Duration
	GroupInterval  time.Duration
	RepeatInterval time.Duration
	Mail           Mail
}

// Mail is the mail server and the addresses of alerts; without Server there is no mail.
type Mail struct {
	Server       string // HOST:PORT
	Security     string // "starttls", "tls" or "none"
	User         string // empty: no sign-in
	PasswordFile string
	From         string
	To           []string
	Language     string // "en" or "zh"
}

// AuditExport is where the audit log is sent; without Sinks, nowhere.
type AuditExport struct {
	Sinks   []string // "NAME=URL"
	KeyFile string
	CAFile  string // PEM; empty: the system's authorities
}

// defaultReceivers are the settings of a service without receivers.
func defaultReceivers() Receivers {
	return Receivers{
		GroupWait: 30 * time.Second, GroupInterval: 5 * time.Minute, RepeatInterval: 4 * time.Hour,
		Mail: Mail{Security: "starttls", Language: "en"},
	}
}

// receiverKeys are the keys about receivers of alerts and of the audit log.
func receiverKeys() []Key {
	return []Key{
		{Name: "alerts.alertmanagers", check: isReceiverURL("http", "https"), bind: func(c *Config) any { return &c.Receivers.Alertmanagers },
			Doc: "URLs of Alertmanagers (API version 2), such as `http://127.0.0.1:9093`; each gets every alert"},
		{Name: "alerts.webhooks", check: isNamedURL("http", "https"), hide: hideURL, bind: func(c *Config) any { return &c.Receivers.Webhooks },
			Doc: "receivers of alerts as signed webhooks (docs/notifications.md), as `NAME=URL`; only the host of a URL is shown"},
		{Name: "alerts.webhook_key_file", bind: func(c *Config) any { return &c.Receivers.WebhookKeyFile },
			Doc: "file with the key that signs the webhooks of alerts, at least 24 characters, or `whsec_` and base64"},
		{Name: "alerts.ca_file", bind: func(c *Config) any { return &c.Receivers.CAFile },
			Doc: "authorities in PEM that receivers of alerts are verified with; without it, those of the system"},
		{Name: "alerts.group_wait", check: within(0, time.Hour), bind: func(c *Config) any { return &c.Receivers.GroupWait },
			Doc: "time from the first alert of a group to its first webhook or mail, 0s to 1h. Alerts of one name on one fabric are a group"},
		{Name: "alerts.group_interval", check: within(time.Second, 24*time.Hour), bind: func(c *Config) any { return &c.Receivers.GroupInterval },
			Doc: "time between two webhooks or mails about changes of a group, 1s to 24h"},
		{Name: "alerts.repeat_interval", check: within(time.Minute, 30*24*time.Hour), bind: func(c *Config) any { return &c.Receivers.RepeatInterval },
			Doc: "time after which a webhook or mail about alerts that still fire is repeated, 1m to 720h"},
		{Name: "alerts.mail.server", check: isMailServer, bind: func(c *Config) any { return &c.Receivers.Mail.Server },
			Doc: "mail server for alerts, HOST:PORT; without it, there is no mail"},
		{Name: "alerts.mail.security", check: oneOf("starttls", "tls", "none"), bind: func(c *Config) any { return &c.Receivers.Mail.Security },
			Doc: "protection of the connection to the mail server: `starttls` (required of the server), `tls` from the first byte, or `none`"},
		{Name: "alerts.mail.user", bind: func(c *Config) any { return &c.Receivers.Mail.User },
			Doc: "user at the mail server; without it, there is no sign-in"},
		{Name: "alerts.mail.password_file", bind: func(c *Config) any { return &c.Receivers.Mail.PasswordFile },
			Doc: "file with the user's password at the mail server"},
		{Name: "alerts.mail.from", check: isMailAddress, bind: func(c *Config) any { return &c.Receivers.Mail.From },
			Doc: "sender of mails, such as `Fairlane <fairlane@example.net>`"},
		{Name: "alerts.mail.to", check: isMailAddress, bind: func(c *Config) any { return &c.Receivers.Mail.To },
			Doc: "recipients of mails"},
		{Name: "alerts.mail.language", check: oneOf("en", "zh"), bind: func(c *Config) any { return &c.Receivers.Mail.Language },
			Doc: "language of mails: `en` or `zh`"},
		{Name: "audit.export.sinks", check: isNamedURL("udp", "tcp", "tls", "http", "https"), hide: hideURL, bind: func(c *Config) any { return &c.AuditExport.Sinks },
			Doc: "receivers of the audit log, as `NAME=URL`: syslog (RFC 5424) at `udp://`, `tcp://` or `tls://HOST:PORT`, or a signed webhook at `https://HOST` (docs/security.md). The position of an export belongs to its name"},
		{Name: "audit.export.key_file", bind: func(c *Config) any { return &c.AuditExport.KeyFile },
			Doc: "file with the key that signs the webhooks of the audit log, in the form of `alerts.webhook_key_file`"},
		{Name: "audit.export.ca_file", bind: func(c *Config) any { return &c.AuditExport.CAFile },
			Doc: "authorities in PEM that receivers of the audit log are verified with; without it, those of the system"},
	}
}

// receiversTogether checks the rules between those keys.
func (l *Loaded) receiversTogether(wrong func(key string, why phrase.Text)) {
	r, m := &l.Receivers, &l.Receivers.Mail
	if len(r.Webhooks) > 0 && r.WebhookKeyFile == "" {
		wrong("alerts.webhooks", phrase.Of("config.want-webhook-key", "key", "alerts.webhook_key_file"))
	}
	switch {
	case m.Server != "" && (m.From == "" || len(m.To) == 0):
		wrong("alerts.mail.server", phrase.Of("config.mail-addresses"))
	case m.Server == "" && (m.From != "" || len(m.To) > 0 || m.User != "" || m.PasswordFile != ""):
		wrong("alerts.mail.server", phrase.Of("config.mail-server"))
	case (m.User == "") != (m.PasswordFile == ""):
		wrong("alerts.mail.user", phrase.Of("config.mail-half"))
	case m.User != "" && m.Security == "none":
		wrong("alerts.mail.security", phrase.Of("config.mail-open"))
	}
	for key, list := range map[string][]string{"alerts.webhooks": r.Webhooks, "audit.export.sinks": l.AuditExport.Sinks} {
		names := make([]string, len(list))
		for i, entry := range list {
			names[i], _ = CutNamed(entry)
			if slices.Contains(names[:i], names[i]) {
				wrong(key, phrase.Of("config.name-twice", "name", strconv.Quote(names[i])))
			}
		}
	}
	isWebhook := func(entry string) bool {
		_, address := CutNamed(entry)
		return strings.HasPrefix(strings.ToLower(address), "http")
	}
	if l.AuditExport.KeyFile == "" && slices.ContainsFunc(l.AuditExport.Sinks, isWebhook) {
		wrong("audit.export.sinks", phrase.Of("config.want-webhook-key", "key", "audit.export.key_file"))
	}
}

// receiverName is the form of the name of a receiver.
var receiverName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// CutNamed splits "NAME=URL".
func CutNamed(s string) (name, address string) {
	name, address, _ = strings.Cut(s, "=")
	return strings.TrimSpace(name), strings.TrimSpace(address)
}

// isNamedURL accepts "NAME=URL". Its error does not repeat the URL, which may hold a secret.
func isNamedURL(schemes ...string) func(string) error {
	return func(s string) error {
		name, address := CutNamed(s)
		if !receiverName.MatchString(name) || isReceiverURL(schemes...)(address) != nil {
			return fault(phrase.Of("config.want-named-url", "schemes", schemes))
		}
		return nil
	}
}

// isReceiverURL accepts a URL with one of the schemes, without a user; a syslog URL has only HOST:PORT.
func isReceiverURL(schemes ...string) func(string) error {
	return func(s string) error {
		u, err := url.Parse(s)
		bad := err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || !slices.Contains(schemes, u.Scheme)
		if !bad && !strings.HasPrefix(u.Scheme, "http") {
			bad = u.Port() == "" || u.Hostname() == "" || u.Path != "" || u.RawQuery != ""
		}
		if bad {
			return fault(phrase.Of("config.want-receiver-url", "schemes", schemes))
		}
		return nil
	}
}

// hideURL shows the name, the scheme and the host of "NAME=URL": paths and queries of webhooks often hold a secret.
func hideURL(entry string) string {
	name, address := CutNamed(entry)
	u, err := url.Parse(address)
	if err != nil {
		return name + "=(unreadable)"
	}
	shown := name + "=" + u.Scheme + "://" + u.Host
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		shown += "/xxxxx"
	}
	return shown
}

func isMailServer(s string) error {
	if s == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || host == "" {
		return found(strconv.Quote(s), phrase.Verbatim("HOST:PORT"))
	}
	return nil
}

func isMailAddress(s string) error {
	if s == "" {
		return nil
	}
	if a, err := mail.ParseAddress(s); err != nil || strings.ContainsAny(a.Address, "\r\n") {
		return found(strconv.Quote(s), phrase.Of("config.want-mail-address"))
	}
	return nil
}
