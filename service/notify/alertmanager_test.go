package notify

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/internal/testkit/filetest"
	"fairlane/internal/testkit/peertest"
	"fairlane/service/series"
)

// startAlertmanager runs Debian's Alertmanager and returns its URL.
func startAlertmanager(t *testing.T) string {
	t.Helper()
	program := peertest.Program(t, "prometheus-alertmanager")
	config := filetest.Write(t, "alertmanager.yml", "route: {receiver: none, group_wait: 1s}\nreceivers: [{name: none}]\n")
	cmd := exec.CommandContext(t.Context(), program, "--config.file="+config, "--storage.path="+filepath.Join(t.TempDir(), "data"),
		"--cluster.listen-address=", "--web.listen-address=127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		listening := regexp.MustCompile(`msg="Listening on" address=(\S+)`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-done; _ = cmd.Wait() }) // ended by the signal
	select {
	case a := <-address:
		return "http://" + a
	case <-time.After(20 * time.Second):
		t.Fatal("Alertmanager does not listen")
		return ""
	}
}

// shown is an alert as amtool shows it.
type shown struct {
	Labels, Annotations    map[string]string
	StartsAt, EndsAt       time.Time
	Fingerprint            string
	GeneratorURL           string
	Status                 struct{ State string }
	UpdatedAt              time.Time
	Receivers, InhibitedBy any
}

// query returns the alerts that amtool shows, by tenant.
func query(t *testing.T, base string) map[string]shown {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), peertest.Program(t, "amtool"), "--alertmanager.url="+base, "alert", "query", "-o", "json")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("amtool: %v: %s", err, stderr.String())
	}
	var list []shown
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	all := map[string]shown{}
	for _, a := range list {
		all[a.Labels["tenant"]] = a
	}
	return all
}

func tenants(m map[string]shown) string {
	var list []string
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestAlertmanagerReceivesShowsAndResolves(t *testing.T) {
	t.Parallel()
	first, second := startAlertmanager(t), startAlertmanager(t)
	var c counts
	var muted atomic.Bool
	n, stop := start(t, Options{
		Alertmanagers: []string{first, second + "/"}, ExternalURL: "https://fairlane.example/", Count: c.add,
		Silenced: func(a series.Alert) bool { return a.Label("tenant") == "grey" && muted.Load() },
	})
	muted.Store(true)
	red, blue := alert("ShareError", "red"), alert("ShareError", "b \"l\" 蓝")
	red.Labels = append(red.Labels, series.Label{Name: "zone", Value: ""}) // Alertmanager drops empty labels
	n.Send(t.Context(), []series.Alert{red, blue, alert("ShareError", "grey"), {Name: "Pending", State: series.AlertPending}})
	for _, base := range []string{first, second} {
		eventually(t, "both alerts at "+base, func() bool { return tenants(query(t, base)) == "b \"l\" 蓝 red" })
		got := query(t, base)["red"]
		if got.Labels["alertname"] != "ShareError" || got.Labels["fabric"] != "lab" || got.Annotations["summary"] != "red gets too little" || got.Status.State != "active" {
			t.Errorf("%s shows %+v", base, got)
		}
		if !got.StartsAt.Equal(red.FiredAt) || got.Fingerprint != fingerprint(&red) || got.GeneratorURL != "https://fairlane.example/" {
			t.Errorf("%s shows %+v, want the fingerprint %s and the start %v", base, got, fingerprint(&red), red.FiredAt)
		}
		if left := time.Until(got.EndsAt); left < 3*time.Minute || left > expiry*DefaultResend {
			t.Errorf("the alert ends in %v", left)
		}
	}
	muted.Store(false)
	n.Send(t.Context(), []series.Alert{resolved(red), blue})
	for _, base := range []string{first, second} {
		eventually(t, "one is resolved, and one no longer silenced, at "+base, func() bool { return tenants(query(t, base)) == "b \"l\" 蓝 grey" })
	}
	stop()
	if c.of(KindAlertmanager, Sent) != 8 || c.of(KindAlertmanager, Dropped) != 0 {
		t.Errorf("counts are %v", c.n)
	}
}

func TestAlertsOfADeadManagerExpire(t *testing.T) {
	t.Parallel()
	base := startAlertmanager(t)
	n, stop := start(t, Options{Alertmanagers: []string{base}, Resend: time.Second})
	n.Send(t.Context(), []series.Alert{alert("ShareError", "red")})
	eventually(t, "the alert", func() bool { return tenants(query(t, base)) == "red" })
	for begun := time.Now(); time.Since(begun) < expiry*time.Second+500*time.Millisecond; time.Sleep(100 * time.Millisecond) {
		if tenants(query(t, base)) != "red" {
			t.Fatal("the alert is not repeated in time")
		}
	}
	stop() // without a resolution, as a manager that is killed
	eventually(t, "the alert expires", func() bool { return tenants(query(t, base)) == "" })
}

func TestAlertsReachAnAlertmanagerThatStartsLate(t *testing.T) {
	t.Parallel()
	in := newInbox(t, nil)
	in.Close()
	var c counts
	n, _ := start(t, Options{Alertmanagers: []string{in.URL}, Count: c.add})
	a := alert("ShareError", "red")
	n.Send(t.Context(), []series.Alert{a})
	eventually(t, "a failed attempt", func() bool { return c.of(KindAlertmanager, Retried) > 0 })
	n.Send(t.Context(), []series.Alert{resolved(a)})
	time.Sleep(2 * tick)
	if got := n.Queued()[KindAlertmanager]; got > 1 { // 0 during an attempt
		t.Errorf("%d states of one alert wait", got)
	}
}

func TestProbeReportsEachReceiver(t *testing.T) {
	t.Parallel()
	base := startAlertmanager(t)
	key := testKey(t)
	in := newInbox(t, key)
	mails := newMailServer(t, &mailServer{})
	o := Options{
		Alertmanagers: []string{base, "http://127.0.0.1:1"}, Webhooks: []Webhook{{"good", in.URL}, {"bad", in.URL + "/x"}}, Key: key, Mail: mails.to(Plain),
	}
	in.answers = []int{200, 404}
	got := Probe(t.Context(), o, "this is a test")
	var kinds []Kind
	failed := 0
	for _, r := range got {
		kinds = append(kinds, r.Kind)
		if r.Err != nil {
			failed++
		}
	}
	if !slices.Equal(kinds, []Kind{KindAlertmanager, KindAlertmanager, KindWebhook, KindWebhook, KindMail}) || failed != 2 || got[1].Err == nil {
		t.Errorf("results are %+v", got)
	}
	if a := query(t, base)[""]; a.Labels["alertname"] != TestAlert || a.Annotations["summary"] != "this is a test" {
		t.Errorf("Alertmanager shows %+v", a)
	}
	if d := in.all()[0]; d.body.Alerts[0].Labels["alertname"] != TestAlert {
		t.Errorf("the webhook has %+v", d)
	}
	if len(mails.mails) != 1 || !strings.Contains(mails.mails[0], "this is a test") {
		t.Errorf("mails are %v", mails.mails)
	}
}
