package app

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlane/command/cmdline"
	"fairlane/internal/testkit/otlptest"
)

// families returns the names of the metrics that a text of Prometheus's format describes.
func families(text string) (names []string) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ := strings.Cut(rest, " ")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestTheServicePushesWhatItServes(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t)
	p := startServe(t, "metrics: {endpoint: '"+c.Start().URL+"', interval: 1s}\n")
	if code, body := p.send(t, "GET", p.api+"/api/v1/fabrics", ""); code != 200 {
		t.Fatalf("fabrics: %d %s", code, body)
	}
	const requests, ready = "fairlane_http_requests_total", "fairlane_ready"
	got := c.Wait(func(x otlptest.Push) bool { return x.Metrics[requests] != nil })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	if got.Resource["service.name"] != "fairlane" || got.Resource["service.instance.id"] != host || got.Resource["service.version"] == "" {
		t.Errorf("resource %v", got.Resource)
	}
	if v := got.Metrics[ready].GetGauge().GetDataPoints()[0].GetAsDouble(); v != 1 {
		t.Errorf("ready is %v", v)
	}
	_, text := p.send(t, "GET", p.ops+"/metrics", "")
	c.Wait(func(x otlptest.Push) bool { return slices.Equal(slices.Sorted(maps.Keys(x.Metrics)), families(text)) })
	p.send(t, "GET", p.api+"/api/v1/fabrics", "")
	p.stop()
	if code := <-p.exit; code != cmdline.ExitDone {
		t.Errorf("exit code %d: %s", code, p.said.String())
	}
	all := c.Pushes()
	if v := all[len(all)-1].Metrics[requests].GetSum().GetDataPoints()[0].GetAsDouble(); v != 2 {
		t.Errorf("the last push counts %v requests", v)
	}
	if strings.Contains(p.said.String(), "metrics were not pushed") {
		t.Errorf("logged %s", p.said.String())
	}
}

// A collector that accepts connections and never answers.
func TestTheServiceWorksAndStopsWhileItsCollectorHangs(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t)
	c.Hang()
	p := startServe(t, "metrics: {endpoint: '"+c.Start().URL+"', interval: 1s}\n")
	p.said.find(t, "metrics were not pushed")
	for range 10 {
		began := time.Now()
		if code, _ := p.send(t, "GET", p.ops+"/metrics", ""); code != 200 || time.Since(began) > 2*time.Second {
			t.Errorf("a scrape took %s: %d", time.Since(began), code)
		}
	}
	began := time.Now()
	p.stop()
	if code := <-p.exit; code != cmdline.ExitDone || time.Since(began) > 3*maxFlush {
		t.Errorf("exit code %d after %s: %s", code, time.Since(began), p.said.String())
	}
	p.said.find(t, "the last metrics were not pushed")
}
