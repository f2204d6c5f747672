package remote

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAlertsAreListedByTheirSeverity lists alerts in both languages; for an alert unknown to this program, the summary is the service's.
func TestAlertsAreListedByTheirSeverity(t *testing.T) {
	t.Parallel()
	const alerts = `{"status":"success","data":{"alerts":[
		{"labels":{"alertname":"FairlaneDrift","severity":"ticket","instance":"m1"},"annotations":{"summary":"Drifted devices: 2"},"state":"firing","activeAt":"2026-11-27T08:00:00Z","value":"2e+00"},
		{"labels":{"alertname":"New","severity":"page"},"annotations":{"summary":"something new"},"state":"pending","activeAt":"2026-11-27T08:00:00Z","value":"1e+00"},
		{"labels":{"alertname":"FairlaneShareBudgetBurn","severity":"page","fabric":"lab","tenant":"red","long":"1h"},"annotations":{"summary":"x"},"state":"firing","activeAt":"2026-11-27T09:00:00Z","value":"1.5e-01"}]}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, alerts)
	}))
	t.Cleanup(server.Close)
	for line, want := range map[string]string{
		"alert list": `SEVERITY STATE ALERT FABRIC TENANT SINCE VALUE SUMMARY
page firing FairlaneShareBudgetBurn lab red 2026-11-27T09:00:00Z 0.15 Tenant red on fabric lab receives less than its share
page pending New 2026-11-27T08:00:00Z 1 something new
ticket firing FairlaneDrift 2026-11-27T08:00:00Z 2 Drifted devices: 2`,
		"alert list --lang zh": `级别 状态 告警 网络 租户 起始 值 摘要
紧急 触发中 FairlaneShareBudgetBurn lab red 2026-11-27T09:00:00Z 0.15 网络 lab 的租户 red 未得到应得份额
紧急 待定 New 2026-11-27T08:00:00Z 1 something new
工单 触发中 FairlaneDrift 2026-11-27T08:00:00Z 2 已偏离的设备：2`,
	} {
		lang := "en"
		if strings.Contains(line, "zh") {
			lang = "zh"
		}
		cmd, printed, said := asks(map[string]string{"FAIRLANE_URL": server.URL, "FAIRLANE_TOKEN": "t", "FAIRLANE_LANG": lang}, strings.Fields(line)...)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		out, words := printed.String(), said.String()
		if got := strings.Join(strings.Fields(out), " "); got != strings.Join(strings.Fields(want), " ") || words != "" {
			t.Errorf("%s: printed %q and %q", line, got, words)
		}
	}
	if out, words := runLine(t, server.URL, "alert list --json"); !strings.Contains(out, `"state": "firing"`) || words != "" {
		t.Errorf("printed %q and %q", out, words)
	}
}
