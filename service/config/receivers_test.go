package config

import (
	"fmt"
	"strings"
	"testing"

	"fairlane/internal/testkit/zhtest"
)

func TestReceiversAreReadAndHidden(t *testing.T) {
	t.Parallel()
	l, err := Load(Sources{Path: file(t, `
alerts:
  alertmanagers: ['http://127.0.0.1:9093', 'https://am.example/prefix']
  webhooks: ['oncall=https://hooks.example/geheim?token=geheim', plain=http://h]
  webhook_key_file: key
  group_wait: 0s
  mail: {server: 'mail.example:587', from: 'Fairlane <f@example.net>', to: [a@example.net, b@example.net], user: f, password_file: p, language: zh}
audit:
  export:
    sinks: ['siem=tls://log.example:6514', 'archive=https://a.example/geheim', 'old=udp://[::1]:514']
    key_file: key
`)})
	if err != nil {
		t.Fatal(err)
	}
	if name, address := CutNamed(l.Receivers.Webhooks[0]); name != "oncall" || address != "https://hooks.example/geheim?token=geheim" {
		t.Errorf("webhook %q at %q", name, address)
	}
	shown := map[string]string{}
	for _, k := range Keys() {
		shown[k.Name] = k.Value(&l.Config)
		if strings.Contains(shown[k.Name], "geheim") {
			t.Errorf("%s shows a secret: %s", k.Name, shown[k.Name])
		}
	}
	if got := shown["alerts.webhooks"]; got != "oncall=https://hooks.example/xxxxx, plain=http://h" {
		t.Errorf("webhooks are shown as %s", got)
	}
	if got := shown["audit.export.sinks"]; got != "siem=tls://log.example:6514, archive=https://a.example/xxxxx, old=udp://[::1]:514" {
		t.Errorf("sinks are shown as %s", got)
	}
	other := l.Config
	other.Receivers.Webhooks = []string{"oncall=https://hooks.example/other", "plain=http://h"}
	for _, k := range Keys() {
		if k.Same(&l.Config, &other) != (k.Name != "alerts.webhooks") {
			t.Errorf("%s: same is %v", k.Name, k.Same(&l.Config, &other))
		}
	}
}

func TestFaultsOfReceiversNameFileAndKey(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"alerts: {alertmanagers: ['h:9093']}\n":                                                             "c.yaml:1: alerts.alertmanagers: want a URL that begins with one of http, https",
		"alerts: {alertmanagers: ['http://u:geheim@h']}\n":                                                  "c.yaml:1: alerts.alertmanagers: want a URL",
		"alerts:\n  webhooks: ['https://geheim']\n":                                                         "c.yaml:2: alerts.webhooks: want NAME=URL",
		"alerts: {webhooks: [A b=https://geheim]}\n":                                                        "alerts.webhooks: want NAME=URL",
		"alerts: {webhooks: [a=ftp://geheim]}\n":                                                            "alerts.webhooks: want NAME=URL",
		"alerts: {webhooks: [a=https://h]}\n":                                                               "alerts.webhooks: webhooks are signed: want alerts.webhook_key_file too",
		"alerts: {webhooks: [a=https://h, a=https://i], webhook_key_file: k}\n":                             `alerts.webhooks: the name "a" is given twice`,
		"alerts: {webhooks: [a=https://h, 'a =https://i'], webhook_key_file: k}\n":                          `alerts.webhooks: the name "a" is given twice`,
		"alerts: {group_interval: 0s}\n":                                                                    "alerts.group_interval: found 0s: want 1s to 24h",
		"alerts: {mail: {server: mail}}\n":                                                                  `c.yaml:1: alerts.mail.server: found "mail": want HOST:PORT`,
		"alerts: {mail: {from: 'a b'}}\n":                                                                   `alerts.mail.from: found "a b": want a mail address`,
		"alerts: {mail: {colour: red}}\n":                                                                   `c.yaml:1: unknown key "alerts.mail.colour": want server, security, user, password_file, from, to, language`,
		"alerts: {mail: {server: 'h:25'}}\n":                                                                "alerts.mail.server: want alerts.mail.from and alerts.mail.to too",
		"alerts: {mail: {from: f@h}}\n":                                                                     "alerts.mail.server: want a mail server",
		"alerts: {mail: {server: 'h:25', from: f@h, to: [t@h], user: u}}\n":                                 "want alerts.mail.user and alerts.mail.password_file, or neither",
		"alerts: {mail: {server: 'h:25', from: f@h, to: t@h, user: u, password_file: p, security: none}}\n": "alerts.mail.security: the password would be readable",
		"audit: {export: {sinks: ['s=tls://h']}}\n":                                                         "c.yaml:1: audit.export.sinks: want NAME=URL",
		"audit: {export: {sinks: ['s=tcp://h:1/path']}}\n":                                                  "audit.export.sinks: want NAME=URL",
		"audit: {export: {sinks: ['s=https://h']}}\n":                                                       "audit.export.sinks: webhooks are signed: want audit.export.key_file too",
		"audit: {export: {sinks: ['s= https://h']}}\n":                                                      "audit.export.sinks: webhooks are signed: want audit.export.key_file too",
		"audit: {export: {sinks: ['s=HTTPS://h']}}\n":                                                       "audit.export.sinks: webhooks are signed: want audit.export.key_file too",
		"audit: {export: x}\n":                                                                              "c.yaml:1: audit.export: want the keys sinks, key_file, ca_file",
	} {
		_, err := Load(Sources{Path: file(t, text)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%.60q: %v\nwant %q", text, err, want)
		}
		zhtest.Error(t, fmt.Sprintf("%.60q", text), err, append(keys, strings.Fields("alerts alertmanagers webhooks webhook server security user from to language mail starttls audit export sinks http https udp tcp name")...)...)
	}
}
