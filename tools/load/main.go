// Command load measures the API under load with vegeta: concurrent lists and writes at constant rates, on a service
// whose store holds many tenants and attachments. test/load.sh starts the service and runs this command.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// options are the flags.
type options struct {
	url, token, fabric   string
	tenants, attachments int // attachments of all tenants
	hosts                int // of the fabric
	listRate, writeRate  int // requests per second
	duration             time.Duration
	maxList, maxWrite    time.Duration // limits of the 99th percentile
	json                 bool
	write                string // path of the fabric file to write; if set, nothing else is done
}

func main() {
	o := options{token: os.Getenv("FAIRLANE_TOKEN")}
	flag.StringVar(&o.url, "url", "http://127.0.0.1:8470", "service")
	flag.StringVar(&o.fabric, "fabric", "load", "fabric that the tenants are made on")
	flag.IntVar(&o.tenants, "tenants", 2000, "tenants in the store")
	flag.IntVar(&o.attachments, "attachments", 20000, "attachments of all tenants")
	flag.IntVar(&o.hosts, "hosts", 2000, "hosts of the fabric")
	flag.IntVar(&o.listRate, "list-rate", 500, "lists a second")
	flag.IntVar(&o.writeRate, "write-rate", 50, "writes a second")
	flag.DurationVar(&o.duration, "duration", 30*time.Second, "length of the measurement")
	flag.DurationVar(&o.maxList, "max-list", 20*time.Millisecond, "bound of the lists' 99th percentile")
	flag.DurationVar(&o.maxWrite, "max-write", 50*time.Millisecond, "bound of the writes' 99th percentile")
	flag.BoolVar(&o.json, "json", false, "print JSON")
	flag.StringVar(&o.write, "write-fabric", "", "only write a fabric file of that many hosts to this path")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) error {
	if o.write != "" {
		return os.WriteFile(o.write, []byte(fabricFile(o.hosts)), 0o644)
	}
	s := &service{o: o, client: &http.Client{Timeout: 5 * time.Minute}}
	begun := time.Now()
	if err := s.fill(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d tenants with %d attachments are there after %s\n", o.tenants, o.attachments, time.Since(begun).Round(time.Millisecond))
	cursors, err := s.cursors(ctx)
	if err != nil {
		return err
	}
	results := o.measure(s.lists(cursors), s.writes())
	return o.report(results)
}

// result is the result of one kind of request.
type result struct {
	Kind      string         `json:"kind"`
	Rate      float64        `json:"rate_per_s"`
	Requests  uint64         `json:"requests"`
	Success   float64        `json:"success"`
	MeanMS    float64        `json:"mean_ms"`
	P50MS     float64        `json:"p50_ms"`
	P99MS     float64        `json:"p99_ms"`
	MaxMS     float64        `json:"max_ms"`
	BoundMS   float64        `json:"bound_ms"`
	Met       bool           `json:"met"`
	Statuses  map[string]int `json:"statuses"`
	FirstFail []string       `json:"errors,omitempty"`
}

// measure attacks with both kinds of request concurrently.
func (o *options) measure(lists, writes vegeta.Targeter) []result {
	var wg sync.WaitGroup
	out := make([]result, 2)
	for i, a := range []struct {
		kind  string
		rate  int
		to    vegeta.Targeter
		bound time.Duration
	}{{"list", o.listRate, lists, o.maxList}, {"write", o.writeRate, writes, o.maxWrite}} {
		wg.Go(func() {
			var m vegeta.Metrics
			attacker := vegeta.NewAttacker(vegeta.KeepAlive(true), vegeta.Timeout(30*time.Second))
			for r := range attacker.Attack(a.to, vegeta.Rate{Freq: a.rate, Per: time.Second}, o.duration, a.kind) {
				m.Add(r)
			}
			m.Close()
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
			out[i] = result{
				Kind: a.kind, Rate: m.Rate, Requests: m.Requests, Success: m.Success, MeanMS: ms(m.Latencies.Mean), P50MS: ms(m.Latencies.P50),
				P99MS: ms(m.Latencies.P99), MaxMS: ms(m.Latencies.Max), BoundMS: ms(a.bound), Statuses: m.StatusCodes,
				Met: m.Success == 1 && m.Latencies.P99 <= a.bound,
			}
			if len(m.Errors) > 0 {
				out[i].FirstFail = m.Errors[:min(3, len(m.Errors))]
			}
		})
	}
	wg.Wait()
	return out
}

// report prints the results and fails if a limit was exceeded.
func (o *options) report(results []result) error {
	var missed []string
	for _, r := range results {
		if !r.Met {
			missed = append(missed, r.Kind)
		}
	}
	if o.json {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(results); err != nil {
			return err
		}
	} else {
		fmt.Printf("%-6s %10s %9s %9s %9s %9s %9s %9s %9s  %s\n", "KIND", "REQUESTS", "RATE/S", "OK", "MEAN", "P50", "P99", "MAX", "BOUND", "")
		for _, r := range results {
			verdict := "met"
			if !r.Met {
				verdict = fmt.Sprintf("MISSED %v %v", r.Statuses, r.FirstFail)
			}
			fmt.Printf("%-6s %10d %9.1f %8.2f%% %7.2fms %7.2fms %7.2fms %7.2fms %7.2fms  %s\n",
				r.Kind, r.Requests, r.Rate, 100*r.Success, r.MeanMS, r.P50MS, r.P99MS, r.MaxMS, r.BoundMS, verdict)
		}
	}
	if missed != nil {
		return fmt.Errorf("bounds missed: %s", strings.Join(missed, ", "))
	}
	return nil
}
