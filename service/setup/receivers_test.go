package setup

import (
	"strings"
	"testing"

	"fairlane/internal/phrase"
	"fairlane/internal/testkit/filetest"
	"fairlane/service/config"
)

func TestReceiversFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.PublicURL = "https://fairlane.example"
	c.Receivers.Alertmanagers = []string{"http://am:9093"}
	c.Receivers.Webhooks = []string{"oncall=https://h/x?a=b=c"}
	c.Receivers.WebhookKeyFile = filetest.Write(t, "key", strings.Repeat("k", 32))
	c.Receivers.GroupWait = 0
	c.Receivers.Mail = config.Mail{
		Server: "mail:587", Security: "tls", User: "u", PasswordFile: filetest.Write(t, "p", "geheim\n"), From: "Fairlane <f@example.net>", To: []string{"a@example.net", "B <b@example.net>"}, Language: "zh",
	}
	c.AuditExport.Sinks = []string{"siem=udp://h:514"}
	o, faults := Receivers(&c)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	m := o.Mail
	if o.Webhooks[0].Name != "oncall" || o.Webhooks[0].URL != "https://h/x?a=b=c" || o.Key == nil || o.GroupWait >= 0 || o.ExternalURL != c.PublicURL || len(o.Alertmanagers) != 1 {
		t.Errorf("receivers are %+v", o)
	}
	if m.From.Name != "Fairlane" || len(m.To) != 2 || m.To[1].Address != "b@example.net" || m.Password != "geheim" || m.Security != "tls" {
		t.Errorf("mail is %+v", m)
	}
	if got := m.Say(phrase.Of("mail.resolved", "name", "A")); got != "[已恢复] A" {
		t.Errorf("the subject is %q", got)
	}
	if a, faults := sinks(&c); len(faults) > 0 || len(a.Sinks) != 1 || a.Sinks[0].Name != "siem" || a.Sinks[0].URL != "udp://h:514" || a.Key != nil {
		t.Errorf("sinks are %+v, %v", a, faults)
	}
}
