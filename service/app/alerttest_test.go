package app

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"fairlane/internal/testkit/filetest"
	"fairlane/service/notify"
)

func TestAlertTestSaysWhatEachReceiverDid(t *testing.T) {
	t.Parallel()
	in := newPosted(t)
	config := filetest.Write(t, "fairlane.yaml", "alerts:\n  alertmanagers: ['"+in.URL+"', 'http://127.0.0.1:1']\n  webhooks: ['oncall="+in.URL+"/geheim']\n  webhook_key_file: "+
		filetest.Write(t, "key", strings.Repeat("geheim", 8))+"\n")
	for _, c := range []struct {
		args []string
		code int
		out  []string
		err  string
	}{
		{[]string{"--config", config, "--lang", "en"}, 1, []string{"alertmanager  http://127.0.0.1:1 ", "connection refused", "webhook       oncall ", "sent"}, "1 of 3 receivers did not accept the alert"},
		{[]string{"--config", config, "--json"}, 1, []string{`"kind": "webhook"`, `"sent": true`}, ""},
		{[]string{"--config", config, "--lang", "zh"}, 1, []string{"已发送"}, "3 个接收方中有 1 个未接受告警"},
		{[]string{"--config", filetest.Write(t, "empty.yaml", "")}, 2, nil, "the configuration names no receiver"},
		{[]string{"--config", filetest.Write(t, "bad.yaml", "alerts: {webhooks: ['a=http://h'], webhook_key_file: absent}\n")}, 2, nil, "alerts.webhook_key_file: stat absent"},
		{[]string{"--config", config, "--fabric", "lab"}, 2, nil, "--fabric"},
	} {
		var out, words bytes.Buffer
		code := Main(context.Background(), append([]string{"alert", "test"}, c.args...), &out, &words)
		if code != c.code || !strings.Contains(words.String(), c.err) || strings.Contains(out.String()+words.String(), "geheim") {
			t.Errorf("%v: exit code %d, said %s", c.args, code, words.String())
		}
		for _, want := range c.out {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v: %q is not in\n%s", c.args, want, out.String())
			}
		}
	}
	if got := in.all(); !strings.Contains(got, notify.TestAlert) || !strings.Contains(got, "Test of the receivers of Fairlane") {
		t.Errorf("received %s", got)
	}
}
